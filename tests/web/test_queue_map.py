"""The map: which mark stands where, and what a large group leaves out."""

from itertools import pairwise

import pytest

from schemas.facts import Kind, MemberFact
from streaming.explain.snapshot import ExplainedGroup, ExplainedQueue
from streaming.web.views.queue_map import MOST_COLUMNS_AT_FIRST, QueueMap, level_of, queue_map


def queue(
    number: int, finding: str, owners: tuple[str, ...] | None, expected: tuple[str, ...] | None, topic: str = "T"
) -> ExplainedQueue:
    return ExplainedQueue(
        topic=topic, broker_name="a", queue_id=number, finding=finding, owners=owners, expected=expected, since_ts=0,
        told_ts=0,
    )  # fmt: skip


def group(*queues: ExplainedQueue, members: tuple[str, ...] = ("x", "y")) -> ExplainedGroup:
    return ExplainedGroup(
        cluster="c", group="g", ts=0, status="findings", reason=None, newest_ts=0, monitor=None, status_ts=0, counts={},
        brokers_covered=1, brokers_known=1, members_reporting=2, views=(), queues=queues, alerts=(), unalerted=(),
        changes=(), members=tuple(MemberFact(client_id=one, present=True, since_ts=0) for one in members),
    )  # fmt: skip


def marks(drawn: QueueMap) -> set[tuple[int, str, str]]:
    """Queue, row and mark of each cell."""
    names = {row.y: row.name or row.kind for row in drawn.rows}
    return {(cell.queue.queue_id, names[cell.y], cell.mark) for cell in drawn.cells}


@pytest.mark.parametrize(
    ("one", "drawn"),
    [
        (queue(0, "MATCH", ("x",), ("x",)), {(0, "x", "match")}),
        (queue(0, "DUPLICATED", ("x", "y"), ("x",)), {(0, "x", "duplicated"), (0, "y", "duplicated")}),
        (queue(0, "DUPLICATED", ("x", "x"), ("x",)), {(0, "x", "duplicated")}),
        (queue(0, "ORPHANED", (), ("y",)), {(0, "nobody", "orphaned"), (0, "y", "expected")}),
        (queue(0, "ORPHANED", (), ()), {(0, "nobody", "orphaned")}),
        (queue(0, "MISPLACED", ("x",), ("y",)), {(0, "x", "misplaced"), (0, "y", "expected")}),
        (queue(0, "PHANTOM", ("x",), None), {(0, "x", "phantom")}),
        (queue(0, "STALLED", ("x",), ("x",)), {(0, "x", "stalled")}),
        (queue(0, "STALLED", None, ("x",)), {(0, "not_known", "stalled"), (0, "x", "expected")}),
        (queue(0, "SLOW_CONSUMER", ("x",), ("x",)), {(0, "x", "slow")}),
        (queue(0, "UNKNOWN", None, None), {(0, "not_known", "unknown")}),
        (queue(0, "UNKNOWN", ("x",), None), {(0, "x", "held")}),
        (queue(0, "SETTLING", None, ("x",)), {(0, "not_known", "settling"), (0, "x", "expected")}),
        (queue(0, "EXCLUDED", None, None), {(0, "not_known", "excluded")}),
        (queue(0, "EXCLUDED", None, ("x", "gone")), {(0, "not_known", "excluded")}),
        (queue(0, "NO_MEMBERS", (), None), {(0, "nobody", "orphaned")}),
        (queue(0, "NEW_KIND", None, None), {(0, "not_known", "unknown")}),
        (queue(0, "NEW_KIND", ("gone",), None), {(0, "gone", "held")}),
    ],
)
def test_each_finding_has_its_marks(one: ExplainedQueue, drawn: set[tuple[int, str, str]]) -> None:
    assert marks(queue_map(group(one))) == drawn


def test_clients_that_are_called_like_a_row_are_clients() -> None:
    drawn = queue_map(group(queue(0, "ORPHANED", (), ("nobody",)), members=("nobody", "not_known")))
    assert [(row.kind, row.name) for row in drawn.rows] == [
        ("nobody", ""), ("client", "nobody"), ("client", "not_known"),
    ]  # fmt: skip
    assert [(cell.mark, cell.y) for cell in drawn.cells] == [
        ("orphaned", drawn.rows[0].y),
        ("expected", drawn.rows[1].y),
    ]


@pytest.mark.parametrize("kind", list(Kind))
def test_every_finding_has_a_level(kind: Kind) -> None:
    assert level_of(kind, "T") in ("critical", "warning", "unknown", "settling", "info", "right")
    assert level_of(kind, "%RETRY%g") not in ("critical", "warning")


def test_a_fifo_listener_that_may_only_be_slow_is_shown_as_information() -> None:
    assert (level_of("HEAD_BLOCKED", "T", "info"), level_of("HEAD_BLOCKED", "T", "warning")) == ("info", "warning")


def test_a_large_group_shows_at_first_what_is_wrong() -> None:
    clients = tuple(f"client-{number:03}" for number in range(200))
    queues = [queue(n, "MATCH", (clients[n % 200],), (clients[n % 200],)) for n in range(1024)]
    queues[7] = queue(7, "ORPHANED", (), (clients[7],))
    first = queue_map(group(*queues, members=clients))
    assert (len(first.columns), first.left_out, first.clients_left_out, first.wrong) == (1, 1023, 199, 1)
    everything = queue_map(group(*queues, members=clients), everything=True)
    assert (len(everything.columns), everything.left_out, everything.clients_left_out) == (1024, 0, 0)
    assert len(everything.rows) == 201
    assert len({(column.x, column.queue.name) for column in everything.columns}) == 1024
    xs = sorted(column.x for column in everything.columns)
    assert min(b - a for a, b in pairwise(xs)) >= everything.size


def test_a_small_group_shows_everything() -> None:
    queues = [queue(n, "MATCH", ("x",), ("x",)) for n in range(MOST_COLUMNS_AT_FIRST)]
    drawn = queue_map(group(*queues))
    assert (len(drawn.columns), drawn.left_out, drawn.wrong) == (MOST_COLUMNS_AT_FIRST, 0, 0)
    assert [row.name for row in drawn.rows] == ["x", "y"]


def test_a_group_without_queues_has_an_empty_map() -> None:
    drawn = queue_map(group())
    assert (drawn.columns, drawn.cells, drawn.left_out) == ((), (), 0)
