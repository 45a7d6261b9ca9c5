"""What is done to a real cluster and when: several plays side by side, each with a group of its own."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from streaming.wall_clock import now_ms
from testing.rocketmq import asking
from testing.rocketmq.loopback import Client, Consumer, GoConsumer, LoopbackRocketMQ

Topics = Mapping[str, Mapping[str, int]]


class Deed(NamedTuple):
    """Something that was done, at ``ts`` (epoch milliseconds)."""

    ts: int
    what: str


class Part:
    """A group, its consumers and topics, and a note of everything that is done to it."""

    def __init__(self, cluster: LoopbackRocketMQ, group: str, topics: Topics) -> None:
        self.cluster = cluster
        self.group = group
        self.topics = topics
        self.deeds: list[Deed] = []
        self.consumers: list[Consumer] = []
        for name, queues in topics.items():
            cluster.create_topic(name, queues)

    def join(self, *names: str, topics: Sequence[str] = (), **how: Any) -> list[Consumer]:
        """Start consumers, by default of all topics. No other group has a client of their id: that is one process."""
        subscribed = dict.fromkeys(topics or self.topics, "*")
        joined = [self.cluster.consumer(self.group, f"{self.group}-{name}", subscribed, **how) for name in names]
        self.consumers += joined
        self.note(f"{', '.join(names)} started")
        return joined

    def join_go(self, *names: str, topics: Sequence[str] = ()) -> list[GoConsumer]:
        """Start clients of rocketmq-client-go, by default of all topics."""
        subscribed = dict.fromkeys(topics or self.topics, "*")
        joined = [self.cluster.go_consumer(self.group, f"{self.group}-{name}", subscribed) for name in names]
        self.note(f"{', '.join(names)} started, of rocketmq-client-go")
        return joined

    def join_together(self, *names: str, **how: Any) -> Consumer:
        """Several consumers of all topics in one process."""
        ids = [f"{self.group}-{name}" for name in names]
        joined = self.cluster.consumer(self.group, ids, dict.fromkeys(self.topics, "*"), **how)
        self.consumers.append(joined)
        self.note(f"{', '.join(names)} started in one process")
        return joined

    def do(self, word: str, consumer: Client) -> None:
        """``kill``, ``pause``, ``resume``, ``terminate`` one, or let it ``hang`` and ``recover``."""
        getattr(consumer, word)()
        self.note(f"{word} {', '.join(consumer.client_ids) or consumer.name}")

    def grow(self, topic: str, queues: Mapping[str, int]) -> None:
        self.cluster.create_topic(topic, queues)
        self.note(f"{topic} has {dict(queues)} queues")

    def change(self, topic: str, broker: str, queues: int, *, to_read: int | None = None, perm: int = 6) -> None:
        """``updateTopic`` on one broker; of its queues, so many can be read."""
        address = self.cluster.brokers[broker].address
        asking.set_queues(address, topic, queues, self.cluster.credentials, to_read=to_read, perm=perm)
        self.note(f"{topic} on {broker}: {queues if to_read is None else to_read} of {queues} to read, perm {perm}")

    def reset_offsets(self, topic: str, broker: str, back_s: float) -> None:
        """``mqadmin resetOffsetByTime``, to so long ago."""
        asking.reset_offsets(self.cluster.brokers[broker].address, self.group, topic, now_ms() - round(back_s * 1000))
        self.note(f"reset the offsets of {topic} on {broker} by {back_s:g} s")

    def kill_broker(self, name: str) -> None:
        self.cluster.brokers[name].kill()
        self.note(f"kill {name}")

    def start_broker(self, name: str) -> None:
        self.cluster.brokers[name].start()
        self.note(f"start {name}")

    def note(self, what: str) -> None:
        self.deeds.append(Deed(now_ms(), what))


class Play(NamedTuple):
    """``act`` does what it does and yields the second at which it wants to go on; all must have joined at second 0."""

    group: str
    topics: Topics
    act: Callable[[Part], Iterator[float]]


def conduct(plays: Sequence[Play], cluster: LoopbackRocketMQ, until_s: float) -> tuple[int, dict[str, Part]]:
    """Everything that the plays do, side by side. Returns when second 0 was, and the parts by group."""
    parts = {play.group: Part(cluster, play.group, play.topics) for play in plays}
    cluster.producer([topic for part in parts.values() for topic in part.topics])
    acts = [play.act(parts[play.group]) for play in plays]
    due: list[tuple[float, int]] = []
    for number, act in enumerate(acts):
        if (at_s := next(act, None)) is not None:
            heappush(due, (at_s, number))
        cluster.wait_until_started(parts[plays[number].group].consumers)  # before the next: that costs seconds of CPU
    for part in parts.values():
        cluster.wait_until_joined(part.consumers, sorted({b for queues in part.topics.values() for b in queues}))
    began_ts, began = now_ms(), time.monotonic()
    while due:
        at_s, number = heappop(due)
        time.sleep(max(0, began + at_s - time.monotonic()))
        if (next_s := next(acts[number], None)) is not None:
            heappush(due, (next_s, number))
    time.sleep(max(0, began + until_s - time.monotonic()))
    return began_ts, parts
