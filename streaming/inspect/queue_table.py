"""The tables of a group's queues on a terminal: one for each topic, equal queues in one row."""

from collections.abc import Iterator, Sequence

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from streaming.inspect.members import total, total_lag
from streaming.inspect.snapshot import InspectedGroup, InspectedQueue
from streaming.snapshots import columns
from streaming.snapshots.group_lines import NOT_JUDGED, queue_cells
from streaming.snapshots.lines import Line
from streaming.wording.lists import grouped, joined
from streaming.wording.names import cut, named
from streaming.wording.numbers import counted, rate, short

MOST_ROWS = 40  # unless all are asked for
NOTHING_WRONG = (Kind.MATCH.value, Kind.EXCLUDED.value, Kind.NO_MEMBERS.value)
COLUMNS = (
    columns.text("queues"),
    columns.number("n"),
    columns.name("owner"),
    columns.name("expected"),
    columns.number("in/s"),
    columns.number("out/s"),
    columns.number("lag"),
    columns.Column("finding"),
)


def queue_tables(group: InspectedGroup, width: int, everything: bool) -> Iterator[list[Line]]:
    """Retry topics only where one of their queues stands out."""
    for topic, queues in grouped(group.queues or (), lambda queue: queue.topic).items():
        if everything or not is_retry_topic(topic) or any(map(_stands_out, queues)):
            title = cut(f"{topic}: {counted(len(queues), 'queue')}, {message_flow(queues)}", width)
            yield [Line(title, "bold"), *_rows(queues, width, everything)]


def message_flow(queues: Sequence[InspectedQueue]) -> str:
    """``in 32.0/s, out 24.0/s, lag 64``; and of how many queues the lag is known, if not of all."""
    known = sum(queue.lag is not None for queue in queues)
    of_some = f" in {known} of {len(queues)}" if 0 < known < len(queues) else ""
    rate_in, rate_out, lag = _flow_cells(queues)
    return f"in {rate_in}/s, out {rate_out}/s, lag {lag}{of_some}"


def _flow_cells(queues: Sequence[InspectedQueue]) -> list[str]:
    return [
        rate(total(queue.in_per_s for queue in queues)),
        rate(total(queue.out_per_s for queue in queues)),
        short(total_lag(queues)),
    ]


def _stands_out(queue: InspectedQueue) -> bool:
    is_odd = not queue.readable or not queue.writable or queue.hot
    is_odd = is_odd or queue.still_s is not None or queue.stands_s is not None
    return queue.finding not in NOTHING_WRONG or is_odd


def _rows(queues: Sequence[InspectedQueue], width: int, everything: bool) -> Iterator[Line]:
    alike = sorted(grouped(queues, _shown_of).values(), key=lambda those: not _stands_out(those[0]))
    shown = alike if everything else alike[:MOST_ROWS]
    yield from columns.table(COLUMNS, [(_cells(those), _style(those[0])) for those in shown], width)
    if left := sum(map(len, alike[len(shown) :])):
        yield Line(f"... {left} more queues; --verbose shows all", "dim")


def _shown_of(queue: InspectedQueue) -> tuple[object, ...]:
    """What a row shows besides numbers and offsets."""
    waits = (queue.still_s is None, queue.stands_s is None, queue.lag is None)
    rights = (queue.readable, queue.writable)
    return queue.owners, queue.expected, queue.finding, queue.may_be, rights, queue.hot, waits


def _style(queue: InspectedQueue) -> str:
    if not _stands_out(queue):
        return "dim" if queue.finding == Kind.EXCLUDED.value else ""
    return "yellow" if queue.finding in (*NOTHING_WRONG, *NOT_JUDGED, None) else "red"


def _cells(alike: Sequence[InspectedQueue]) -> list[str]:
    return [*queue_cells(alike, _owner(alike[0])), *_flow_cells(alike), _finding(alike[0])]


def _owner(queue: InspectedQueue) -> str:
    """A queue that cannot be read has no owner in any case."""
    if queue.owners:
        return named(queue.owners)
    if queue.finding is None:
        return ""
    if queue.finding == Kind.EXCLUDED.value:
        return "-"
    return "not known" if queue.owners is None else named(())


def _finding(queue: InspectedQueue) -> str:
    finding = queue.finding or ("not read" if queue.writable else "")
    if queue.may_be:
        finding = f"{queue.may_be}?"
    elif queue.still_s is not None and queue.finding == Kind.MATCH.value:
        finding = "STALLED?"
    elif queue.stands_s is not None and queue.finding == Kind.MATCH.value:
        finding = "SLOW_CONSUMER?"
    not_written = "not written" if queue.readable and not queue.writable else ""
    return joined(finding, not_written, "HOT" if queue.hot else "", by=", ")
