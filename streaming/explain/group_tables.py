"""The tables of one group in an explanation: its members, whom the brokers list, and its queues by topic."""

from collections import Counter
from collections.abc import Iterator, Sequence

from schemas.facts import Kind, MemberFact
from schemas.identity import is_retry_topic
from streaming.core.allocation import strategy_of_class
from streaming.explain.reasons import reason_of
from streaming.explain.snapshot import BrokerList, ExplainedGroup, ExplainedQueue
from streaming.explain.times import Moment
from streaming.snapshots import columns
from streaming.snapshots.group_lines import queue_cells
from streaming.snapshots.lines import INDENT, Line, indented, paragraph
from streaming.wording.lists import grouped, joined
from streaming.wording.names import cut, named
from streaming.wording.numbers import counted

MOST_ROWS = 40
STYLES: dict[str, str] = {
    Kind.MATCH: "",
    Kind.EXCLUDED: "dim",
    Kind.UNKNOWN: "yellow",
    Kind.SETTLING: "yellow",
    Kind.NO_MEMBERS: "yellow",
}
MEMBER_COLUMNS = (
    columns.name("client id"),
    columns.number("instances"),
    columns.text("address"),
    columns.number("queues"),
    columns.text("version"),
    columns.text("strategy"),
    columns.text("subscribes to"),
    columns.text("member since"),
)
QUEUE_COLUMNS = (
    columns.text("queues"),
    columns.number("n"),
    columns.name("owner"),
    columns.name("expected"),
    columns.Column("finding"),
    columns.text("since"),
    columns.text("why"),
)


def member_table(group: ExplainedGroup, when: Moment, width: int) -> Iterator[Line]:
    yield Line("")
    if group.members:
        owned = Counter(owner for q in group.queues if not is_retry_topic(q.topic) for owner in q.owners or ())
        rows = [(_member_cells(member, owned[member.client_id], when), "") for member in group.members]
        yield from _table(MEMBER_COLUMNS, rows, "members", width)
    else:
        yield Line("No members.", "yellow")
    yield from _broker_lists(group.views, width)


def _member_cells(member: MemberFact, owned: int, when: Moment) -> list[str]:
    strategy = member.strategy or ""
    return [
        member.client_id,
        str(member.instances) if member.instances > 1 else "",
        " ".join(member.addresses),
        str(owned),
        member.version or "",
        strategy_of_class(strategy) or strategy,
        ", ".join(member.subscriptions),
        when.clock(member.since_ts),
    ]


def _broker_lists(lists: Sequence[BrokerList], width: int) -> Iterator[Line]:
    """Brokers with equal lists in one line; where lists differ, one line each."""
    equal = grouped(lists, lambda one: one.clients)
    for clients, those in equal.items():
        verb = "lists" if len(those) == 1 else "list"
        text = f"{', '.join(one.broker_name for one in those)} {verb} {named(clients)}"
        yield from paragraph(text, width, INDENT, "dim" if len(equal) == 1 else "yellow", 3)


def queue_tables(group: ExplainedGroup, when: Moment, width: int) -> Iterator[Line]:
    """Retry topics only where something was found."""
    for topic, queues in grouped(group.queues, lambda queue: queue.topic).items():
        if is_retry_topic(topic) and all(queue.finding in (Kind.MATCH, Kind.EXCLUDED) for queue in queues):
            continue
        yield Line("")
        yield Line(cut(f"{topic}: {counted(len(queues), 'queue')}", width), "bold")
        alike = grouped(queues, lambda q: (q.finding, q.cause, q.reason, q.owners, q.expected)).values()
        in_order = sorted(alike, key=lambda those: those[0].finding == Kind.MATCH)
        rows = [(_queue_cells(those, when), STYLES.get(those[0].finding, "red")) for those in in_order]
        yield from _table(QUEUE_COLUMNS, rows, "rows", width)


def _queue_cells(alike: Sequence[ExplainedQueue], when: Moment) -> list[str]:
    first = alike[0]
    return [
        *queue_cells(alike, "-" if first.owners is None else named(first.owners)),
        first.finding,
        when.clock(min(queue.since_ts for queue in alike)),
        joined(first.cause, reason_of(first, when.clock)),
    ]


def _table(
    heads: Sequence[columns.Column], rows: Sequence[tuple[list[str], str]], what: str, width: int
) -> Iterator[Line]:
    yield from indented(columns.table(heads, rows[:MOST_ROWS], width - len(INDENT)))
    if len(rows) > MOST_ROWS:
        yield Line(f"{INDENT}... {len(rows) - MOST_ROWS} more {what}; --json has all", "dim")
