"""Which queues consume stats do not name, and when these are asked for one by one."""

from schemas.events import RouteQueues
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS
from streaming.collector.probing.queues_beyond_read import ASKED_AT_ONCE, QueuesBeyondRead
from streaming.collector.translation.routes import KnownRoute
from streaming.collector.wire.answers import OffsetRow
from streaming.core.intake.size_limits import QUEUES_AT_MOST


def route(*queues: tuple[str, int, int], static: bool = False, perm: int = 6) -> KnownRoute:
    return KnownRoute(tuple(RouteQueues(name, read, write, perm) for name, read, write in queues), static)


def due(queues: QueuesBeyondRead, broker: str = "a", now: int = 0, named: int = 0) -> list[int]:
    rows = [OffsetRow("T", queue_id, broker) for queue_id in range(named)]
    return [queue_id for _, queue_id in queues.due(broker, rows, now)]


def test_nothing_is_asked_where_consume_stats_name_every_queue() -> None:
    """Nor where read permission is missing: a broker names the queues below readQueueNums all the same."""
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 4, 4), ("b", 8, 4), perm=2)}, 0)
    assert due(queues, "a") == due(queues, "b") == []


def test_queues_beyond_the_readable_ones_are() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 2, 4), ("b", 4, 4))}, 0)
    assert due(queues, "a") == [2, 3]
    assert due(queues, "b") == []


def test_a_route_of_countless_queues_takes_no_memory_for_each() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 2, 2**31 - 1), ("b", 2**31 - 1, 4))}, 0)
    assert due(queues, "a") == list(range(2, 2 + ASKED_AT_ONCE))
    assert due(queues, "b") == []
    assert route(("b", 2**31 - 1, 4)).read_queue_nums() == {"b": QUEUES_AT_MOST}


def test_queues_of_a_static_topic_are_not() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 2, 4), static=True)}, 0)
    assert due(queues) == []


def test_queues_that_left_the_route_are_for_a_while() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 4, 4))}, 0)
    queues.routed({"T": route(("a", 2, 2))}, 1)
    assert due(queues, now=1) == [2, 3]
    queues.routed({"T": route(("b", 4, 4))}, 2)  # the broker has the topic no more
    assert due(queues, now=2, named=1) == [1, 2, 3]
    queues.routed({"T": route(("b", 4, 4))}, KEEP_WATCHING_MS + 2)
    assert due(queues, now=KEEP_WATCHING_MS + 2) == []


def test_a_route_that_is_not_known_takes_no_queue_away() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 4, 4))}, 0)
    queues.routed({}, 1)
    assert due(queues, now=1) == []


def test_many_queues_take_turns() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 0, 3 * ASKED_AT_ONCE))}, 0)
    asked = [due(queues, now=now) for now in (1, 2, 3, 4)]
    assert [len(those) for those in asked] == [ASKED_AT_ONCE] * 4
    assert sorted(asked[0] + asked[1] + asked[2]) == list(range(3 * ASKED_AT_ONCE))
    assert asked[3] == asked[0]


def test_what_was_answered_is_known_until_it_is_not_asked_for_any_more() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 2, 4))}, 0)
    queues.due("a", [], 0)
    rows = [OffsetRow("T", 2, "a", 10, 4), OffsetRow("T", 3, "a", 9, None)]
    queues.answered("a", rows)
    assert queues.known("a") == rows
    assert queues.known("b") == []
    queues.routed({"T": route(("a", 4, 4))}, 1)
    queues.due("a", [], 1)
    assert queues.known("a") == []


def test_what_it_costs_is_bounded() -> None:
    queues = QueuesBeyondRead()
    queues.routed({"T": route(("a", 2, 4), ("b", 1, 1_024))}, 0)
    queues.due("a", [], 0)
    queues.due("b", [], 0)
    assert [queues.number_on(broker) for broker in ("a", "b", "c")] == [2, ASKED_AT_ONCE, 0]
