"""One consumer group of the fleet: its clients, who owns what, and its events as templates."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Literal

from bench.templates import COMMON_GAPS, GAP, template
from schemas.events import (
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    OwnedQueue,
    OwnedQueues,
    QueueProgress,
    Round,
    RouteQueues,
    Subscription,
    TopicRoute,
)
from schemas.identity import MessageQueue, retry_topic
from streaming.core.allocation import Averagely, allocate_all

if TYPE_CHECKING:
    from bench.fleet import Shape

REPORT_EVERY, HEARTBEAT_EVERY, PROGRESS_EVERY, ROUTE_EVERY = 4, 6, 4, 12  # rounds
ANSWER_MS, ROUND_TAKES_MS = 300, 1_000
PERM_READ_WRITE = 6
# Rounds while a group is introduced, as far apart as its clock allows: at the end its joins are no longer recent, nor
# is the news of its topics, so that the reports of the last one count at once.
INTRODUCTION_MS = (0, 20_000, 70_000, 180_000, 310_000)
ROUTES_AT_MS = 240_000
NO_CHANGE: list[bytes] = []


class FleetGroup:
    """``source`` is the producer's; ``seq`` counts on from event to event as the collector's does."""

    def __init__(self, cluster: str, shape: Shape, number: int, start_ts: int, seed: int) -> None:
        self._random = Random(seed * 1_000_003 + number)
        self._shape, self._number, self._start_ts = shape, number, start_ts
        word = "".join(self._random.choices("abcdefghijklmnopqrstuvwxyz", k=9))
        self.name = f"{word}-{number:05d}-consumer"
        self._common: dict[str, Any] = {"schema": 1, "cluster": cluster, "group": self.name, "source": "collector-7f3a"}
        self._topic, self._retry = f"{word}-{number:05d}-events", retry_topic(self.name)
        each = shape.queues // len(shape.brokers)
        self._queues = [MessageQueue(self._topic, b, q) for b in shape.brokers for q in range(each)]
        self._retries = [MessageQueue(self._retry, b, 0) for b in shape.brokers]
        self._offsets = {q: self._new_offsets(q) for q in (*self._queues, *self._retries)}
        self._clients = [self._new_client() for _ in range(shape.clients)]
        self._clings: dict[str, list[MessageQueue]] = {}
        self._seq = self._random.randrange(1 << 20)
        self._built = False

    def _new_offsets(self, queue: MessageQueue) -> tuple[int, int, int]:
        """Offset at the start, messages a second, messages in flight; a retry topic stands still."""
        base = self._random.randrange(1 << 33, 1 << 34)
        if queue.topic == self._retry:
            return base, 0, 0
        return base, self._random.randrange(1, 2_000), self._random.randrange(64)

    def _new_client(self) -> _Client:
        random = self._random
        address = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        client_id = f"{address}@{random.randrange(1, 65_536)}#{random.randrange(10**14, 8 * 10**14)}"
        order = [random.random() for _ in self._shape.brokers]  # a broker lists clients in no order
        return _Client(
            client_id, address, random.randrange(20_000, 60_000), order, self._start_ts - random.randrange(10**9)
        )

    def introduce(self, started: int) -> list[bytes]:
        """Everybody is listed; when that has long settled, routes, offsets and everybody's report."""
        self._build()
        events = [self._fill(t, started) for heartbeats in self._heartbeats for t in heartbeats]
        for later_ms in INTRODUCTION_MS[:-1]:
            events.append(self._mark(started + later_ms, self._marks_nobody_asked))
        last = started + INTRODUCTION_MS[-1]
        events += [self._fill(t, started + ROUTES_AT_MS) for t in self._routes]
        events += [self._report(n, last) for n in range(len(self._clients))]
        events += [self._progress(t, queues, last) for t, queues in self._progresses]
        events.append(self._mark(last, self._marks_nobody_asked))
        return events

    def round(self, number: int, started: int, changes: list[bytes] = NO_CHANGE) -> list[bytes]:
        """What a collector publishes of the round that starts at ``started``, in its order."""
        self._build()
        turn = number + self._number
        events = [self._fill(t, started) for t in changes]
        if turn % PROGRESS_EVERY == 0:
            events += [self._progress(t, queues, started) for t, queues in self._progresses]
        events += [self._report(n, started) for n in self._asked(turn)]
        for place in range(-turn % HEARTBEAT_EVERY, len(self._clients), HEARTBEAT_EVERY):
            events += [self._fill(t, started) for t in self._heartbeats[place]]
        if turn % ROUTE_EVERY == 0:
            events += [self._fill(t, started) for t in self._routes]
        events.append(self._mark(started, self._marks[turn % REPORT_EVERY]))
        return events

    def marker_ts(self, started: int) -> int:
        """When the round that starts at ``started`` ends."""
        return started + ROUND_TAKES_MS

    def _asked(self, turn: int) -> range:
        return range(-turn % REPORT_EVERY, len(self._clients), REPORT_EVERY)

    def change(self, clings: bool = False) -> list[bytes]:
        """A client joins, or one leaves; templates for what the collector notices of it."""
        self._build()
        before = self._shares()
        joins = len(self._clients) <= self._shape.clients
        who = self._new_client() if joins else self._clients[self._random.randrange(len(self._clients))]
        if joins:
            self._clients.append(who)
        else:
            self._clients.remove(who)
        self._clings = {}
        if clings:
            clinging = self._random.choice([c for c in self._clients if c is not who]).client_id
            self._clings = {clinging: before[clinging]}
        self._built = False
        change: Literal["appeared", "disappeared"] = "appeared" if joins else "disappeared"
        return [
            template(
                ConsumerChange(
                    **self._common, **COMMON_GAPS, broker_name=broker, client_id=who.client_id, change=change
                )
            )
            for broker in self._shape.brokers
        ]

    def _shares(self) -> dict[str, list[MessageQueue]]:
        """What each client owns: its share of the topic and of the retry topic, and what it clings to."""
        owned: dict[str, list[MessageQueue]] = {client.client_id: [] for client in self._clients}
        for queues in (self._retries, self._queues):
            allocation = allocate_all(Averagely(), queues, owned)
            for client_id, share in zip(allocation.client_ids, allocation.shares, strict=True):
                owned[client_id].extend(share)
        for client_id, queues in self._clings.items():
            owned[client_id] = list(dict.fromkeys((*owned[client_id], *queues)))
        return owned

    def _fill(self, filled: bytes, started: int) -> bytes:
        self._seq += 1
        return filled % (started + ANSWER_MS, started, self._seq)

    def _mark(self, started: int, filled: bytes) -> bytes:
        self._seq += 1
        return filled % (self.marker_ts(started), started, self._seq, started)

    def _report(self, place: int, started: int) -> bytes:
        filled, owned = self._reports[place]
        self._seq += 1
        ts = started + ANSWER_MS + 11 * place
        elapsed = ts - self._start_ts
        numbers = [ts, started, self._seq, ts]
        for base, rate, lag in owned:
            numbers += (base + elapsed * rate // 1000 - lag, ts - 1 - lag, ts - 2 - lag)
        return filled % tuple(numbers)

    def _progress(self, filled: bytes, queues: list[tuple[int, int, int]], started: int) -> bytes:
        self._seq += 1
        ts = started + ANSWER_MS
        elapsed = ts - self._start_ts
        numbers = [ts, started, self._seq]
        for base, rate, lag in queues:
            newest = base + elapsed * rate // 1000
            numbers += (newest, newest - lag, newest - lag // 2)
        return filled % tuple(numbers)

    def _build(self) -> None:
        """Make the templates, at first use and after each change."""
        if self._built:
            return
        self._built = True
        self._heartbeats = [[self._heartbeat(c, b) for b in self._shape.brokers] for c in self._clients]
        shares = self._shares()
        self._reports = [self._report_of(c, shares[c.client_id]) for c in self._clients]
        self._progresses = [self._progress_of(qs) for qs in self._by_topic_and_broker([*self._queues, *self._retries])]
        self._routes = [self._route(self._topic, self._queues), self._route(self._retry, self._retries)]
        self._marks_nobody_asked = self._marker(())
        asked = [[self._clients[n].client_id for n in self._asked(turn)] for turn in range(REPORT_EVERY)]
        self._marks = [self._marker(tuple(ids)) for ids in asked]

    def _heartbeat(self, client: _Client, broker: str) -> bytes:
        return template(
            Heartbeat(
                **self._common,
                **COMMON_GAPS,
                broker_name=broker,
                client_id=client.client_id,
                observed="listed",
                addresses=(f"{client.address}:{client.port + len(broker) + self._shape.brokers.index(broker)}",),
                language="JAVA",
                version="V5_3_3",
                message_model="CLUSTERING",
                consume_type="CONSUME_PASSIVELY",
            )
        )

    def _report_of(self, client: _Client, owned: list[MessageQueue]) -> tuple[bytes, list[tuple[int, int, int]]]:
        groups = self._by_topic_and_broker(owned)
        report = AssignmentReport(
            **self._common,
            **COMMON_GAPS,
            client_id=client.client_id,
            answered=True,
            answered_ts=GAP,
            asked_through=self._shape.brokers[0],
            start_ts=client.start_ts,
            strategy="AllocateMessageQueueAveragely",
            orderly=False,
            client_rebalance=True,
            message_model="CLUSTERING",
            version="V5_3_3",
            subscriptions=(Subscription(self._retry, "*", "TAG"), Subscription(self._topic, "*", "TAG")),
            owned=tuple(OwnedQueues(qs[0].topic, qs[0].broker_name, tuple(map(_owned, qs))) for qs in groups),
        )
        return template(report), [self._offsets[q] for qs in groups for q in qs]

    def _progress_of(self, queues: list[MessageQueue]) -> tuple[bytes, list[tuple[int, int, int]]]:
        rows = tuple(QueueProgress(q.queue_id, GAP, GAP, GAP) for q in queues)
        first = queues[0]
        event = ConsumeProgress(
            **self._common, **COMMON_GAPS, broker_name=first.broker_name, topic=first.topic, queues=rows
        )
        return template(event), [self._offsets[q] for q in queues]

    def _route(self, topic: str, queues: list[MessageQueue]) -> bytes:
        each = len(queues) // len(self._shape.brokers)
        brokers = tuple(RouteQueues(broker, each, each, PERM_READ_WRITE) for broker in self._shape.brokers)
        return template(TopicRoute(**self._common, **COMMON_GAPS, topic=topic, brokers=brokers))

    def _marker(self, asked: tuple[str, ...]) -> bytes:
        answers = []
        for number, broker in enumerate(self._shape.brokers):
            listed = sorted(self._clients, key=lambda client: client.order[number])
            answers.append(BrokerAnswer(broker, True, tuple(client.client_id for client in listed)))
        return template(
            Round(
                **self._common,
                **COMMON_GAPS,
                brokers=tuple(answers),
                started_ts=GAP,
                asked=asked,
                consume_enable=True,
                orderly=False,
            )
        )

    @staticmethod
    def _by_topic_and_broker(queues: list[MessageQueue]) -> list[list[MessageQueue]]:
        found: dict[tuple[str, str], list[MessageQueue]] = {}
        for queue in sorted(queues):
            found.setdefault((queue.topic, queue.broker_name), []).append(queue)
        return list(found.values())


class _Client:
    __slots__ = ("address", "client_id", "order", "port", "start_ts")

    def __init__(self, client_id: str, address: str, port: int, order: list[float], start_ts: int) -> None:
        self.client_id, self.address, self.port, self.order, self.start_ts = client_id, address, port, order, start_ts


def _owned(queue: MessageQueue) -> OwnedQueue:
    return OwnedQueue(queue.queue_id, commit_offset=GAP, last_pull_ts=GAP, last_consume_ts=GAP)
