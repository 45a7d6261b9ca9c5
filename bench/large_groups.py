"""Groups of 2,000 clients and 4,096 queues with the same fault everywhere: shapes of the largest groups.

A rule that reads all members for each queue takes seconds here.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from bench.taking import ROUND_MS, T0, Taking
from schemas.events import (
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    Heartbeat,
    OwnedQueue,
    OwnedQueues,
    QueueProgress,
    Round,
    RouteCopy,
    RouteQueues,
    Subscription,
    TopicRoute,
)
from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely
from streaming.core.allocation.together import allocate_all

PROGRESS_AT_MOST = 1_000  # queues a record
NAMES_IN_A_PART = 4_000
SUBSCRIPTIONS_AT_MOST = 200  # a report


class LargeGroup(Struct, frozen=True, kw_only=True):
    """A large group and its fault. ``owners``: the clients whose queues a client reports, as offsets from itself (0).

    ``everything``: each client reports every queue. ``from_turn``: when clients leave, or the route grows.
    ``busy``: clients report cached messages in their queues. ``is_silent``: no client reports, and brokers know the
    message model. ``written``: how many queues a broker has for each readable one.
    """

    clients: int = 2_000
    queues: int = 4_096
    brokers: int = 4
    topics: int = 1
    owners: tuple[int, ...] = (0,)
    everything: bool = False
    stands_still: bool = False
    busy: bool = False
    is_silent: bool = False
    written: int = 1
    message_model: str = "CLUSTERING"
    leave: int = 0
    excluded: int = 0
    listed_twice: int = 0
    lists_differ: bool = False
    name_servers_differ: bool = False
    route_grows: bool = False
    strategies: tuple[str, ...] = ()
    from_turn: int = 3
    turns: int = 7  # enough for graces to end and alerts to fire

    def events(self, taking: Taking) -> Iterator[AnyEvent]:
        """The events of a turn: routes, reports, offsets, lists."""
        turn = (taking.now - T0) // ROUND_MS
        present = names(self.clients)[self.leave if turn >= self.from_turn else 0 :]
        yield from self._routes(taking, turn)
        yield from self._heartbeat(taking) if self.is_silent else self._reports(taking, frozenset(present))
        yield from self._offsets(taking, turn)
        yield from self._lists(taking, present)

    @property
    def _on_each(self) -> int:
        return self.queues // self.topics // self.brokers

    def _routes(self, taking: Taking, turn: int) -> Iterator[AnyEvent]:
        on_each = self._on_each // 2 if self.route_grows and turn < self.from_turn else self._on_each
        hosts = tuple(RouteQueues(f"b{n}", on_each, on_each * self.written, 6) for n in range(self.brokers))
        half = (RouteCopy(("n2",), hosts[: self.brokers // 2]),) if self.name_servers_differ else None
        for topic in range(self.topics):
            yield taking.say(TopicRoute, topic=f"T{topic}", brokers=hosts, name_servers=("n1",), others=half)

    def _reports(self, taking: Taking, present: frozenset[str]) -> Iterator[AnyEvent]:
        subscriptions = tuple(Subscription(f"T{n}", "*") for n in range(min(self.topics, SUBSCRIPTIONS_AT_MOST)))
        owned = self._owned()
        for place, client_id in enumerate(sorted(names(self.clients))):
            if client_id in present:
                yield taking.say(
                    AssignmentReport, client_id=client_id, answered=True, answered_ts=taking.now, start_ts=T0,
                    message_model=self.message_model, subscriptions=subscriptions, owned=owned[place],
                    strategy=self.strategies[place % len(self.strategies)] if self.strategies else taking.strategy,
                    client_rebalance=False if place < self.excluded else None,
                )  # fmt: skip

    def _heartbeat(self, taking: Taking) -> Iterator[AnyEvent]:
        client_id = names(1)[0]
        yield taking.say(
            Heartbeat, broker_name="b0", client_id=client_id, observed="listed", message_model=self.message_model
        )  # fmt: skip

    def _owned(self) -> list[tuple[OwnedQueues, ...]]:
        """The reported queues of each client, in the order of ids."""
        if self.everything:
            every = [MessageQueue("T0", f"b{b}", n) for b in range(self.brokers) for n in range(self._on_each)]
            return [_by_broker(every, self.busy)] * self.clients
        shares: list[list[MessageQueue]] = [[] for _ in range(self.clients)]
        ids = sorted(names(self.clients))
        for topic in range(self.topics):
            queues = [MessageQueue(f"T{topic}", f"b{b}", n) for b in range(self.brokers) for n in range(self._on_each)]
            for place, share in enumerate(allocate_all(Averagely(), queues, ids).shares):
                for further in self.owners:
                    shares[(place + further) % self.clients] += share
        return [_by_broker(share, self.busy) for share in shares]

    def _offsets(self, taking: Taking, turn: int) -> Iterator[AnyEvent]:
        moved = 0 if self.stands_still else turn
        for topic in range(self.topics):
            for broker in range(self.brokers):
                for first in range(0, self._on_each * self.written, PROGRESS_AT_MOST):
                    ids = range(first, min(first + PROGRESS_AT_MOST, self._on_each * self.written))
                    progress = tuple(QueueProgress(n, 100 + moved, 50 + moved, 50 + moved) for n in ids)
                    yield taking.say(ConsumeProgress, topic=f"T{topic}", broker_name=f"b{broker}", queues=progress)

    def _lists(self, taking: Taking, present: Sequence[str]) -> Iterator[AnyEvent]:
        if not self.lists_differ:
            yield from taking.lists([*present, *present[: self.listed_twice]], self.brokers)
            return
        parts = [
            BrokerAnswer(f"b{n}", True, tuple(present[: len(present) // 2] if n % 2 else present))
            for n in range(self.brokers)
        ]
        for part, answer in enumerate(parts):
            yield taking.say(Round, brokers=(answer,), part=part, parts=len(parts))


def names(number: int) -> list[str]:
    return [f"{n:x}@{n:x}" for n in range(number)]


def _by_broker(queues: Sequence[MessageQueue], busy: bool) -> tuple[OwnedQueues, ...]:
    by_broker: dict[tuple[str, str], list[OwnedQueue]] = {}
    for queue in queues:
        by_broker.setdefault((queue.topic, queue.broker_name), []).append(OwnedQueue(queue.queue_id, int(busy)))
    return tuple(OwnedQueues(topic, broker, tuple(ids)) for (topic, broker), ids in by_broker.items())


_NOBODY: tuple[int, ...] = ()
_TWO = ("AllocateMessageQueueAveragely", "AllocateMessageQueueAveragelyByCircle")

LARGE_GROUPS: dict[str, LargeGroup] = {
    "large_right": LargeGroup(),
    "large_misplaced": LargeGroup(owners=(1,)),
    "large_orphaned": LargeGroup(owners=_NOBODY, stands_still=True),
    "large_unknown_strategy": LargeGroup(owners=_NOBODY, stands_still=True, strategies=("Own",)),
    "large_duplicated": LargeGroup(owners=(0, 1)),
    "large_stalled": LargeGroup(stands_still=True, turns=10),
    "large_half_left": LargeGroup(leave=1_000, stands_still=True, turns=10),
    "large_half_excluded": LargeGroup(excluded=1_000, stands_still=True),
    "large_listed_twice": LargeGroup(listed_twice=2_000, owners=(0, 1)),
    "large_lists_differ": LargeGroup(lists_differ=True, owners=_NOBODY, stands_still=True),
    "large_name_servers_differ": LargeGroup(name_servers_differ=True, owners=_NOBODY, stands_still=True),
    "large_route_grows": LargeGroup(route_grows=True, owners=_NOBODY, stands_still=True),
    "large_strategies_differ": LargeGroup(strategies=_TWO, owners=(0, 1)),
    "large_broadcasting_nothing": LargeGroup(message_model="BROADCASTING", owners=_NOBODY),
    "large_broadcasting_shares": LargeGroup(message_model="BROADCASTING"),
    "large_broadcasting": LargeGroup(message_model="BROADCASTING", everything=True, clients=64),
    "large_owned_by_all": LargeGroup(everything=True, clients=64),
    "large_many_topics": LargeGroup(topics=1_024),
    "large_topics_misplaced": LargeGroup(topics=1_024, owners=(1,)),
    "large_topics_orphaned": LargeGroup(topics=1_024, owners=_NOBODY, stands_still=True),
    "large_topics_duplicated": LargeGroup(topics=512, queues=2_048, owners=(0, 1)),
    "large_topics_stalled": LargeGroup(topics=1_024, stands_still=True, turns=10),
    "large_topics_half_left": LargeGroup(topics=1_024, leave=1_000, stands_still=True, turns=10),
    "large_topics_lists_differ": LargeGroup(topics=1_024, lists_differ=True, owners=_NOBODY, stands_still=True),
    "large_topics_strategies_differ": LargeGroup(topics=1_024, strategies=_TWO, owners=_NOBODY, stands_still=True),
    "large_topics_unreadable": LargeGroup(topics=1_024, written=4, stands_still=True),
    "large_many_brokers": LargeGroup(clients=200, brokers=1_024, owners=(1,)),
    "largest_misplaced": LargeGroup(queues=16_384, owners=(1,)),
    "largest_orphaned": LargeGroup(queues=16_384, owners=_NOBODY, stands_still=True),
    "largest_stalled": LargeGroup(queues=16_384, stands_still=True, turns=10),
    "largest_busy": LargeGroup(clients=16, queues=16_384, stands_still=True, busy=True, turns=24),
    "largest_silent": LargeGroup(clients=16_384, queues=16_384, stands_still=True, is_silent=True, turns=10),
    "largest_topics": LargeGroup(clients=16_384, topics=1_024, stands_still=True, is_silent=True, turns=10),
}
