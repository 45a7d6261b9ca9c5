"""A group as lines of text: titles of findings, and the tables of its members, its polls, and its queues by topic.

``inspect`` and ``explain`` fill the columns with the values they have. A column without values is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import NamedTuple

from schemas.facts import BrokerPolls, Kind
from schemas.identity import is_proxy, is_retry_topic, proxy_address
from streaming.core.finding_kinds import BY_POLLS, RIGHT, UNDECIDED
from streaming.snapshots.lines import INDENT, Column, Line, Row, indented, paragraph, short_ranges, table
from streaming.snapshots.values import GroupSnapshot, QueueName, QueueSnapshot
from streaming.wording.lists import grouped, joined
from streaming.wording.names import cut, cut_middle, named
from streaming.wording.numbers import counted, short

STATUS_STYLES = {"findings": "bold red", "healthy": "green", "excluded": "dim"}  # any other status: OTHER_STYLE
OTHER_STYLE = "yellow"
ALERT_STYLES = {"pending": "yellow", "firing": "bold red", "resolved": "green"}
MEMBER_COLUMNS = (
    Column("client id", cut=cut_middle),
    Column("instances", right=True),
    Column("address", cut=cut),
    Column("listed by", cut=cut),
    Column("queues", right=True),
    Column("in/s", right=True),
    Column("out/s", right=True),
    Column("lag", right=True),
    Column("version", cut=cut),
    Column("strategy", cut=cut),
    Column("subscribes to", cut=cut),
    Column("member since", cut=cut),
    Column("answered", cut=cut),
)
POLL_COLUMNS = (
    Column("topic", cut=cut_middle),
    Column("broker", cut=cut),
    Column("queues", right=True),
    Column("popped by", cut=cut),
    Column("polls", right=True),
    Column("read", cut=cut),
    Column("last poll", cut=cut),
    Column("taken", cut=cut),
    Column("ready", right=True),
    Column("as of", cut=cut),
)
QUEUE_COLUMNS = (
    Column("queues", cut=cut),
    Column("n", right=True),
    Column("owner", cut=cut_middle),
    Column("expected", cut=cut_middle),
    Column("in/s", right=True),
    Column("out/s", right=True),
    Column("lag", right=True),
    Column("finding"),
    Column("since", cut=cut),
    Column("why", cut=cut),
)
MOST_MEMBERS, MOST_ROWS = 20, 40  # unless the user asks for all


class QueueRow(NamedTuple):
    """Queues of a topic that are alike, and their cells by the columns' heads, besides those of every such row.

    ``stands_out``: they need attention. A topic for retries is left out if none of its queues does.
    """

    queues: Sequence[QueueSnapshot]
    cells: Mapping[str, str]
    stands_out: bool


def status_style(status: str) -> str:
    return STATUS_STYLES.get(status, OTHER_STYLE)


def finding_style(finding: str | None) -> str:
    """The style of a finding. ``finding`` None: the queue is not judged."""
    if finding in RIGHT - {Kind.NO_MEMBERS}:
        return "dim" if finding == Kind.EXCLUDED else ""
    return "yellow" if finding is None or finding == Kind.NO_MEMBERS or finding in UNDECIDED else "red"


def finding_title(kind: str, topic: str | None, queues: Sequence[QueueName]) -> str:
    """``ORPHANED, 2 queues of T: broker-a 0-1``."""
    where = f"{counted(len(queues), 'queue')} of {topic}: {short_ranges(queues)}" if queues else topic or ""
    return f"{kind}, {where}" if where else kind


def member_table(rows: Sequence[Row], width: int, rest: str) -> Iterator[Line]:
    """The table of members. ``rest``: how to see the rows left out; empty: all are shown."""
    yield from indented(table(MEMBER_COLUMNS, rows[: MOST_MEMBERS if rest else None], width - len(INDENT)))
    yield from _left_out(rows[MOST_MEMBERS:], "members", rest)


def listed_by(brokers: Iterable[str], all_brokers: Iterable[str]) -> str:
    """Who lists a member, if proxies list some of the group: it came by one of these."""
    return ", ".join(map(proxy_address, brokers)) if any(map(is_proxy, all_brokers)) else ""


def poll_table(group: GroupSnapshot, width: int, rest: str, when: Callable[[int], str]) -> Iterator[Line]:
    """Where clients that own no queue wait for messages. ``when``: a time in words."""
    polls = group.polls
    if not polls:
        return
    title = "polls that wait at brokers for messages"
    yield Line("")
    yield Line(INDENT + cut(title, width - len(INDENT)), "bold")
    shown = [_poll_row(one, when) for one in polls[: MOST_ROWS if rest else None]]
    yield from indented(table(POLL_COLUMNS, shown, width - len(INDENT)))
    yield from _left_out(polls[MOST_ROWS:], "brokers", rest)
    yield from paragraph(_in_flight(group, when), width, INDENT, "dim")


def _in_flight(group: GroupSnapshot, when: Callable[[int], str]) -> str:
    if group.fifo:
        return "FIFO: messages that clients have and did not acknowledge are among those that wait"
    if group.in_flight is None or group.in_flight_ts is None:
        return "taken and not acknowledged: not known"
    return f"taken and not acknowledged: {counted(group.in_flight, 'message')}, read {when(group.in_flight_ts)}"


def _poll_row(polls: BrokerPolls, when: Callable[[int], str]) -> Row:
    return Row({
        "topic": polls.topic,
        "broker": polls.broker_name,
        "queues": str(polls.queues),
        "popped by": "" if polls.poppers is None else named(polls.poppers),
        "polls": "may not consume" if polls.closed else str(polls.waiting),
        "read": when(polls.read_ts),
        "last poll": "none seen" if polls.polled_ts is None else when(polls.polled_ts),
        "taken": "none seen" if polls.taken_ts is None else when(polls.taken_ts),
        "ready": "not known" if polls.ready is None else short(polls.ready),
        "as of": "" if polls.ready_ts is None else when(polls.ready_ts),
    })  # fmt: skip


def queue_tables(
    rows: Iterable[QueueRow], width: int, rest: str, flows: Mapping[str, str] | None = None
) -> Iterator[Line]:
    """A table for each topic: queues that need attention come first. ``flows``: of topics, for their titles."""
    for topic, those in grouped(rows, lambda row: row.queues[0].topic).items():
        if rest and is_retry_topic(topic) and not any(row.stands_out for row in those):
            continue
        number = counted(sum(len(row.queues) for row in those), "queue")
        title = joined(f"{topic}: {number}", (flows or {}).get(topic, ""), by=", ")
        in_order = sorted(those, key=lambda row: not row.stands_out)
        yield Line("")
        yield Line(INDENT + cut(title, width - len(INDENT)), "bold")
        shown = [_queue_row(row) for row in in_order[: MOST_ROWS if rest else None]]
        yield from indented(table(QUEUE_COLUMNS, shown, width - len(INDENT)))
        yield from _left_out([queue for row in in_order[MOST_ROWS:] for queue in row.queues], "queues", rest)


def _left_out(those: Sized, what: str, rest: str) -> Iterator[Line]:
    if rest and len(those):
        yield Line(f"{INDENT}... {len(those)} more {what}; {rest}", "dim")


def _queue_row(row: QueueRow) -> Row:
    first = row.queues[0]
    cells = {
        "queues": short_ranges(queue.name for queue in row.queues),
        "n": str(len(row.queues)),
        "owner": _owner(first),
        "expected": _should_own(first),
    }
    is_odd = row.stands_out and first.finding in RIGHT
    return Row({**cells, **row.cells}, "yellow" if is_odd else finding_style(first.finding))


def _owner(queue: QueueSnapshot) -> str:
    """The owner. A queue that cannot be read has none in any case."""
    if queue.owners:
        return named(queue.owners)
    if queue.finding is None:
        return ""
    if queue.finding == Kind.EXCLUDED or queue.finding in BY_POLLS:
        return "-"
    return "not known" if queue.owners is None else named(())


def _should_own(queue: QueueSnapshot) -> str:
    """The expected owners; empty if they are the owners, or not known. Two instances of one id are never both right."""
    if queue.expected is None:
        return ""
    if not queue.expected:
        return "no client"
    if queue.expected != queue.owners:
        return named(queue.expected)
    return "one of these" if queue.finding == Kind.DUPLICATED else ""
