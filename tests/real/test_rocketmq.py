"""The loopback cluster is a real one: what is done to it and to its clients shows, and nothing is left behind."""

import time

import psutil
import pytest

from streaming.collector.translation.alive_channels import HEARTBEAT_MS, AliveChannels
from streaming.collector.wire import reply_parsing, requests
from streaming.collector.wire.reply_parsing import Asked
from streaming.wall_clock import now_ms
from testing.rocketmq import asking
from testing.rocketmq.asking import ask
from testing.rocketmq.loopback import LoopbackRocketMQ

pytestmark = [pytest.mark.deep("a real RocketMQ, for minutes"), pytest.mark.rocketmq, pytest.mark.timeout(600)]


def test_topics_have_the_queues_asked_for_and_can_grow(rocketmq: LoopbackRocketMQ) -> None:
    rocketmq.create_topic("grows", {"broker-a": 2, "broker-b": 3})
    assert queues(rocketmq, "grows") == {"broker-a": 2, "broker-b": 3}
    rocketmq.create_topic("grows", {"broker-b": 5})
    assert queues(rocketmq, "grows") == {"broker-a": 2, "broker-b": 5}


def test_consumers_join_leave_and_die(rocketmq: LoopbackRocketMQ) -> None:
    rocketmq.create_topic("joined", {"broker-a": 2, "broker-b": 2})
    stopped, killed, left = (rocketmq.consumer("joins", name, {"joined": "*"}) for name in ("c1", "c2", "c3"))
    brokers = ("broker-a", "broker-b")
    rocketmq.wait_until_joined([stopped, killed, left], brokers)
    stopped.stop()
    rocketmq.wait_until_joined([killed, left], brokers)
    killed.kill()
    rocketmq.wait_until_joined([left], brokers)
    left.pause()
    process = psutil.Process(left.pid)
    rocketmq.wait_until(lambda: process.status() == psutil.STATUS_STOPPED, "it stands still", 5)
    left.resume()
    left.kill()
    rocketmq.wait_until(lambda: not rocketmq.members("joins", "broker-a"), "the group is empty")


def test_one_id_is_listed_once_for_each_process(rocketmq: LoopbackRocketMQ) -> None:
    rocketmq.create_topic("doubled", {"broker-a": 2, "broker-b": 2})
    both = [rocketmq.consumer("doubles", "same", {"doubled": "*"}) for _ in range(2)]
    rocketmq.wait_until_joined(both, ("broker-a", "broker-b"))
    reply = ask(rocketmq.brokers["broker-a"].address, requests.connections("doubles"))
    of_connections = reply_parsing.list_of(reply_parsing.connections(reply, Asked("c", "broker-a", "doubles")))
    assert of_connections is not None
    assert of_connections.ids == rocketmq.members("doubles", "broker-a") == ("127.0.0.1@same",) * 2
    both[0].kill()
    rocketmq.wait_until_joined(both[1:], ("broker-a", "broker-b"))
    both[1].kill()


def test_a_broker_tells_which_connections_of_an_id_send_heartbeats(rocketmq: LoopbackRocketMQ) -> None:
    """Two that live do, one whose process is stopped does not. The addresses are those of the group's connections."""
    rocketmq.create_topic("beats", {"broker-a": 2})
    living = [rocketmq.consumer("beats", "twice", {"beats": "*"}) for _ in range(2)]
    stopped = rocketmq.consumer("beats", "once", {"beats": "*"})
    rocketmq.wait_until_joined([*living, stopped], ["broker-a"])
    address, channels = rocketmq.brokers["broker-a"].address, AliveChannels()
    stopped.pause()
    connected = reply_parsing.connections(
        ask(address, requests.connections("beats")), Asked("c", "broker-a", "beats")
    ).body
    for wait_s in (0, HEARTBEAT_MS / 1000):
        time.sleep(wait_s)
        said = reply_parsing.last_heartbeats(ask(address, requests.producers()))
        for client_id in ("127.0.0.1@twice", "127.0.0.1@once"):
            channels.take(said[client_id], now_ms())
    assert connected is not None
    addresses: dict[str, list[str]] = {}
    for one in connected.connection_set or ():
        addresses.setdefault(one.client_id, []).append(one.address or "")
    alive = {client_id: channels.of(client_id, those) for client_id, those in addresses.items()}
    assert alive == {"127.0.0.1@twice": 2, "127.0.0.1@once": 0}
    for consumer in (*living, stopped):
        consumer.kill()


def test_broker_comes_back_with_its_topics(rocketmq: LoopbackRocketMQ) -> None:
    rocketmq.create_topic("outlives", {"broker-a": 2, "broker-b": 2})
    broker = rocketmq.brokers["broker-b"]
    for end in (broker.kill, broker.stop):
        end()
        rocketmq.wait_until(lambda: queues(rocketmq, "outlives") == {"broker-a": 2}, "the route is without it")
        broker.start()
        rocketmq.wait_for_broker("broker-b")
        rocketmq.wait_until(lambda: len(queues(rocketmq, "outlives")) == 2, "the route has it again")


def test_nothing_is_left_behind() -> None:
    with LoopbackRocketMQ(brokers=["broker-a"]) as cluster:
        cluster.create_topic("brief", {"broker-a": 1})
        cluster.consumer("brief", "c1", {"brief": "*"}).pause()
        producer = cluster.producer(["brief"])
        home = producer.log_file.parent
        cluster.wait_until(lambda: "started" in producer.log, "the producer writes")
        assert len(processes_of(str(home))) == 4
    time.sleep(0.1)
    assert processes_of(str(home)) == []
    assert not home.exists()


def queues(cluster: LoopbackRocketMQ, topic: str) -> dict[str, int]:
    return asking.queues_of(cluster.namesrv, topic)


def processes_of(home: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if f"-Duser.home={home}" in (p.info["cmdline"] or [])]
