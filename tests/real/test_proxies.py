"""What brokers and proxies of a real RocketMQ answer of gRPC clients: who is where, and how far a POP group is.

``docs/clients.md`` says it in words.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from schemas.events import ANY_QUEUE
from streaming.collector.wire import reply_parsing, requests
from streaming.collector.wire.answers import REQUEST_CODE_NOT_SUPPORTED, SUCCESS
from streaming.collector.wire.reply_parsing import Asked
from testing.rocketmq import asking
from testing.rocketmq.collecting import Judging
from testing.rocketmq.go import missing_go
from testing.rocketmq.loopback import Consumer
from tests.real.proxies import SYNCER_GROUP, SYNCER_TOPIC, GrpcConsumer, LocallyProxiedRocketMQ, ProxiedRocketMQ

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.deep("a real RocketMQ, for minutes"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing_go()), reason=missing_go()),
]

BROKER = "broker-a"
GET_ALL_CONSUMER_OFFSET = 43
POLLING_INFO = 200055
GRPC_ID = re.compile(r"[^@]+@\d+@\d+@[0-9a-z]+")


class Watched(NamedTuple):
    """Groups ``pushes`` (Java and Go, one at each proxy), ``orderly`` (FIFO), ``split`` (one at a proxy, one at the
    broker).
    """

    cluster: ProxiedRocketMQ
    java: GrpcConsumer
    orderly: GrpcConsumer
    at_broker: Consumer


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with ProxiedRocketMQ([BROKER]) as cluster:
        for topic in ("pushed", "ordered", "shared"):
            cluster.create_topic(topic, {BROKER: 2})
        cluster.create_group("orderly", fifo=True)
        cluster.producer(["pushed", "ordered", "shared"])
        java = cluster.grpc_consumer("pushes", "java", {"pushed": "*"}, proxy="proxy-a")
        orderly = cluster.grpc_consumer("orderly", "java", {"ordered": "*"}, proxy="proxy-b")
        for consumer in (java, orderly):
            cluster.wait_until_consuming(consumer)
        others = [
            cluster.grpc_consumer("pushes", "go", {"pushed": "*"}, proxy="proxy-b", language="go"),
            cluster.grpc_consumer("split", "go", {"shared": "*"}, proxy="proxy-a", language="go"),
        ]
        at_broker = cluster.consumer("split", "at-broker", {"shared": "*"})
        cluster.wait_until_started([at_broker])
        cluster.wait_until_joined([at_broker], [BROKER])
        for consumer in others:
            cluster.wait_until_consuming(consumer)
        yield Watched(cluster, java, orderly, at_broker)


def listed_by_both(cluster: ProxiedRocketMQ, group: str, members: int) -> tuple[str, ...]:
    """What each of both proxies lists, once it is so many."""

    def are_all() -> bool:
        return all(len(cluster.listed(group, proxy)) == members for proxy in cluster.proxies)

    cluster.wait_until(are_all, f"both proxies list {members} of {group}")
    one, other = (cluster.listed(group, proxy) for proxy in cluster.proxies)
    assert one == other
    return one


def offsets(cluster: ProxiedRocketMQ, group: str, topic: str) -> dict[int, tuple[int, int]]:
    """Of each queue, where it ends and where the group is, as the broker knows."""
    reply = asking.ask(cluster.brokers[BROKER].address, requests.consume_stats(group, topic))
    answer = reply_parsing.consume_stats(reply, Asked("", "", group), topic)
    return {queue.queue_id: (queue.broker_offset, queue.consumer_offset) for queue in answer.table or ()}


def waiting_polls(cluster: ProxiedRocketMQ, group: str, topic: str, queue_id: int) -> int:
    fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)}
    answer = asking.tell(cluster.brokers[BROKER].address, POLLING_INFO, fields)
    assert answer.code == SUCCESS
    return int(answer.ext_fields["pollingNum"])


def test_each_proxy_lists_the_clients_of_both_and_the_broker_none(watched: Watched) -> None:
    cluster = watched.cluster
    ids = listed_by_both(cluster, "pushes", 2)
    assert watched.java.started_id in ids
    assert all(map(GRPC_ID.fullmatch, ids))
    assert cluster.members("pushes", BROKER) == ()


def test_members_of_a_split_group_are_at_both_sides_and_no_side_knows_all(watched: Watched) -> None:
    cluster = watched.cluster
    (at_proxy,) = listed_by_both(cluster, "split", 1)
    assert GRPC_ID.fullmatch(at_proxy)
    assert cluster.members("split", BROKER) == (watched.at_broker.client_id,)


def test_connections_at_a_proxy_say_language_and_kind_and_not_which_proxy(watched: Watched) -> None:
    cluster = watched.cluster
    listed_by_both(cluster, "pushes", 2)
    said = []
    for proxy in cluster.proxies.values():
        reply = asking.ask(proxy.remoting, requests.connections("pushes"))
        body = reply_parsing.connections(reply, Asked("", "", "pushes")).body
        assert body is not None
        assert (body.consume_type, body.message_model) == ("CONSUME_PASSIVELY", "CLUSTERING")
        said.append({(one.client_id, one.language, one.address) for one in body.connection_set or ()})
    one, other = said
    assert one == other
    assert {language for _, language, _ in one} == {"JAVA", "GO"}


def test_a_broker_lists_the_proxies_as_consumers_of_their_own_topic(watched: Watched) -> None:
    reply = asking.ask(watched.cluster.brokers[BROKER].address, requests.connections(SYNCER_GROUP))
    body = reply_parsing.connections(reply, Asked("", "", SYNCER_GROUP)).body
    assert body is not None
    assert body.message_model == "BROADCASTING"
    assert len({one.address for one in body.connection_set or ()}) == len(watched.cluster.proxies)


def test_a_collector_finds_proxies_on_any_port_by_what_they_write(watched: Watched, tmp_path: Path) -> None:
    """It changes nothing at the broker: no group is made, and no offset of its own is committed."""
    cluster, address = watched.cluster, watched.cluster.brokers[BROKER].address
    groups = set(reply_parsing.group_settings(asking.ask(address, requests.subscription_groups()))[0] or ())
    judging = Judging(tmp_path, cluster.namesrv)
    with judging.collecting as collecting:
        for proxy in cluster.proxies.values():
            cluster.wait_until(lambda one=proxy: f"found proxy {one.remoting}" in collecting.log, "it is found")
        member = watched.java.started_id or ""
        cluster.wait_until(lambda: f'"{member}"' in judging.events.read_text(), "its client is a member")
        assert ":8080" not in collecting.log
        assert "does not give the messages" not in collecting.log
    assert set(reply_parsing.group_settings(asking.ask(address, requests.subscription_groups()))[0] or ()) == groups
    committed = asking.tell(address, GET_ALL_CONSUMER_OFFSET, {}).body
    assert f"{SYNCER_TOPIC}@{requests.READER}".encode() not in committed
    assert b"pushed@pushes" in committed


@pytest.mark.parametrize("group", ["pushes", "nobody-of-this-name"])
def test_a_proxy_passes_no_request_on_to_a_client(group: str, watched: Watched) -> None:
    proxy = watched.cluster.proxies["proxy-a"]
    client_id = watched.java.started_id or ""
    for request in (requests.running_info(group, client_id), requests.consume_stats(group)):
        reply = asking.ask(proxy.remoting, request)
        assert reply.frame is not None
        assert reply.frame.code == REQUEST_CODE_NOT_SUPPORTED


def test_polls_of_grpc_clients_wait_at_no_queue_of_their_own(watched: Watched) -> None:
    """Two clients of the one group, and two queues for one client of the other."""
    cluster = watched.cluster
    for group, topic in (("pushes", "pushed"), ("orderly", "ordered")):
        cluster.wait_until(lambda g=group, t=topic: waiting_polls(cluster, g, t, ANY_QUEUE) == 2, f"{group} polls")
        assert [waiting_polls(cluster, group, topic, queue) for queue in (0, 1)] == [0, 0]


def test_a_popping_group_moves_on_in_every_queue(watched: Watched) -> None:
    cluster = watched.cluster
    before = offsets(cluster, "pushes", "pushed")
    assert before.keys() == {0, 1}

    def moved() -> bool:
        now = offsets(cluster, "pushes", "pushed")
        return all(now[queue][1] > consumer_offset for queue, (_, consumer_offset) in before.items())

    cluster.wait_until(moved, "offsets of both queues have moved")


def test_a_blocked_head_of_fifo_queues_stands_still_while_polls_wait(watched: Watched) -> None:
    cluster = watched.cluster
    watched.orderly.hang()
    try:
        cluster.wait_until(lambda: ready(cluster) > [4, 4], "messages wait in both queues")
        before = offsets(cluster, "orderly", "ordered")
        cluster.wait_until(lambda: ready(cluster) > [12, 12], "more messages wait")
        after = offsets(cluster, "orderly", "ordered")
        assert [at for _, at in after.values()] == [at for _, at in before.values()]
        assert waiting_polls(cluster, "orderly", "ordered", ANY_QUEUE) == 2
    finally:
        watched.orderly.recover()
    cluster.wait_until(lambda: ready(cluster) < [4, 4], "it goes on")


def ready(cluster: ProxiedRocketMQ) -> list[int]:
    """Messages that wait in each queue of the FIFO group, the fewest first."""
    return sorted(end - at for end, at in offsets(cluster, "orderly", "ordered").values())


def test_a_broker_with_its_proxy_inside_lists_grpc_clients_itself() -> None:
    with LocallyProxiedRocketMQ([BROKER]) as cluster:
        cluster.create_topic("local", {BROKER: 2})
        cluster.producer(["local"])
        consumer = cluster.grpc_consumer("locals", "go", {"local": "*"}, language="go")
        cluster.wait_until_consuming(consumer)
        (at_broker,) = cluster.members("locals", BROKER)
        assert GRPC_ID.fullmatch(at_broker)
        assert cluster.listed("locals", BROKER) == (at_broker,)
        assert cluster.members(SYNCER_GROUP, BROKER) == ()
