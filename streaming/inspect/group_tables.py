"""The tables of one group: its members, and for each topic its queues, those alike in one row."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from schemas.facts import Kind
from schemas.identity import is_retry_topic, without_host
from streaming.inspect.members import total, total_lag
from streaming.inspect.snapshot import GroupSnapshot, Member, Queue
from streaming.snapshots import columns
from streaming.snapshots.lines import Row, numbers
from streaming.wording.names import cut, named
from streaming.wording.numbers import age, counted, rate, short

MEMBER_ROWS = 20  # and as many rows of queues, unless all are asked for
QUEUE_ROWS = 40
NOT_KNOWN = "not known"
NOTHING_FOUND = (Kind.MATCH.value, Kind.EXCLUDED.value, Kind.NO_MEMBERS.value)

MEMBER_COLUMNS = (
    columns.name("client id"),
    columns.number("instances"),
    columns.text("address"),
    columns.number("queues"),
    columns.number("in/s"),
    columns.number("out/s"),
    columns.number("lag"),
    columns.text("answered"),
)
QUEUE_COLUMNS = (
    columns.text("queues"),
    columns.number("n"),
    columns.name("owner"),
    columns.name("expected"),
    columns.number("in/s"),
    columns.number("out/s"),
    columns.number("lag"),
    columns.Column("finding"),
)


def member_table(picture: GroupSnapshot, width: int, everything: bool) -> Iterator[Row]:
    """Those first that gave no answer, then those with too much to do."""
    people = sorted(picture.members or (), key=lambda one: (one.answered, not one.hot))
    shown = people if everything else people[:MEMBER_ROWS]
    if not shown:
        return
    head, *lines = columns.laid_out(MEMBER_COLUMNS, [_member_cells(picture, one) for one in shown], width)
    yield Row(head, "bold")
    for one, line in zip(shown, lines, strict=True):
        yield Row(line, "" if one.answered and not one.hot else "yellow")
    if len(shown) < len(people):
        yield Row(f"... {len(people) - len(shown)} more; --verbose shows all", "dim")


def _member_cells(picture: GroupSnapshot, member: Member) -> list[str]:
    return [
        member.client_id,
        f"{member.instances}?" if member.instances > 1 else "",
        _addresses(member),
        "-" if member.queues is None else str(member.queues),
        rate(member.in_per_s),
        rate(member.out_per_s),
        short(member.lag),
        _answer(picture, member),
    ]


def _addresses(member: Member) -> str:
    """Most client ids begin with their host: of such an address the port is enough."""
    return " ".join(without_host(address, member.client_id) for address in member.addresses or ("-",))


def _answer(picture: GroupSnapshot, member: Member) -> str:
    if not member.answered:
        return f"no: {member.why_not}"
    up = f", up {age(picture.ts - member.started_ts)}" if member.started_ts else ""
    return f"yes{up}{', HOT' if member.hot else ''}"


def queue_tables(picture: GroupSnapshot, width: int, everything: bool) -> Iterator[list[Row]]:
    """A table for each topic; retry queues only where something is to be said of them."""
    by_topic: defaultdict[str, list[Queue]] = defaultdict(list)
    for queue in picture.queues or ():
        by_topic[queue.topic].append(queue)
    for topic, queues in by_topic.items():
        if everything or not is_retry_topic(topic) or any(map(_stands_out, queues)):
            yield [
                Row(cut(f"{topic}: {counted(len(queues), 'queue')}, {flow_words(queues)}", width), "bold"),
                *_queue_rows(queues, width, everything),
            ]


def flow_words(queues: Sequence[Queue]) -> str:
    """How many messages go through queues, and wait in them; and in how many of them, if that is not known of all."""
    rate_in, rate_out = (rate(total(rates)) for rates in ([q.in_per_s for q in queues], [q.out_per_s for q in queues]))
    known = sum(queue.lag is not None for queue in queues)
    of_some = f" in {known} of {len(queues)}" if 0 < known < len(queues) else ""
    return f"in {rate_in}/s, out {rate_out}/s, lag {short(total_lag(queues))}{of_some}"


def _stands_out(queue: Queue) -> bool:
    is_odd = not queue.readable or not queue.writable or queue.hot
    is_odd = is_odd or queue.still_s is not None or queue.stands_s is not None
    return queue.finding not in NOTHING_FOUND or is_odd


def _queue_rows(queues: list[Queue], width: int, everything: bool) -> Iterator[Row]:
    folded = sorted(_folded(queues), key=lambda alike: not _stands_out(alike[0]))
    shown = folded if everything else folded[:QUEUE_ROWS]
    head, *lines = columns.laid_out(QUEUE_COLUMNS, [_queue_cells(alike) for alike in shown], width)
    yield Row(head, "bold")
    for alike, line in zip(shown, lines, strict=True):
        yield Row(line, _style(alike[0]))
    if left := sum(map(len, folded[len(shown) :])):
        yield Row(f"... {left} more queues; --verbose shows all", "dim")


def _style(queue: Queue) -> str:
    if not _stands_out(queue):
        return "dim" if queue.finding == Kind.EXCLUDED.value else ""
    is_found = queue.finding not in (*NOTHING_FOUND, Kind.SETTLING.value, Kind.UNKNOWN.value, None)
    return "red" if is_found else "yellow"


def _folded(queues: Iterable[Queue]) -> list[list[Queue]]:
    """Queues that differ in nothing but their numbers and offsets together, in their order."""
    alike: defaultdict[tuple[object, ...], list[Queue]] = defaultdict(list)
    for q in queues:
        key = (
            q.owners,
            q.expected,
            q.finding,
            q.may_be,
            q.readable,
            q.writable,
            q.hot,
            q.still_s is None,
            q.stands_s is None,
            q.lag is None,
        )
        alike[key].append(q)
    return list(alike.values())


def _queue_cells(alike: list[Queue]) -> list[str]:
    first = alike[0]
    should = "" if first.expected is None or first.expected == first.owners else named(first.expected)
    return [
        numbers((queue.broker_name, queue.queue_id) for queue in alike),
        str(len(alike)),
        _owner(first),
        should,
        rate(total(queue.in_per_s for queue in alike)),
        rate(total(queue.out_per_s for queue in alike)),
        short(total_lag(alike)),
        _finding(alike),
    ]


def _owner(queue: Queue) -> str:
    """Of a queue that cannot be read nobody is the owner anyway."""
    if queue.owners:
        return named(queue.owners)
    if queue.finding is None:
        return ""
    if queue.finding == Kind.EXCLUDED.value:
        return "-"
    return NOT_KNOWN if queue.owners is None else named(())


def _finding(alike: list[Queue]) -> str:
    first = alike[0]
    words = [first.finding or ("not read" if first.writable else "")]
    if first.may_be:
        words = [f"{first.may_be}?"]
    elif first.still_s is not None and first.finding == Kind.MATCH.value:
        words = ["STALLED?"]
    elif first.stands_s is not None and first.finding == Kind.MATCH.value:
        words = ["SLOW_CONSUMER?"]
    if first.readable and not first.writable:
        words.append("not written")
    if first.hot:
        words.append("HOT")
    return ", ".join(filter(None, words))
