"""A cluster on loopback sockets, asked as ``doctor`` asks it: once, harmlessly, and with every fault named."""

from collections.abc import Iterator

import pytest

from streaming.collector.probing.policy import SYNCER_GROUP
from streaming.collector.wire.requests import READER, Code
from streaming.config.sections import Config
from streaming.doctor.checks import Check, Verdict
from streaming.doctor.rocketmq import checks
from testing.fake_rocketmq import FakeCluster, FakeGroup, FakeNode, served, two_clients

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.setattr(FakeNode, "replicas", lambda node: [(0, node.address)])
    fake = two_clients()
    fake.groups |= {SYNCER_GROUP: FakeGroup(), READER: FakeGroup()}  # as in a cluster with proxies
    with served(fake):
        yield fake


def looked(servers: str, **collector: object) -> dict[tuple[str, Verdict], list[Check]]:
    config = Config.model_validate({"collector": {"clusters": {"prod": servers}, "timeout_seconds": 1.0, **collector}})
    found: dict[tuple[str, Verdict], list[Check]] = {}
    for check in checks(config):
        found.setdefault((check.what, check.verdict), []).append(check)
    return found


def test_all_is_fine_but_what_the_fake_does_not_say(cluster: FakeCluster) -> None:
    found = looked(cluster.namesrv[0])
    assert {what for what, verdict in found if verdict is Verdict.FINE} == {
        "name server",
        "broker",
        "clock",
        "requests",
    }
    assert [check.found for check in found["broker", Verdict.FINE]] == ["V5_3_3", "V5_3_3"]
    assert [verdict for _, verdict in found if verdict is Verdict.WRONG] == []
    # the fake answers without a remark, so its code 1 may mean either
    assert [check.found[:4] for check in found["requests", Verdict.UNKNOWN]] == ["307:", "307:"]


def test_each_request_is_sent_once_and_no_client_is_asked(cluster: FakeCluster) -> None:
    looked(cluster.namesrv[0])
    of_brokers = {code: 1 for code in Code if code not in (105, 106)}
    of_brokers[Code.GET_MAX_OFFSET] += 1  # the end of what proxies write, which is read from there
    assert [node.requests for node in cluster.nodes.values()] == [of_brokers, of_brokers]
    assert cluster.name_servers[0].requests == {105: 1, 106: 1}
    assert not cluster.asked_of_clients


def test_name_server_that_is_away(cluster: FakeCluster) -> None:
    found = looked(f"{NOWHERE}; {cluster.namesrv[0]}")
    (away,) = found["name server", Verdict.WRONG]
    assert away.where == f"prod {NOWHERE}"
    assert "no connection" in away.found
    assert len(found["broker", Verdict.FINE]) == 2, "the other name server tells of them"


@pytest.mark.slow("a folder of a release is unpacked")
def test_broker_that_hangs_costs_few_time_outs(cluster: FakeCluster) -> None:
    cluster.nodes["broker-a"].manner = "hang"
    found = looked(cluster.namesrv[0])
    (silent,) = found["broker", Verdict.WRONG]
    assert "broker-a" in silent.where
    assert sum(cluster.nodes["broker-a"].requests.values()) == 1
    assert [check.where for check in found["broker", Verdict.FINE]] == [
        f"prod broker-b {cluster.nodes['broker-b'].address}"
    ]


def test_request_that_is_not_permitted(cluster: FakeCluster) -> None:
    cluster.refused = {Code.GET_CONSUME_STATS}
    found = looked(cluster.namesrv[0], access_key="evenkeel-user", secret_key="s3cret-of-the-test")
    refused = found["requests", Verdict.WRONG]
    assert [check.found for check in refused] == ["208 refused: code 16: not set"] * 2
    assert "mqadmin createAcl" in refused[0].mend
    assert "User:evenkeel-user" in refused[0].mend
    assert all("208" not in check.found for check in found["requests", Verdict.FINE])


def test_what_proxies_write_need_not_be_permitted(cluster: FakeCluster) -> None:
    """Unless they listen on another port."""
    cluster.refused = {Code.PULL_MESSAGE}
    found = looked(cluster.namesrv[0])
    assert ("requests", Verdict.WRONG) not in found
    one, _ = (check for check in found["requests", Verdict.UNKNOWN] if check.found.startswith("11 "))
    assert one.found == "11 refused: code 16: not set: proxies on another port than 8080 are not found"
    assert "-r 'Topic:DefaultHeartBeatSyncerTopic,Group:TOOLS_CONSUMER' -a Sub" in one.mend
    before = [node.requests[Code.PULL_MESSAGE] for node in cluster.nodes.values()]
    looked(cluster.namesrv[0], proxies={"prod": "10.0.0.5:9090"})
    assert [node.requests[Code.PULL_MESSAGE] for node in cluster.nodes.values()] == before


def test_wrong_key_is_refused_everywhere(cluster: FakeCluster) -> None:
    cluster.required_key = "another"
    found = looked(cluster.namesrv[0], access_key="evenkeel-user", secret_key="s3cret-of-the-test")
    assert ("requests", Verdict.FINE) not in found
    assert {check.found[:11] for check in found["requests", Verdict.WRONG]} == {"105, 106 re"}


@pytest.mark.parametrize("ahead_s", [90, -90])
def test_clock_of_a_broker(ahead_s: int, cluster: FakeCluster) -> None:
    cluster.clock_ahead_s = ahead_s
    found = looked(cluster.namesrv[0])
    assert ("clock", Verdict.FINE) not in found
    word = "ahead of" if ahead_s > 0 else "behind"
    assert all(word in check.found for check in found["clock", Verdict.WRONG])


def test_clock_that_is_not_told_is_unknown(cluster: FakeCluster) -> None:
    cluster.refused = {Code.GET_BROKER_RUNTIME_INFO}
    found = looked(cluster.namesrv[0])
    assert len(found["clock", Verdict.UNKNOWN]) == 2
    assert "does not say its time: code 16" in found["clock", Verdict.UNKNOWN][0].found
    assert ("requests", Verdict.WRONG) not in found, "the collector does not need it"


def test_address_outside_of_the_networks(cluster: FakeCluster) -> None:
    found = looked(cluster.namesrv[0], networks=["10.0.0.0/8"])
    assert len(found["name server", Verdict.WRONG]) == 1
    assert not any(node.requests for node in cluster.nodes.values())


def test_without_clusters_nothing_is_asked() -> None:
    (check,) = checks(Config())
    assert (check.verdict, "clusters = {" in check.mend) == (Verdict.UNKNOWN, True)


def test_secret_that_cannot_be_read_is_named() -> None:
    collector = {"clusters": {"prod": NOWHERE}, "access_key": "u", "secret_key_file": "/nowhere/secret"}
    (check,) = checks(Config.model_validate({"collector": collector}))
    assert check.verdict is Verdict.WRONG
    assert "/nowhere/secret" in check.found
