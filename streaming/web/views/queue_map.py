"""The map of queues and clients: owners, expected owners and findings of each queue. Geometry for one SVG.

A column is a queue, a row is a client. Above the clients is a row for queues that no client owns, one for queues
with unknown owners, and one for those whose messages clients take by POP. Widths are those of columns at their
largest. A browser draws them narrower if there is less room.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from schemas.facts import Kind, Severity
from schemas.identity import is_retry_topic
from streaming.core.finding_kinds import Meaning, row_of
from streaming.explain.snapshot import ExplainedGroup, ExplainedQueue
from streaming.wording.lists import grouped

MOST_COLUMNS_AT_FIRST = 160
MOST_ROWS_AT_FIRST = 60
MOST_COLUMNS = 4_096
MOST_ROWS = 1_000
NOBODY, NOT_KNOWN, ANYBODY = "nobody", "not_known", "anybody"
SIZE = 28  # of a column at its largest
LEAST_SIZES = (MOST_COLUMNS_AT_FIRST, 14), (400, 10)  # up to so many columns; narrower if there are more
LEAST_ON_A_PHONE = 7
HEIGHTS = (10, 26), (18, 20)  # up to so many rows: high if all rows fit on the screen
TOP = 46
TOPIC_GAP, BROKER_GAP = 28, 10

MARK_OF_OWNER: dict[str, str] = {
    Kind.MATCH: "match",
    Kind.DUPLICATED: "duplicated",
    Kind.STALLED: "stalled",
    Kind.SLOW_CONSUMER: "slow",
    Kind.MISPLACED: "misplaced",
    Kind.PHANTOM: "phantom",
}
MARK_WITHOUT_OWNER: dict[str, str] = {
    Kind.ORPHANED: "orphaned",
    Kind.NO_MEMBERS: "orphaned",
    Kind.STALLED: "stalled",
    Kind.SLOW_CONSUMER: "slow",
    Kind.SETTLING: "settling",
    Kind.EXCLUDED: "excluded",
    Kind.CONSUME_DISABLED: "excluded",
    Kind.UNPOLLED: "unpolled",
    Kind.HEAD_BLOCKED: "blocked",
    Kind.POLLED: "polled",
}


class Cell(NamedTuple):
    """A cell. ``x`` and ``y`` of its upper left corner; ``owners`` and ``expected`` are for its text."""

    x: int
    y: int
    mark: str
    queue: ExplainedQueue
    instances: int


class Column(NamedTuple):
    x: int
    queue: ExplainedQueue
    level: str


class Row(NamedTuple):
    """A row. ``kind``: client, absent (no member, but an owner or expected owner), nobody, not_known or anybody."""

    y: int
    kind: str
    name: str


class Band(NamedTuple):
    """A topic or broker above its queues."""

    x: int
    width: int
    name: str


class QueueMap(NamedTuple):
    """The map. ``left_out`` and ``clients_left_out`` count what is not shown; ``is_cut``: some wanted queues are not.

    ``width``: at its largest; ``least`` and ``least_on_a_phone``: at its smallest.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    cells: tuple[Cell, ...]
    topics: tuple[Band, ...]
    brokers: tuple[Band, ...]
    marks: tuple[str, ...]
    size: int
    row_height: int
    width: int
    least: int
    least_on_a_phone: int
    height: int
    left_out: int
    clients_left_out: int
    is_cut: bool
    wrong: int


def queue_map(group: ExplainedGroup, everything: bool = False) -> QueueMap:
    """The map. For a large group it shows only queues with findings; ``everything``: as many queues as can be drawn.

    Retry queues without findings are left out at first for any group.
    """
    wrong = [queue for queue in group.queues if not _is_right(queue)]
    usual = [queue for queue in group.queues if not (is_retry_topic(queue.topic) and _is_right(queue))]
    is_large = len(group.queues) > MOST_COLUMNS_AT_FIRST or len(group.members) > MOST_ROWS_AT_FIRST
    shown = group.queues if everything else wrong if is_large else usual
    most = MOST_COLUMNS if everything else 2 * MOST_COLUMNS_AT_FIRST
    queues = sorted(shown, key=lambda queue: (is_retry_topic(queue.topic), queue.topic, *queue.name))[:most]
    columns, topics, brokers, width = _columns(queues)
    rows, clients_left_out = _rows(group, queues, everything or not is_large)
    height = next((height for most, height in HEIGHTS if len(rows) <= most), 16)
    least = next((size for most, size in LEAST_SIZES if len(queues) <= most), 8)
    rows = tuple(row._replace(y=TOP + place * height) for place, row in enumerate(rows))
    cells = tuple(_cells(columns, rows, polled_places(group)))
    return QueueMap(
        columns=columns,
        rows=rows,
        cells=cells,
        topics=topics,
        brokers=brokers,
        marks=tuple(dict.fromkeys(cell.mark for cell in cells)),
        size=SIZE,
        row_height=height,
        width=width,
        least=width * least // SIZE,
        least_on_a_phone=width * LEAST_ON_A_PHONE // SIZE,
        height=TOP + height * len(rows) + 4,
        left_out=len(group.queues) - len(queues),
        clients_left_out=clients_left_out,
        is_cut=len(shown) > len(queues),
        wrong=len(wrong),
    )


def level_of(finding: str, topic: str, severity: str | None = None) -> str:
    """The level of attention that a queue needs: critical, warning, unknown, settling, info or right.

    ``severity``: by its own evidence; None: that of the finding.
    """
    row = row_of(finding)
    if finding == Kind.NO_MEMBERS:
        return "info" if is_retry_topic(topic) else "warning"
    if row is None or row.meaning is Meaning.UNDECIDED:
        return "settling" if finding == Kind.SETTLING else "unknown"
    if row.meaning is Meaning.RIGHT:
        return "right"
    if is_retry_topic(topic) or severity == Severity.INFO or row.severity in (Severity.INFO, Severity.NONE):
        return "info"
    return "critical" if row.severity is Severity.CRITICAL else "warning"


def _is_right(queue: ExplainedQueue) -> bool:
    return level_of(queue.finding, queue.topic) == "right"


def _missing(queue: ExplainedQueue) -> tuple[str, ...]:
    """The expected owners, if they may differ from the owner."""
    return () if _is_right(queue) else queue.expected or ()


def _columns(queues: Sequence[ExplainedQueue]) -> tuple[tuple[Column, ...], tuple[Band, ...], tuple[Band, ...], int]:
    columns: list[Column] = []
    topics: list[Band] = []
    brokers: list[Band] = []
    x = 0
    for topic, of_topic in grouped(queues, lambda queue: queue.topic).items():
        x += TOPIC_GAP if columns else 0
        topic_begin = x
        for number, (broker, those) in enumerate(grouped(of_topic, lambda queue: queue.broker_name).items()):
            x += BROKER_GAP if number else 0
            brokers.append(Band(x, len(those) * SIZE, broker))
            columns += [
                Column(x + place * SIZE, queue, level_of(queue.finding, topic, queue.severity))
                for place, queue in enumerate(those)
            ]
            x += len(those) * SIZE
        topics.append(Band(topic_begin, x - topic_begin, topic))
    return tuple(columns), tuple(topics), tuple(brokers), max(x, 1)


def polled_places(group: ExplainedGroup) -> frozenset[tuple[str, str]]:
    """Topics on brokers where clients poll for messages."""
    return frozenset((one.topic, one.broker_name) for one in group.polls)


def is_by_pop(queue: ExplainedQueue, polled: Collection[tuple[str, str]]) -> bool:
    """True if no client owns the queue because clients poll for its messages. ``polled``: ``polled_places``."""
    return queue.owners is None and (queue.topic, queue.broker_name) in polled


def _row_of_unowned(queue: ExplainedQueue, polled: Collection[tuple[str, str]]) -> str:
    if is_by_pop(queue, polled):
        return ANYBODY
    return NOT_KNOWN if queue.owners is None else NOBODY


def _rows(group: ExplainedGroup, queues: Sequence[ExplainedQueue], everybody: bool) -> tuple[tuple[Row, ...], int]:
    members = [member.client_id for member in group.members]
    named = {client for queue in queues for client in (*(queue.owners or ()), *_missing(queue))}
    absent = sorted(named - set(members))
    present = members if everybody else [client for client in members if client in named]
    polled = polled_places(group)
    unowned = {_row_of_unowned(queue, polled) for queue in queues if not queue.owners}
    rows = [(kind, "") for kind in (NOBODY, NOT_KNOWN, ANYBODY) if kind in unowned]
    rows += [("client", name) for name in present[:MOST_ROWS]]
    rows += [("absent", name) for name in absent[:MOST_ROWS]]
    left_out = len(members) + len(absent) - sum(kind in ("client", "absent") for kind, _ in rows)
    return tuple(Row(TOP, kind, name) for kind, name in rows), left_out


def _cells(columns: Iterable[Column], rows: Iterable[Row], polled: Collection[tuple[str, str]]) -> Iterable[Cell]:
    y_of = {row.name: row.y for row in rows if row.kind in ("client", "absent")}
    y_of_none = {row.kind: row.y for row in rows}
    for column in columns:
        queue = column.queue
        owners = Counter(queue.owners or ())
        for owner, instances in owners.items():
            if owner in y_of:
                yield Cell(column.x, y_of[owner], MARK_OF_OWNER.get(queue.finding, "held"), queue, instances)
        if not owners:
            y = y_of_none[_row_of_unowned(queue, polled)]
            yield Cell(column.x, y, MARK_WITHOUT_OWNER.get(queue.finding, "unknown"), queue, 0)
        for client in dict.fromkeys(_missing(queue)):
            if client not in owners and client in y_of:
                yield Cell(column.x, y_of[client], "expected", queue, 0)
