"""What RocketMQ answered about one group up to a moment, read from the answers alone, not from events."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from streaming.collector.wire.answers import (
    SUCCESS,
    SYSTEM_ERROR,
    ConnectionsAnswer,
    ConsumerListAnswer,
    ConsumeStatsAnswer,
    Line,
    RouteAnswer,
    RunningInfoAnswer,
    SubscriptionGroupAnswer,
)

Queue = tuple[str, str, int]
READABLE = 4


class Said(NamedTuple):
    """One answer of one instance."""

    ts: int
    start: str
    owns: frozenset[Queue]
    holds: frozenset[Queue]  # with messages in hand
    strategy: str | None
    subscribes: frozenset[str]
    model: str | None


class Offsets(NamedTuple):
    ts: int
    broker: int
    consumer: int
    pull: int


@dataclass
class Answers:
    """``lists`` are the newest that each broker gave, ``round`` those of the last round: None where there was none."""

    lists: dict[str, Counter[str]] = field(default_factory=dict)
    listed_ts: dict[str, int] = field(default_factory=dict)
    changed_ts: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    round: dict[str, Counter[str] | None] = field(default_factory=dict)
    said: dict[str, list[Said]] = field(default_factory=dict)
    silent_since: dict[str, int] = field(default_factory=dict)
    offsets: dict[Queue, list[Offsets]] = field(default_factory=dict)
    routes: dict[str, list[dict[str, tuple[int, int, int]]]] = field(default_factory=dict)
    addresses: dict[str, set[str]] = field(default_factory=dict)
    profiled: set[str] = field(default_factory=set)
    connected: set[str] = field(default_factory=set)
    pops: bool = False
    _round: dict[str, tuple[int, Counter[str]] | None] = field(default_factory=dict)
    _ended: list[dict[str, tuple[int, Counter[str]] | None]] = field(default_factory=list)

    def end_round(self, counts: bool = True) -> None:
        """Lists are taken together, once the round counts: until then, a look and a page go by those before it."""
        self._ended.append(self._round)
        self._round = {}
        while counts and self._ended:
            self._count(self._ended.pop(0))

    def _count(self, ended: dict[str, tuple[int, Counter[str]] | None]) -> None:
        self.round = dict.fromkeys(self.round)
        for broker, answer in ended.items():
            self.round[broker] = None if answer is None else answer[1]
            if answer is None:
                continue
            ts, listed = answer
            if self.lists.get(broker) != listed:
                self.changed_ts[broker] = ts
                self.changes += len(self.lists.get(broker, Counter()).keys() ^ listed.keys())
            self.lists[broker], self.listed_ts[broker] = listed, ts

    def take(self, line: Line) -> None:
        if isinstance(line, ConsumerListAnswer):
            self._take_list(line)
        elif isinstance(line, ConnectionsAnswer):
            self._take_connections(line)
        elif isinstance(line, RunningInfoAnswer):
            self._take_running_info(line)
        elif isinstance(line, ConsumeStatsAnswer) and line.code == SUCCESS:
            for row in line.table or ():
                numbers = (row.broker_offset, row.consumer_offset, row.pull_offset)
                told = Offsets(line.end_ts, *(-1 if number is None else number for number in numbers))
                self.offsets.setdefault((row.topic, row.broker_name or line.broker, row.queue_id), []).append(told)
        elif isinstance(line, RouteAnswer) and line.body is not None:
            route = {
                q.broker_name: (q.read_queue_nums, q.write_queue_nums, q.perm) for q in line.body.queue_datas or ()
            }
            self.routes.setdefault(line.topic, []).append(route)
        elif isinstance(line, SubscriptionGroupAnswer):
            self.pops |= bool(line.pop_topics)

    def _take_list(self, line: ConsumerListAnswer) -> None:
        if line.code not in (SUCCESS, SYSTEM_ERROR):
            self._round[line.broker] = None
            return
        listed = Counter(line.ids or ()) if line.code == SUCCESS else Counter()
        self._round[line.broker] = (line.end_ts, listed)

    def _take_connections(self, line: ConnectionsAnswer) -> None:
        if line.body is None:
            return
        self.connected.add(line.broker)
        for one in line.body.connection_set or ():
            self.profiled.add(one.client_id)
            if one.address:
                self.addresses.setdefault(one.client_id, set()).add(one.address)

    def _take_running_info(self, line: RunningInfoAnswer) -> None:
        if line.code != SUCCESS:
            self.silent_since.setdefault(line.client_id, line.end_ts)
            return
        self.silent_since.pop(line.client_id, None)
        table = [q for q in line.mq_table or () if not q.droped]
        keys = {(q.topic, q.broker_name, q.queue_id): q for q in table}
        self.pops |= bool(line.mq_pop_table)
        start = str(line.start_timestamp)
        said = Said(
            line.end_ts,
            start,
            frozenset(keys),
            frozenset(key for key, q in keys.items() if q.cached_msg_count),
            line.strategy,
            frozenset(s if isinstance(s, str) else s.topic for s in line.subscriptions or ()),
            line.message_model,
        )
        others = [one for one in self.said.get(line.client_id, []) if one.start != start]
        self.said[line.client_id] = [said, *others][:4]

    # --- what follows from them

    def members(self) -> set[str]:
        return {client_id for listed in self.lists.values() for client_id in listed}

    def hosts(self, topic: str) -> set[str]:
        """Brokers of the topic by its newest route."""
        return set(self.routes[topic][-1]) if topic in self.routes else set()

    def members_of(self, topic: str) -> set[str]:
        return {client_id for broker in self.hosts(topic) for client_id in self.lists.get(broker, ())}

    def owners(self, queue: Queue) -> set[str]:
        """The clients that said that they own it, in the newest answer of some instance."""
        return {client_id for client_id, said in self.said.items() for one in said if queue in one.owns}

    def all_have_spoken(self, topic: str) -> bool:
        """Every member, after the lists of the topic's brokers last changed."""
        changed = max((self.changed_ts.get(broker, 0) for broker in self.hosts(topic)), default=0)
        return all(
            any(one.ts > changed for one in self.said.get(client_id, ())) for client_id in self.members_of(topic)
        )

    def is_covered(self, topic: str, now: int) -> bool:
        """Whether every broker of the topic gave its list within 20 s, by markers, which come up to a round later."""
        hosts = self.hosts(topic)
        return bool(hosts) and all(now - self.listed_ts.get(broker, 0) <= 25_000 for broker in hosts)

    def topics(self) -> set[str]:
        """Topics that members say they subscribe to."""
        return {topic for said in self.said.values() for one in said for topic in one.subscribes}

    def not_pulled_ms(self, queue: Queue) -> int:
        """For how long messages have waited to be pulled and neither offset has moved, by what was told."""
        samples = self.offsets.get(queue, [])
        if not samples or samples[-1].broker <= max(samples[-1].pull, samples[-1].consumer):
            return 0
        return _alike_ms(samples, lambda one: (one.consumer, one.pull))

    def not_consumed_ms(self, queue: Queue) -> int:
        """For how long messages have waited to be consumed and the group's offset has not moved, by what was told."""
        samples = self.offsets.get(queue, [])
        if not samples or samples[-1].broker <= samples[-1].consumer:
            return 0
        return _alike_ms(samples, lambda one: one.consumer)

    def are_pulled(self, queue: Queue) -> bool:
        """Whether the broker told of messages that were pulled and not consumed."""
        samples = self.offsets.get(queue, [])
        return bool(samples) and samples[-1].pull > samples[-1].consumer

    def route_of(self, queue: Queue) -> tuple[int, int, int] | None:
        topic, broker, _ = queue
        return self.routes[topic][-1].get(broker) if topic in self.routes else None


def _alike_ms(samples: list[Offsets], of: Callable[[Offsets], object]) -> int:
    """For how long the newest sample and those right before it have been the same."""
    alike = takewhile(lambda one: of(one) == of(samples[-1]), reversed(samples))
    return samples[-1].ts - min(one.ts for one in alike)
