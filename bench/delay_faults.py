"""Faults of real consumer groups of three clients. A fault stays until the group's processes end."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from schemas.identity import MessageQueue, retry_topic
from streaming.wall_clock import now_ms
from testing.rocketmq.loopback import Consumer, LoopbackRocketMQ

BROKERS = ("broker-a", "broker-b")
QUEUES_EACH = 3  # with two, AVG and AVG_BY_CIRCLE give four clients the same queues


class Group:
    """A group of three clients: two stay unchanged, ``third`` is in its own process."""

    def __init__(self, cluster: LoopbackRocketMQ, name: str, topics: Sequence[str]) -> None:
        """Set the group up. ``topics``: the one that it consumes, and another that exists."""
        self.name = name
        self.topic, self.other_topic = topics
        self._cluster = cluster
        self._consumers: list[Consumer] = []

    def join(self, *names: str, topic: str = "", **how: Any) -> Consumer:
        """Start one process with these clients."""
        ids = [f"{self.name}-{name}" for name in names]
        joined = self._cluster.consumer(self.name, ids, {topic or self.topic: "*"}, **how)
        self._consumers.append(joined)
        return joined

    def join_alike(self) -> None:
        """Start three clients with the strategy AVG."""
        self.join("c1", "c2")
        self.third = self.join("c3")

    def join_configured(self) -> None:
        """Start three clients, each with a list of the queues that it consumes."""
        first, *others = _shares(self.topic)
        retried = [MessageQueue(retry_topic(self.name), broker, 0) for broker in BROKERS]
        self.join("c1", strategy="CONFIG", queues=[*first, *retried])
        for number, share in enumerate(others, start=2):
            self.third = self.join(f"c{number}", strategy="CONFIG", queues=share)

    def wait_until_joined(self) -> None:
        self._cluster.wait_until_started(self._consumers)
        self._cluster.wait_until_joined(self._consumers, BROKERS)

    def wait_until_started(self, joined: Consumer) -> None:
        self._cluster.wait_until_started([joined])

    def close(self) -> None:
        for consumer in self._consumers:
            consumer.close()


def _shares(topic: str) -> list[list[MessageQueue]]:
    queues = [MessageQueue(topic, broker, number) for broker in BROKERS for number in range(QUEUES_EACH)]
    return [queues[:3], queues[3:4], queues[4:]]


def kill(group: Group) -> int:
    began = now_ms()
    group.third.kill()
    return began


def pause(group: Group) -> int:
    group.third.pause()
    return now_ms()


def join_with_same_id(group: Group) -> int:
    return _joined(group, group.join("c3"))


def join_with_other_subscription(group: Group) -> int:
    return _joined(group, group.join("c4", topic=group.other_topic))


def join_with_other_strategy(group: Group) -> int:
    return _joined(group, group.join("c4", strategy="AVG_BY_CIRCLE"))


def _joined(group: Group, consumer: Consumer) -> int:
    """Return the time when the client has started: from then it is a fault, as it is registered and has rebalanced."""
    group.wait_until_started(consumer)
    return now_ms()


class Fault(NamedTuple):
    """A fault. ``begin`` makes a healthy group; ``strike`` causes the fault and returns its time.

    ``causes``: the right ones; empty: no page is right. ``watch_s``: how long to wait for a page.
    """

    name: str
    strike: Callable[[Group], int]
    causes: frozenset[str]
    begin: Callable[[Group], None] = Group.join_alike
    watch_s: float = 300


FAULTS = (
    Fault("kill", kill, frozenset(), watch_s=150),
    Fault("kill_configured", kill, frozenset({"CONFIG_MISSES_QUEUE", "MEMBER_GONE"}), Group.join_configured),
    Fault("pause", pause, frozenset({"CLIENT_STALLED"})),
    Fault("same_client_id", join_with_same_id, frozenset({"SAME_CLIENT_ID"})),
    Fault("other_subscription", join_with_other_subscription, frozenset({"SUBSCRIPTION_MISMATCH"})),
    Fault("other_strategy", join_with_other_strategy, frozenset({"STRATEGY_MISMATCH"})),
)
