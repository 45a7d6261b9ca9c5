"""From values to verdicts: what is wrong, what mends it, and what is not known."""

import pytest

from streaming.collector.wire.requests import Code
from streaming.config.sections import Config
from streaming.doctor import kafka as asking
from streaming.doctor.checks import Check, Verdict
from streaming.doctor.judgement import kafka, machine, rocketmq, tables
from streaming.doctor.judgement.clocks import clock
from streaming.doctor.judgement.machine import Disk
from streaming.doctor.judgement.rocketmq import PERMITTED, Answered, NameServerView

FINE, WRONG, UNKNOWN = Verdict.FINE, Verdict.WRONG, Verdict.UNKNOWN
GB = 1_000_000_000
DISK = Disk("/data", True, True, False, 50 * GB, 1_000_000, 900_000)
TOPIC = kafka.Topic(
    name="events",
    partitions=4,
    replicas=3,
    in_sync=3,
    leaderless=(),
    settings={"min.insync.replicas": "2", "retention.ms": "604800000", "cleanup.policy": "delete"},
    operations=frozenset({"Read", "Write", "Describe"}),
)


def is_wrong(check: Check, found: str, mend: str) -> bool:
    return check.verdict is WRONG and found in check.found and mend in check.mend


@pytest.mark.parametrize(
    ("version", "verdict"), [((3, 9, 1), WRONG), ((3, 10, 0), FINE), ((3, 13, 9), FINE), ((3, 14, 0), WRONG)]
)
def test_python(version: tuple[int, int, int], verdict: Verdict) -> None:
    assert machine.python(version).verdict is verdict


@pytest.mark.parametrize(
    ("total", "limit", "runs_spark", "verdict"),
    [
        (8 * GB, None, True, FINE),
        (8 * GB, 2 * GB, True, WRONG),  # in a container
        (8 * GB, 1 << 62, True, FINE),  # a control group without a limit
        (2 * GB, None, True, WRONG),
        (2 * GB, None, False, FINE),
        (None, None, True, UNKNOWN),
    ],
)
def test_memory(total: int | None, limit: int | None, runs_spark: bool, verdict: Verdict) -> None:
    assert machine.memory(total, total, limit, runs_spark).verdict is verdict


def test_folders_and_their_disks() -> None:
    def folder(**changed: object) -> Check:
        return machine.folder("tables.path", "/data/tables", DISK._replace(**changed))  # type: ignore[arg-type]

    assert folder().verdict is FINE
    assert folder(is_there=False).found.endswith("not made yet")
    assert is_wrong(folder(free_bytes=GB - 1), "999 MB are free", "df -h /data")
    assert is_wrong(folder(free_inodes=9_999), "9,999 inodes", "df -i /data")
    assert folder(inodes=0, free_inodes=0).verdict is FINE, "btrfs does not count inodes"
    assert is_wrong(folder(is_read_only=True), "read-only", "findmnt -T /data")
    assert is_wrong(folder(is_writable=False), "may not write to /data", "ls -ld /data")
    assert machine.folder("tables.path", "/x", None, "Permission denied").verdict is WRONG


def test_java_and_jars() -> None:
    assert machine.java("/usr/lib/jvm/x", "17").verdict is FINE
    assert is_wrong(machine.java(None, "", "none was found"), "none was found", "apt-get install openjdk-17")
    assert machine.jars("/j", "s", 11, None, True, True).verdict is FINE
    assert is_wrong(
        machine.jars("/j", "s", 11, "x.jar is missing", True, True), "x.jar is missing", "evenkeel jars fetch --to"
    )
    changed = machine.jars("/my cache/j", "s", 11, "x.jar has the SHA-256 1", False, True)
    assert is_wrong(
        changed, "SHA-256", "rm -r '/my cache/j/s' && evenkeel jars fetch  # while 'evenkeel run' is stopped"
    )
    not_yet = machine.jars("/j", "s", 0, "x.jar is missing", False, False)
    assert (not_yet.verdict, not_yet.mend) == (UNKNOWN, "evenkeel jars fetch")


@pytest.mark.parametrize(
    ("least", "most", "verdict"),
    [
        (-900, 100, FINE),
        (30_000, 31_000, WRONG),
        (-31_000, -30_000, WRONG),
        (9_000, 11_000, UNKNOWN),
        (-3_000, 20_000, UNKNOWN),
    ],
)
def test_clock_is_judged_only_where_all_of_the_possible_times_agree(least: int, most: int, verdict: Verdict) -> None:
    assert clock("kafka", "k", least, most, 10_000).verdict is verdict


def by_what(topic: kafka.Topic) -> dict[str, Check]:
    return {check.what: check for check in kafka.topic(topic, "k:9092")}


def set_to(**settings: str) -> kafka.Topic:
    return TOPIC._replace(settings=TOPIC.settings | {name.replace("_", "."): value for name, value in settings.items()})


def test_topic_as_it_should_be() -> None:
    assert {check.verdict for check in by_what(TOPIC).values()} == {FINE}


@pytest.mark.parametrize(
    ("topic", "what", "found", "mend"),
    [
        (set_to(retention_ms="3600000"), "retention", "60 min", "--add-config retention.ms=604800000"),
        (set_to(cleanup_policy="compact,delete"), "cleanup.policy", "only the newest", "cleanup.policy=delete"),
        (set_to(max_message_bytes="65536"), "record size", "65,536", "max.message.bytes=1048576"),
        (set_to(min_insync_replicas="4"), "replicas", "3 of 3 replicas in sync, 4 needed", "--under-min-isr"),
        (TOPIC._replace(in_sync=1), "replicas", "1 of 3 replicas in sync, 2 needed", "--under-min-isr"),
        (TOPIC._replace(leaderless=(0, 3)), "topic", "no leader for 2 of 4", "--describe --topic events"),
    ],
)
def test_topic_with_a_fault(topic: kafka.Topic, what: str, found: str, mend: str) -> None:
    assert is_wrong(by_what(topic)[what], found, mend)
    assert "--bootstrap-server k:9092" in by_what(topic)[what].mend


def test_retention_without_end_is_long_enough() -> None:
    assert by_what(set_to(retention_ms="-1"))["retention"].verdict is FINE


def test_settings_that_may_not_be_read_are_not_fine() -> None:
    assert by_what(TOPIC._replace(settings={}))["settings"].verdict is UNKNOWN


def test_rights() -> None:
    wanted = {"Write": "to send events"}
    assert [check.verdict for check in kafka.rights(TOPIC, wanted)] == [FINE]
    assert [check.verdict for check in kafka.rights(TOPIC._replace(operations=None), wanted)] == [UNKNOWN]
    (missing,) = kafka.rights(TOPIC._replace(operations=frozenset({"Describe"})), wanted)
    assert is_wrong(missing, "may not Write (to send events)", "docs/collector.md")


OWN_LOGIN = {"sasl.jaas.config": "x", "security.protocol": "SASL_SSL"}


@pytest.mark.parametrize("of_source", [OWN_LOGIN, {"ssl.keystore.location": "/k"}])
def test_login_of_the_job_is_not_judged_by_that_of_the_collector(of_source: dict[str, str]) -> None:
    def rights(of_source: dict[str, str], *processes: str) -> list[tuple[Verdict, str]]:
        config = Config.model_validate({"source": {"kafka": of_source}})
        return [(check.verdict, check.found) for check in asking._rights(config, frozenset(processes), TOPIC)]

    own = "[source.kafka] has a login of its own, which only Java uses: whether 'run' may read is not known"
    assert rights(of_source, "run") == [(UNKNOWN, own)]
    assert rights(of_source, "run", "collect") == [(FINE, "Write, Read permitted"), (UNKNOWN, own)]
    assert rights(of_source, "collect") == [(FINE, "Write, Read permitted")]
    assert rights({"fetch.max.bytes": "1"}, "run") == [(FINE, "Read permitted")]


def test_time_of_producers_says_nothing_of_kafkas_clock() -> None:
    told = kafka.clock_is_not_told(set_to(message_timestamp_type="CreateTime"), "k:9092")
    assert told is not None
    assert (told.verdict, "LogAppendTime" in told.mend) == (UNKNOWN, True)
    assert kafka.clock_is_not_told(set_to(message_timestamp_type="LogAppendTime"), "k:9092") is None


def test_lag() -> None:
    assert kafka.lag("tables", "c", 5, 0, 100).verdict is FINE
    assert is_wrong(kafka.lag("tables", "c", 101, 0, 100), "101 records are not read", "evenkeel run")
    assert is_wrong(kafka.lag("tables", "c", 0, 7, 100), "7 records", "retention.ms")
    assert kafka.partitions_read("tables", "c", frozenset({0, 1}), 2).verdict is FINE
    assert is_wrong(
        kafka.partitions_read("tables", "c", frozenset({0, 1}), 4), "2 partitions, and the topic has 4", "reseed"
    )


def test_name_servers() -> None:
    views = [
        NameServerView("n1:1", frozenset({"a", "b"})),
        NameServerView("n2:1", frozenset({"a"})),
        NameServerView("n3:1", frozenset()),
        NameServerView("n4:1", None, "no connection"),
    ]
    one, two, three, four = rocketmq.name_servers("prod", views)
    assert one.verdict is FINE
    assert is_wrong(two, "it does not know b", "name n2:1 in namesrvAddr")
    assert is_wrong(three, "no broker", "mqadmin clusterList -n n3:1")
    assert is_wrong(four, "no connection", "collector.clusters.prod")


def said(code: Code, number: int | None, remark: str = "", failure: str = "") -> Check:
    (check,) = rocketmq.permissions("prod a", [Answered(code, number, remark, failure)], "mqadmin createAcl")
    return check


def test_every_request_of_the_collector_is_judged() -> None:
    assert set(Code) - set(PERMITTED) == {Code.GET_BROKER_RUNTIME_INFO}  # which the collector does not send


@pytest.mark.parametrize("code", PERMITTED)
def test_permission_of_each_request(code: Code) -> None:
    assert said(code, PERMITTED[code][0]).verdict is FINE
    refused = said(code, 16, "no permission")
    assert f"{code.value} refused: code 16: no permission" in refused.found
    assert "createAcl" in refused.mend
    assert refused.verdict is (UNKNOWN if code is Code.PULL_MESSAGE else WRONG)  # the collector may do without that one
    assert said(code, None, failure="no answer within 3 s").verdict is UNKNOWN


def test_answers_that_may_mean_either_are_unknown_unless_the_remark_says_which() -> None:
    asks_client = Code.GET_CONSUMER_RUNNING_INFO
    assert said(asks_client, 1, "The Consumer <g> <x> not online").verdict is FINE
    assert said(Code.GET_CONSUMER_LIST_BY_GROUP, 1, "no consumer for this group, g").verdict is FINE
    assert said(asks_client, 1).verdict is UNKNOWN
    assert said(asks_client, 1, "org.apache.rocketmq.acl.common.AclException: No acl config").verdict is WRONG
    assert said(Code.GET_CONSUME_STATS, 1, "AclException").verdict is WRONG
    assert said(Code.GET_ALL_MESSAGE_REQUEST_MODE, 3).verdict is FINE, "the 4.x line does not know it"


def test_requests_that_are_refused_alike_share_a_line() -> None:
    codes = (Code.GET_CONSUME_STATS, Code.GET_ALL_PRODUCER_INFO)
    answers = [Answered(code, 16, "check signature failed.") for code in codes]
    (check,) = rocketmq.permissions("prod a", answers, "mqadmin createAcl")
    assert is_wrong(check, "208, 328 refused: code 16: check signature failed.", "compare collector.access_key")


FILE = "t/facts/part-0-c000.snappy.parquet"
FETCH = f"External error: Parquet error: Parquet error: Failed to fetch metadata for file {FILE}"
LOST = (  # as delta-rs 1.x says it
    f"{FETCH}: Object Store error: Object at location /{FILE} not found: No such file or directory (os error 2)",
    f"{FETCH}: Object Store error: Generic LocalFileSystem error: Requested range was invalid",
    f"{FETCH}: Parquet error: Parquet error: Invalid Parquet file. Corrupt footer",
    "External error: Arrow error: Parquet argument error: External: snappy: corrupt input (expected valid offset)",
)
KEPT = (
    f"{FETCH}: Object Store error: Generic LocalFileSystem error: Unable to open file /{FILE}: Permission denied "
    "(os error 13)",
    f"{FETCH}: Object Store error: Generic S3 error: Error performing GET http://s3/{FILE} in 2 ms - HTTP error: error "
    "sending request: client error (Connect): tcp connect error: Connection refused (os error 111)",
    "External error: Arrow error: Parquet argument error: External: Generic S3 error: Error performing GET http://s3/x",
    "a text that no one knows",
)


@pytest.mark.parametrize(("name", "mend"), [("alerts", "evenkeel rebuild"), ("facts", "backup")])
@pytest.mark.parametrize("failure", LOST)
def test_table_whose_files_are_lost(failure: str, name: str, mend: str) -> None:
    assert is_wrong(tables.table("t", tables.TableSeen(name, 3, failure=failure)), failure, mend)


@pytest.mark.parametrize("name", ["alerts", "facts"])
@pytest.mark.parametrize(("version", "failure"), [(None, LOST[0]), *((3, failure) for failure in KEPT)])
def test_nothing_is_restored_over_files_that_may_be_whole(version: int | None, failure: str, name: str) -> None:
    check = tables.table("t", tables.TableSeen(name, version, failure=failure))
    assert is_wrong(check, failure, "reach the storage (address, credentials, permissions)")
    assert "backup" not in check.mend
    assert "rebuild" not in check.mend


def test_tables_and_checkpoint() -> None:
    seen = tables.TableSeen
    assert tables.table("t", seen("alerts", 3)).verdict is FINE
    assert tables.table("t", seen("alerts", None)).verdict is UNKNOWN
    older = tables.table("t", seen("alerts", 3, ("a", "b")))
    assert (older.verdict, "without a, b" in older.found) == (FINE, True)
    assert tables.newest_health("t", None, 0, 60_000).verdict is UNKNOWN
    assert tables.newest_health("t", 1_000, 60_000, 60_000).verdict is FINE
    assert is_wrong(tables.newest_health("t", 1_000, 100_000, 60_000), "99 s old", "evenkeel run")
    assert tables.checkpoint("c", 3, (3, 3), "", 17).found == "state of version 3, this evenkeel reads 3; batch 17"
    assert is_wrong(tables.checkpoint("c", 2, (3, 3), "of version 02", 17), "version 02", "reseed")
    newer = tables.checkpoint("c", 4, (3, 3), "of version 04: run 'evenkeel reseed'", 17)
    assert is_wrong(newer, "version 4, of a newer evenkeel", "start the newer evenkeel again")
    assert "reseed" not in newer.found + newer.mend, "what the newer one keeps would be lost"
    assert tables.no_checkpoint("c", False).verdict is UNKNOWN
    assert is_wrong(tables.no_checkpoint("c", True), "there are facts", "reseed")
