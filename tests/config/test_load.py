"""From a file and the environment to a configuration."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from streaming.config.config_errors import ConfigFaults
from streaming.config.load import load_config
from streaming.config.sections import Config
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.settings import GroupRule
from streaming.errors import ConfigError
from streaming.secret_mask import masked

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "evenkeel.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_nothing_given_is_the_defaults() -> None:
    assert load_config(None, {}) == Config()
    assert load_config(None, {}).settings() == DEFAULT_SETTINGS


def test_environment_is_the_processs_own_if_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENKEEL__JOB__SHARDS", "7")
    assert load_config(None).job.shards == 7
    assert load_config(None, {}).job.shards == 32
    assert Config().job.shards == 32


def test_environment_wins_over_the_file_and_the_file_over_the_defaults(write: Write) -> None:
    file = write("[job]\nshards = 8\ntrigger_seconds = 2\n")
    job = load_config(file, {"EVENKEEL__JOB__SHARDS": "9"}).job
    assert (job.shards, job.trigger_seconds, job.health_seconds) == (9, 2, 15)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"EVENKEEL__JOB__MAINTENANCE": "false"}, ("job", "maintenance", False)),
        ({"evenkeel__job__maintenance": "FALSE"}, ("job", "maintenance", False)),
        ({"EVENKEEL__JOB__TRIGGER_SECONDS": "0.5"}, ("job", "trigger_seconds", 0.5)),
        ({"EVENKEEL__LOG__LEVEL": "ERROR"}, ("log", "level", "ERROR")),
        ({"EVENKEEL__SOURCE__TOPIC": "123"}, ("source", "topic", "123")),
        ({"EVENKEEL__LOG": '{"level": "DEBUG"}'}, ("log", "level", "DEBUG")),
        ({"EVENKEEL__LOG": '{"format": "json"}', "EVENKEEL__LOG__LEVEL": "DEBUG"}, ("log", "format", "json")),
    ],
)
def test_environment_text_becomes_what_the_key_asks_for(
    variables: dict[str, str], expected: tuple[str, str, object]
) -> None:
    section, key, value = expected
    read = getattr(getattr(load_config(None, variables), section), key)
    assert (read, type(read)) == (value, type(value))


def test_environment_reaches_a_table_within_a_table() -> None:
    assert load_config(None, {"EVENKEEL__TABLES__RETENTION_DAYS__FACTS": "3"}).tables.retention_days.facts == 3


def test_a_variable_may_name_a_file_with_the_value(tmp_path: Path) -> None:
    for name, text in (("login", 'Login password="hunter2";\n'), ("key", "hunter3\n"), ("shards", "7\n")):
        (tmp_path / name).write_text(text)
    variables = {
        "EVENKEEL__SOURCE__KAFKA__SASL_JAAS_CONFIG__FILE": f"{tmp_path}/login",
        "EVENKEEL__COLLECTOR__ACCESS_KEY": "monitor",
        "EVENKEEL__COLLECTOR__SECRET_KEY__FILE": f"{tmp_path}/key",
        "EVENKEEL__COLLECTOR__FILE": f"{tmp_path}/events.jsonl",
        "EVENKEEL__JOB__SHARDS__FILE": f"{tmp_path}/shards",
    }
    config = load_config(None, variables)
    assert config.source.kafka_options() == {"kafka.sasl.jaas.config": 'Login password="hunter2";'}
    assert config.collector.secret_key.get_secret_value() == "hunter3"
    assert config.collector.file == f"{tmp_path}/events.jsonl", "a key of its own"
    assert config.job.shards == 7
    assert masked("hunter2 hunter3") == "*** ***"


def test_a_file_may_be_a_credential_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users").write_text("x")
    variables = {"EVENKEEL__COLLECTOR__FILE": "$CREDENTIALS_DIRECTORY/users"}
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    with pytest.raises(ConfigError, match=r"set only in a service of systemd with LoadCredential="):
        load_config(None, variables)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert load_config(None, variables).collector.file == f"{tmp_path}/users"


def test_groups_come_from_the_environment_as_json(write: Write) -> None:
    file = write('[[groups]]\ngroup = "a"\n')
    config = load_config(file, {"EVENKEEL__GROUPS": '[{"group": "b"}, {"group": "c", "orderly": true}]'})
    assert [rule.group for rule in config.groups] == ["b", "c"]


def test_kafka_options_are_the_same_however_they_are_written(write: Write) -> None:
    file = write('[source.kafka]\nsecurity.protocol = "SASL_SSL"\n"kafka.session.timeout.ms" = 5000\n"x.y" = true\n')
    config = load_config(file, {"EVENKEEL__SOURCE__KAFKA__SASL_JAAS_CONFIG": 'Login password="1e5";'})
    assert config.source.kafka_options() == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.session.timeout.ms": "5000",
        "kafka.x.y": "true",
        "kafka.sasl.jaas.config": 'Login password="1e5";',
    }


@pytest.mark.parametrize(
    "text", ['sasl.jaas.config = "file"', '"sasl.jaas.config" = "file"', 'sasl_jaas_config = "file"\nx = 1']
)
def test_environment_wins_whichever_way_the_file_spells_an_option(text: str, write: Write) -> None:
    config = load_config(write(f"[source.kafka]\n{text}\n"), {"EVENKEEL__SOURCE__KAFKA__SASL_JAAS_CONFIG": "env"})
    assert config.source.kafka_options()["kafka.sasl.jaas.config"] == "env"


@pytest.mark.parametrize("secret", ["1e5", "0123", "true", "null", '"quoted"', "[1]", " spaces "])
def test_secret_from_the_environment_is_kept_to_the_letter(secret: str) -> None:
    config = load_config(None, {"EVENKEEL__SOURCE__KAFKA__SSL_KEY_PASSWORD": secret})
    assert config.source.kafka_options() == {"kafka.ssl.key.password": secret}


def test_spark_settings_are_the_same_however_they_are_written(write: Write) -> None:
    file = write('[spark]\nmaster = "local[3]"\n[spark.settings]\nspark.a.b = 1\n"spark.c" = "x"\n')
    expected = {"spark.a.b": "1", "spark.c": "x", "spark.d": "false", "spark.master": "local[3]"}
    config = load_config(file, {"EVENKEEL__SPARK__SETTINGS": '{"spark.d": false}'})
    assert config.spark.spark_settings() == expected


def test_master_is_left_to_spark_unless_set() -> None:
    assert load_config(None, {}).spark.spark_settings() == {}


WITH_S3 = {"EVENKEEL__SPARK__SETTINGS": '{"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.1"}'}


def test_folders_are_absolute_and_home_is_known(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = load_config(write('[tables]\npath = "t"\n[job]\ncheckpoint = "~/c"\n'), {})
    assert config.tables.path == f"{tmp_path}/t"
    assert config.job.checkpoint == f"{tmp_path}/home/c"
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("s3a://bucket/a/", "s3a://bucket/a"),
        ("hdfs://name:8020/a", "hdfs://name:8020/a"),
        ("file:///data/a", "/data/a"),
        ("file:/data/a", "/data/a"),
    ],
)
def test_address_stays_and_this_machines_is_a_folder(written: str, read: str) -> None:
    assert load_config(None, {"EVENKEEL__TABLES__PATH": written} | WITH_S3).tables.path == read


def test_files_may_come_from_an_address() -> None:
    variables = {"EVENKEEL__SOURCE__KIND": "files", "EVENKEEL__SOURCE__FOLDER": "s3a://bucket/events"}
    assert load_config(None, variables | WITH_S3).source.folder == "s3a://bucket/events"


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf[job]\r\nshards = 8\r\n")
    assert load_config(path, {}).job.shards == 8


def test_seconds_become_the_cores_milliseconds(write: Write) -> None:
    file = write("[timing]\ngrace_route_seconds = 0.5\nstall_seconds = 61\nsettle_limit = 4\n")
    assert load_config(file, {}).settings().timing == replace(
        DEFAULT_TIMING, grace_route_ms=500, stall_ms=61_000, settle_limit=4
    )


def test_rules_become_the_cores_rules_in_their_order(write: Write) -> None:
    file = write(
        """
        [[groups]]
        cluster = "prod"
        group = "a*"
        strategy = "CONFIG"
        message_queue_list = [{ topic = "T", broker_name = "b", queue_id = 3 }]
        orderly = false
        [[groups]]
        group = "b"
        strategy = "MACHINE_ROOM_NEARBY-CONSISTENT_HASH"
        virtual_node_count = 20
        broker_rooms = { b1 = "r1" }
        client_rooms = { "10.0.0.1@1" = "r1" }
        room_separator = "-"
        [[groups]]
        group = "c"
        strategy = "MACHINE_ROOM"
        consumeridcs = ["r1", "r2"]
        always_on = true
        [[groups]]
        excluded = true
        """
    )
    queues = [{"topic": "T", "brokerName": "b", "queueId": 3}]
    nearby = {
        "inner": {"strategy": "CONSISTENT_HASH", "params": {"virtualNodeCnt": 20}},
        "brokerRooms": {"b1": "r1"},
        "clientRooms": {"10.0.0.1@1": "r1"},
        "byPrefix": "-",
    }
    assert load_config(file, {}).settings().groups == (
        GroupRule(cluster="prod", group="a*", strategy="CONFIG", params={"messageQueueList": queues}, orderly=False),
        GroupRule(group="b", strategy="MACHINE_ROOM_NEARBY-CONSISTENT_HASH", params=nearby),
        GroupRule(group="c", strategy="MACHINE_ROOM", params={"consumeridcs": ["r1", "r2"]}, always_on=True),
        GroupRule(excluded=True),
    )


@pytest.mark.parametrize("strategy", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
def test_strategy_without_parameters_is_accepted(write: Write, strategy: str) -> None:
    file = write(f'[[groups]]\nstrategy = "{strategy}"\n')
    assert load_config(file, {}).settings().rule_for("c", "g").strategy == strategy


def test_files_source_needs_no_kafka(tmp_path: Path, write: Write) -> None:
    (tmp_path / "events").mkdir()
    file = write(f'[source]\nkind = "files"\nfolder = "{tmp_path}/events"\nbootstrap_servers = ""\n')
    assert load_config(file, {}).source.folder == f"{tmp_path}/events"


def test_faults_are_a_config_error_with_one_line_each(write: Write) -> None:
    file = write("[job]\nshards = 0\n[log]\nlevel = 3\n")
    with pytest.raises(ConfigError) as raised:
        load_config(file, {})
    assert isinstance(raised.value, ConfigFaults)
    assert str(raised.value).splitlines() == [str(fault) for fault in raised.value.faults]
    assert len(raised.value.faults) == 2


@pytest.mark.parametrize("separator", [",", ";", " ; ", ", "])
def test_name_servers_are_given_to_rocketmqs_tools_as_these_take_them(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f'[collector]\nclusters = {{ prod = "10.0.0.1:9876{separator}10.0.0.2:9876" }}\n')
    assert load_config(path, {}).collector.clusters == {"prod": "10.0.0.1:9876;10.0.0.2:9876"}
