"""Each fault says where, which key, its value and what is allowed; and all are told at once."""

import os
import re
from pathlib import Path

import pytest

from streaming.config.config_errors import ConfigFaults
from streaming.config.load import load_config


def faults(text: str | bytes, tmp_path: Path, variables: dict[str, str] | None = None) -> list[str]:
    path = tmp_path / "x.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigFaults) as raised:
        load_config(path, variables or {})
    told = [str(fault).removeprefix(f"{tmp_path}/") for fault in raised.value.faults]
    return [re.sub(r"^(x\.toml):\d+", r"\1", fault) for fault in told]  # ``test_line_numbers`` is about the lines


CLUSTER_NAME = "a cluster's name has 1 to 255 characters, and neither a blank nor a /"
WHOLE = "a whole number from 1 to 4096"
PATTERN = 'a shell pattern, not empty: "*" any text, "?" any character, "[ab]" one of these'
OFFSETS = '"earliest", "latest" or JSON of an offset for every partition: {"evenkeel-events": {"0": 23, "1": -2}}'
SERVERS = "host:port of one or more Kafka brokers, separated by commas, since source.kind is kafka"
FOLDER = "a folder of this machine, or an address that Spark can reach, like s3a://bucket/folder"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[job]\nshards = 0", f"job.shards = 0: {WHOLE}"),
        ("[job]\nshards = 4097", f"job.shards = 4097: {WHOLE}"),
        ('[job]\nshards = "8"', f'job.shards = "8": {WHOLE}'),
        ("[job]\nshards = 8.0", f"job.shards = 8: {WHOLE}"),
        ("[job]\nshards = true", f"job.shards = true: {WHOLE}"),
        ("[job]\nshards = 2024-01-01", f'job.shards = "2024-01-01": {WHOLE}'),
        ("[job]\ntrigger_seconds = nan", "job.trigger_seconds = NaN: a number from 0 to 600"),
        ("[job]\ntrigger_seconds = -0.1", "job.trigger_seconds = -0.1: a number from 0 to 600"),
        ("[job]\ntrigger_seconds = inf", "job.trigger_seconds = Infinity: a number from 0 to 600"),
        ("[job]\nmaintenance = 1", "job.maintenance = 1: true or false"),
        ("[timing]\ngrace_route_seconds = 55000", "timing.grace_route_seconds = 55000: a number from 0 to 7200"),
        ("[timing]\nview_max_age_seconds = 0", "timing.view_max_age_seconds = 0: a number from 1 to 7200"),
        ("[tables.retention_days]\nfacts = -1", "tables.retention_days.facts = -1: a whole number from 0 to 36500"),
        ('[log]\nlevel = "info"', 'log.level = "info": "DEBUG", "INFO", "WARNING" or "ERROR"'),
        ('[source]\nkind = "kafak"', 'source.kind = "kafak": "kafka" or "files"'),
        (
            '[source]\ntopic = "a b"',
            'source.topic = "a b": a Kafka topic\'s name: 1 to 249 letters, digits, dots, underscores or hyphens',
        ),
        ('[source]\nstarting_offsets = "oldest"', f'source.starting_offsets = "oldest": {OFFSETS}'),
        ("[source]\nstarting_offsets = '{}'", f'source.starting_offsets = "{{}}": {OFFSETS}'),
        ("[source]\nstarting_offsets = '[1]'", f'source.starting_offsets = "[1]": {OFFSETS}'),
        ("[source]\nkafka = 3", "source.kafka = 3: a table of Kafka client options: text, numbers, true or false, "
         "written [source.kafka]"),
        ("[source.kafka]\nacks = [1]", 'source.kafka = {"acks": ["***"]}: acks: text, a number, true or false'),
        (
            '[source.kafka]\nbootstrap.servers = "a:1"',
            'source.kafka = {"bootstrap": {"servers": "***"}}: bootstrap.servers: set source.bootstrap_servers instead',
        ),
        ('[spark.settings]\nx = 1', 'spark.settings = {"x": 1}: x: Spark\'s settings begin with spark.'),
        ('[tables]\npath = ""', f'tables.path = "": {FOLDER}'),
        ('[tables]\npath = " "', f'tables.path = " ": {FOLDER}'),
        ('[tables]\npath = "s3a:///x"', f'tables.path = "s3a:///x": {FOLDER}'),
        ('[tables]\npath = "a/b://x"', f'tables.path = "a/b://x": {FOLDER}'),
        ('[tables]\npath = "a\\u0000b"', f'tables.path = "a\\u0000b": {FOLDER}'),
        ("[tables]\npath = 3", f"tables.path = 3: {FOLDER}"),
        ('[tables]\npath = "~of-nobody/x"', 'tables.path = "~of-nobody/x": a folder; the home folder of this user '
         "is not known"),
        ("tables = 3", "tables = 3: a table, written [tables]"),
        ("[tables]\nretention_days = 3", "tables.retention_days = 3: a table, written [tables.retention_days]"),
        ("[groups]", "groups = {}: an array of tables, each written [[groups]]"),
        ('groups = ["a"]', 'groups[0] = "a": a table'),
        ('[[groups]]\ngroup = ""', f'groups[0].group = "": {PATTERN}'),
        ("[[groups]]\nconsumeridcs = [1]", "groups[0].consumeridcs[0] = 1: an array of texts"),
        (
            '[[groups]]\nstrategy = "CONFIG"\nmessage_queue_list = [{ topic = "T", broker_name = "b" }]',
            "groups[0].message_queue_list[0].queue_id: missing; a whole number from 0 to 2147483647",
        ),
    ],
)  # fmt: skip
def test_value_that_is_not_allowed(text: str, expected: str, tmp_path: Path) -> None:
    assert faults(text, tmp_path) == [f"x.toml: {expected}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[job]\nshard = 3", "job.shard = 3: unknown key; did you mean job.shards?"),
        ("[jobs]\nshards = 3", 'jobs = {"shards": 3}: unknown key; did you mean job?'),
        ("shards = 3", "shards = 3: unknown key here; did you mean job.shards?"),
        ("[job]\nzzz = 1", "job.zzz = 1: unknown key; use one of checkpoint, shards, trigger_seconds, "
         "projection_seconds, health_seconds, maintenance"),
        ("[tables.retention_days]\nfact = 1", "tables.retention_days.fact = 1: unknown key; did you mean "
         "tables.retention_days.facts?"),
        ("[[groups]]\nalwayson = true", "groups[0].alwayson = true: unknown key; did you mean groups[0].always_on?"),
        ("_env_file = 'x'", '_env_file = "***": unknown key; use one of source, tables, job, spark, timing, collector, '
         "notify, web, metrics, groups, log"),
    ],
)  # fmt: skip
def test_unknown_key_names_what_may_be_meant(text: str, expected: str, tmp_path: Path) -> None:
    assert faults(text, tmp_path) == [f"x.toml: {expected}"]


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ('[source]\nbootstrap_servers = ""', "source.bootstrap_servers", SERVERS),
        ('[source]\nbootstrap_servers = "a:1,b"', "source.bootstrap_servers", SERVERS),
        ('[source]\nbootstrap_servers = "a:0"', "source.bootstrap_servers", SERVERS),
        ('[source]\nbootstrap_servers = "a:65536"', "source.bootstrap_servers", SERVERS),
        ('[source]\nbootstrap_servers = "kafka://a:1"', "source.bootstrap_servers", SERVERS),
        (
            '[source]\nstarting_offsets = \'{"other": {"0": 1}}\'',
            "source.starting_offsets",
            "offsets of source.topic alone, which is evenkeel-events",
        ),
        (
            '[source]\nkind = "files"\nfolder = "/nowhere/at/all"',
            "source.folder",
            "a folder that exists and can be read, since source.kind is files",
        ),
        (
            "[timing]\nsettle_limit = 16",
            "timing.settle_limit",
            "times the longest grace of an orderly group, 235 s, at most timing.gone_after_seconds, 3600 s",
        ),
        (
            "[timing]\ngone_after_seconds = 700\nforget_after_seconds = 800",
            "timing.settle_limit",
            "times the longest grace of an orderly group, 235 s, at most timing.gone_after_seconds, 700 s",
        ),
        (
            "[timing]\nforget_after_seconds = 3599",
            "timing.forget_after_seconds",
            "at least timing.gone_after_seconds, 3600: open alerts are resolved first",
        ),
        (
            '[[groups]]\ncluster = "a/b"',
            "groups[0].cluster",
            "a pattern without /, since no cluster's name has one",
        ),
        (
            "[[groups]]\nexcluded = true\nalways_on = true",
            "groups[0].always_on",
            "false where excluded is true",
        ),
        (
            "[[groups]]\nalways_on = true\nmay_be_empty_seconds = 4200",
            "groups[0].always_on",
            "false where may_be_empty_seconds is given",
        ),
        ("[[groups]]\nvirtual_node_count = 3", "groups[0].virtual_node_count", "only beside strategy"),
        (
            "[[groups]]\n[[groups]]\ngroup = 'x'",
            "groups[1].group",
            "a pattern that groups[0] does not match already; the first match counts",
        ),
        (
            "[[groups]]\ngroup = 'x'\n[[groups]]\ngroup = 'y'\n[[groups]]\ngroup = 'x'\ncluster = 'c'",
            "groups[2].group",
            "a pattern that groups[0] does not match already; the first match counts",
        ),
    ],
)
def test_values_that_do_not_go_together(text: str, key: str, allowed: str, tmp_path: Path) -> None:
    (fault,) = faults(text, tmp_path)
    assert fault.startswith(f"x.toml: {key} = ")
    assert fault.endswith(f": {allowed}")


@pytest.mark.parametrize("text", [
    "[timing]\nsettle_limit = 15",
    "[timing]\nforget_after_seconds = 3600",
    '[source]\nbootstrap_servers = "a:1, [::1]:9092,b.example.com:65535"',
    '[source]\nstarting_offsets = \'{"evenkeel-events": {"0": -2, "1": 5}}\'',
    "[[groups]]\ncluster = 'c'\n[[groups]]\ngroup = 'x'",
    "[[groups]]\ngroup = 'x'\ncluster = 'c'\n[[groups]]\ngroup = 'x'",
])  # fmt: skip
def test_values_that_just_go_together(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    load_config(tmp_path / "x.toml", {})


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('strategy = "AVGG"', ["unknown strategy", "AVG_BY_CIRCLE"]),
        ('strategy = "CONFIG"', ["message_queue_list"]),
        ('strategy = "MACHINE_ROOM"', ["consumeridcs"]),
        ('strategy = "AVG"\nvirtual_node_count = 3', ["virtual_node_count"]),
        ('strategy = "CONSISTENT_HASH"\nconsumeridcs = []', ["consumeridcs"]),
        ('strategy = "MACHINE_ROOM_NEARBY"\nroom_separator = "-"', ["inner"]),
        ('strategy = "MACHINE_ROOM_NEARBY-AVG"', ["broker_rooms", "client_rooms", "room_separator"]),
        ('strategy = "MACHINE_ROOM_NEARBY-AVG"\nroom_separator = "-"\nvirtual_node_count = 3', ["virtual_node_count"]),
    ],
)
def test_strategy_that_cannot_be_built(rule: str, words: list[str], tmp_path: Path) -> None:
    (fault,) = faults(f"[[groups]]\n{rule}\n", tmp_path)
    assert fault.startswith("x.toml: groups[0].strategy = ")
    assert [word for word in words if word not in fault] == []
    assert "Cnt" not in fault


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    text = """
        shards = 1
        [source]
        bootstrap_servers = ""
        [job]
        shards = 0
        trigger_seconds = "x"
        [timing]
        forget_after_seconds = 60
        [[groups]]
        group = ""
        strategy = "AVGG"
        [[groups]]
        strategy = "CONFIG"
        message_queue_list = [3]
    """
    told = faults(text, tmp_path, {"EVENKEEL__LOG__LEVEL": "x", "EVENKEEL__LOG__LEVLE": "y"})
    assert [line.split(" = ")[0] for line in told] == [
        "EVENKEEL__LOG__LEVLE: matches no key; did you mean EVENKEEL__LOG__LEVEL?",
        "x.toml: shards",
        "x.toml: job.shards",
        "x.toml: job.trigger_seconds",
        "x.toml: groups[0].group",
        "x.toml: groups[1].message_queue_list[0]",
        "EVENKEEL__LOG__LEVEL: log.level",
        "x.toml: source.bootstrap_servers",
        "x.toml: timing.forget_after_seconds",
        "x.toml: groups[0].strategy",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[job]\nshards = = 3\n", "Invalid value (at line 2, column 10)"),
        ("[job]\nshards = 8\nshards = 9\n", "Cannot overwrite a value (at line 3, column 11)"),
        (b"[log]\nlevel = '\xff'\n", "invalid start byte at byte 15; TOML is written in UTF-8"),
        ("x = " + "9" * 5000, "Exceeds the limit"),
        ("x = " + "[" * 50_000, ""),
    ],
)
def test_file_that_is_not_toml_says_where(text: str | bytes, expected: str, tmp_path: Path) -> None:
    (fault,) = faults(text, tmp_path)
    assert fault.startswith(f"x.toml: cannot be read as TOML: {expected}")


def test_environment_is_still_judged_when_the_file_cannot_be_read(tmp_path: Path) -> None:
    told = faults("[", tmp_path, {"EVENKEEL__JOB__SHARDS": "0", "EVENKEEL__X": "1"})
    assert [line.split(":")[0] for line in told] == ["x.toml", "EVENKEEL__X", "EVENKEEL__JOB__SHARDS"]


def test_file_that_cannot_be_read_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults, match=r"none\.toml: cannot be read: No such file or directory"):
        load_config(tmp_path / "none.toml", {})
    with pytest.raises(ConfigFaults, match="cannot be read: Is a directory"):
        load_config(tmp_path, {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("EVENKEEL__JOB__SHARD", "did you mean EVENKEEL__JOB__SHARDS?"),
        ("EVENKEEL__JOBS__SHARDS", "did you mean EVENKEEL__JOB__SHARDS?"),
        ("EVENKEEL__TABLES__RETENTION_DAYS__FACT", "did you mean EVENKEEL__TABLES__RETENTION_DAYS__FACTS?"),
        ("EVENKEEL__JOB__SHARDS__X", "did you mean EVENKEEL__JOB__SHARDS?"),
        ("EVENKEEL__", "it is EVENKEEL__SECTION__KEY"),
        ("EVENKEEL__JOB__", "it is EVENKEEL__SECTION__KEY"),
        ("EVENKEEL__GROUPS__0", "did you mean EVENKEEL__GROUPS?"),
        ("EVENKEEL__JOB__SHARD__FILE", "did you mean EVENKEEL__JOB__SHARDS?"),
        ("EVENKEEL__GROUPS__GROUP", "did you mean EVENKEEL__GROUPS?"),
    ],
)
def test_variable_that_matches_nothing_is_told_without_its_value(name: str, expected: str, tmp_path: Path) -> None:
    assert faults("", tmp_path, {name: "hunter2"}) == [f"{name}: matches no key; {expected}"]


def test_a_variable_that_names_no_file_and_a_value_that_is_given_twice(tmp_path: Path) -> None:
    away = {"EVENKEEL__JOB__SHARDS__FILE": "/nowhere/hunter2"}
    assert faults("", tmp_path, away) == ["EVENKEEL__JOB__SHARDS__FILE: job.shards: a file that exists and can be read"]
    twice = away | {"EVENKEEL__JOB__SHARDS": "4"}
    assert faults("", tmp_path, twice) == [
        "EVENKEEL__JOB__SHARDS__FILE: job.shards: not set while EVENKEEL__JOB__SHARDS is"
    ]


@pytest.mark.parametrize("name", ["EVENKEEL_CONFIG", "EVENKEEL", "XEVENKEEL__JOB__SHARDS"])
def test_other_variables_are_none_of_our_business(name: str) -> None:
    load_config(None, {name: "x"})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("EVENKEEL__JOB__SHARDS", "eight", 'job.shards = "eight": a whole number from 1 to 4096'),
        ("EVENKEEL__JOB__SHARDS", "", 'job.shards = "": a whole number from 1 to 4096'),
        ("EVENKEEL__JOB__MAINTENANCE", "yes", 'job.maintenance = "yes": true or false'),
        ("EVENKEEL__GROUPS", "[{", 'groups = "[{": an array of tables, each written [[groups]]'),
        ("EVENKEEL__JOB", "3", "job = 3: a table, written [job]"),
        ("EVENKEEL__JOB", '{"shards": 0}', "job.shards = 0: a whole number from 1 to 4096"),
        ("EVENKEEL__GROUPS", "[" * 100_000, None),
    ],
)
def test_fault_of_a_variable_names_it(name: str, value: str, expected: str | None, tmp_path: Path) -> None:
    (fault,) = faults("", tmp_path, {name: value})
    assert fault.startswith(f"{name}: ")
    assert expected is None or fault == f"{name}: {expected}"


def test_file_without_a_table_where_a_variable_needs_one(tmp_path: Path) -> None:
    assert faults("job = 3", tmp_path, {"EVENKEEL__JOB__SHARDS": "8"})[0].endswith("job = 3: a table, written [job]")


def test_folder_below_a_file_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    text = f'[tables]\npath = "{tmp_path}/file/tables"\n[job]\ncheckpoint = "{tmp_path}/file"\n'
    told = faults(text, tmp_path)
    assert [line.split(" = ")[0] for line in told] == ["x.toml: tables.path", "x.toml: job.checkpoint"]
    assert all(
        line.endswith(f"a folder that exists or can be created: {tmp_path}/file is not a folder") for line in told
    )


def test_folder_with_too_long_a_name_cannot_be_created(tmp_path: Path) -> None:
    (fault,) = faults(f'[tables]\npath = "/{"x" * 300}"\n', tmp_path)
    assert fault.endswith(": File name too long")


def test_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in for the system call, since the superuser may write everywhere."""
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path / "locked")
    (tmp_path / "locked").mkdir()
    (fault,) = faults(f'[tables]\npath = "{tmp_path}/locked/tables"\n', tmp_path)
    assert fault.endswith(f"{tmp_path}/locked cannot be written to")


@pytest.mark.parametrize(
    ("tables", "checkpoint", "key"),
    [
        ("t", "t/c", "job.checkpoint"),
        ("t", "t", "job.checkpoint"),
        ("c/t", "c", "job.checkpoint"),
        ("t", "x/../t/c", "job.checkpoint"),
        ("t", "link/c", "job.checkpoint"),
    ],
)
def test_checkpoint_and_tables_are_kept_apart(tables: str, checkpoint: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "t")
    text = f'[tables]\npath = "{tmp_path}/{tables}"\n[job]\ncheckpoint = "{tmp_path}/{checkpoint}"\n'
    (fault,) = faults(text, tmp_path)
    assert fault.startswith(f"x.toml: {key} = ")
    assert "a folder apart from tables.path" in fault


@pytest.mark.parametrize(("tables", "checkpoint"), [("hdfs://b/t", "hdfs://b/t/c"), ("hdfs://b/c/t/", "hdfs://b/c")])
def test_addresses_are_kept_apart_too(tables: str, checkpoint: str, tmp_path: Path) -> None:
    (fault,) = faults(f'[tables]\npath = "{tables}"\n[job]\ncheckpoint = "{checkpoint}"\n', tmp_path)
    assert "a folder apart from tables.path" in fault


def test_files_are_not_read_from_where_tables_are_written(tmp_path: Path) -> None:
    text = f'[tables]\npath = "{tmp_path}"\n[source]\nkind = "files"\nfolder = "{tmp_path}"\n'
    (fault,) = faults(text, tmp_path)
    assert fault.endswith(f"a folder apart from tables.path, which is {tmp_path}")


CLUSTERS = "host:port of one or more name servers, separated by semicolons"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('clusters = { prod = "ns" }', f'collector.clusters = {{"prod": "ns"}}: prod: {CLUSTERS}'),
        (
            'clusters = { "a/b" = "ns:1" }',
            'collector.clusters = {"a/b": "ns:1"}: "a/b": ' + CLUSTER_NAME,
        ),
        (
            'clusters = { "prod " = "ns:1" }',
            'collector.clusters = {"prod ": "ns:1"}: "prod ": ' + CLUSTER_NAME,
        ),
        (
            "interval_seconds = 2",
            "collector.timeout_seconds = 3: at most collector.interval_seconds, 2: a round waits for it",
        ),
        (
            "offsets_seconds = 100",
            "collector.idle_offsets_seconds = 60: at least collector.offsets_seconds, 100",
        ),
        (
            'failover_topic = "evenkeel-events"',
            'collector.failover_topic = "evenkeel-events": another topic than source.topic: it is compacted, so events '
            "would be lost",
        ),
        (
            'failover_topic = "collectors"\noutput = "file"',
            'collector.output = "file": kafka, since collector.failover_topic is a topic of Kafka',
        ),
        (
            'failover_topic = "collectors"\ntimeout_seconds = 3.5',
            "collector.timeout_seconds = 3.5: at most 3 with collector.failover_topic: it is over when another "
            "collector begins",
        ),
        ('access_key = "k"', 'collector.access_key = "***": only beside secret_key_file or secret_key'),
        ('secret_key = "hunter2"', 'collector.secret_key = "***": only beside access_key'),
        (
            'access_key = "k"\nsecret_key_file = "/none"',
            'collector.secret_key_file = "***": a file that exists and can be read',
        ),
        ('tls_ca_file = "/none"', 'collector.tls_ca_file = "/none": a file that exists and can be read'),
        (
            'output = "file"\nfile = ""',
            'collector.file = "": a file of this machine, since collector.output is file',
        ),
        (
            "kafka.request.timeout.ms = 1.5",
            'collector.kafka = {"request.timeout.ms": "1.5"}: request.timeout.ms: a whole number',
        ),
        (
            "kafka.bootstrap.servers = 'a:1'",
            'collector.kafka = {"bootstrap": {"servers": "***"}}: bootstrap.servers: '
            "set source.bootstrap_servers instead",
        ),
    ],
)
def test_faults_of_the_collector(text: str, expected: str, tmp_path: Path) -> None:
    assert faults(f"[collector]\n{text}", tmp_path) == [f"x.toml: {expected}"]


@pytest.mark.parametrize("value", ["true", "false"])
def test_a_key_that_was_removed_says_what_to_do_instead(value: str, tmp_path: Path) -> None:
    """0.2.0 had ``share`` in its file with every key."""
    said = (
        "removed in evenkeel 0.3.0: delete the key. Where it was true, divide the groups between two configurations by "
        "include and exclude (docs/collector.md, A cluster for two configurations)"
    )
    assert faults(f"[collector]\nshare = {value}", tmp_path) == [f"x.toml: collector.share = {value}: {said}"]
    name = "EVENKEEL__COLLECTOR__SHARE"
    assert faults("", tmp_path, {name: value}) == [f"{name}: {said}"]


def test_secret_stands_in_one_place_only(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    text = f'[collector]\naccess_key = "k"\nsecret_key_file = "{tmp_path}/secret"'
    variables = {"EVENKEEL__COLLECTOR__SECRET_KEY": "hunter2"}
    assert faults(text, tmp_path, variables) == [
        'x.toml: collector.secret_key_file = "***": empty where collector.secret_key is given'
    ]


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "[::1", "[:::]", ".a"])
def test_host_that_nobody_can_have_is_refused(host: str, tmp_path: Path) -> None:
    for text in (f'[collector]\nclusters = {{ prod = "{host}:9876" }}', f'[source]\nbootstrap_servers = "{host}:9092"'):
        (fault,) = faults(text, tmp_path)
        assert "host:port" in fault


def test_file_with_the_key_of_access_must_hold_one(tmp_path: Path) -> None:
    for content, expected in ((b" \n", "a file that is not empty"), (b"\xff\xfe", "a file of text")):
        (tmp_path / "key").write_bytes(content)
        text = f'[collector]\naccess_key = "k"\nsecret_key_file = "{tmp_path}/key"'
        assert faults(text, tmp_path) == [f'x.toml: collector.secret_key_file = "***": {expected}']
