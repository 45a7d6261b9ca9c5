"""The picture of a group as lines of text: what is wrong first, then who is there and owns what, then what was."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import NamedTuple

from schemas.facts import AlertState, Kind, MemberFact
from schemas.identity import is_retry_topic
from streaming.core.allocation import strategy_of_class
from streaming.core.settings import Timing
from streaming.explain.snapshot import Alert, GroupSnapshot, Queue, Unalerted, View
from streaming.explain.times import clock, full
from streaming.notices.evidence import with_times
from streaming.snapshots import columns
from streaming.snapshots.lines import Row, numbers, paragraph, without_tricks
from streaming.wording.names import cut, named
from streaming.wording.numbers import age, counted

STATUS_STYLES = {
    "findings": "bold red",
    "settling": "yellow",
    "unknown": "yellow",
    "empty": "yellow",
    "healthy": "green",
}
STATE_STYLES = {"pending": "yellow", "firing": "bold red", "resolved": "green"}
INDENT = "  "
DEEPER = "    "
ROWS_AT_MOST = 40
AS_OF = (Kind.UNKNOWN, Kind.SETTLING)  # their reasons may be others by now
LONG_QUIET_MS = 120_000
SILENT_AFTER_MS = Timing().repeat_status_ms + 300_000

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


class When(NamedTuple):
    """The time of the page, and the zone in which it tells times."""

    ts: int
    zone: tzinfo | None

    def clock(self, ts: int) -> str:
        return clock(ts, self.ts, self.zone)

    def since(self, ts: int) -> str:
        return f"{self.clock(ts)} ({age(self.ts - ts)})"


def lines_of(picture: GroupSnapshot, width: int, zone: tzinfo | None) -> Iterator[Row]:
    """Times are told in ``zone``, None for the machine's own."""
    picture = without_tricks(picture)
    when = When(picture.ts, zone)
    yield Row(cut(f"{picture.cluster}/{picture.group} at {full(picture.ts, zone)}", width), "bold")
    yield from _status(picture, when, width)
    yield Row("")
    yield from _alerts(picture, when, width)
    for one in picture.unalerted:
        yield from _unalerted(one, when, width)
    yield from _members(picture, when, width)
    for topic, queues in _by_topic(picture.queues):
        yield from _queue_table(topic, queues, when, width)
    yield from _changes(picture, when, width)


def _status(picture: GroupSnapshot, when: When, width: int) -> Iterator[Row]:
    if picture.status is None or picture.status_ts is None:
        yield Row("its status had not been told by then", "yellow")
    else:
        reason = f" ({picture.reason})" if picture.reason else ""
        counts = ", ".join(f"{kind} {number}" for kind, number in (picture.counts or {}).items())
        yield Row(
            cut(f"{picture.status.upper()}{reason} since {when.since(picture.status_ts)}: {counts}", width),
            STATUS_STYLES.get(picture.status, "yellow"),
        )
        yield from paragraph(
            f"by then {picture.brokers_covered} of {counted(picture.brokers_known or 0, 'broker')} had answered, and "
            f"{picture.members_reporting} of {counted(len(picture.members), 'client')} had reported",
            width, INDENT, "dim",
        )  # fmt: skip
    yield from paragraph(_doubts(picture, when), width, INDENT, "yellow")


def _doubts(picture: GroupSnapshot, when: When) -> str:
    """Whether what is shown may be out of date, or lack something."""
    monitor = picture.monitor
    if monitor is None:
        is_quiet = picture.ts - picture.newest_ts > LONG_QUIET_MS
        said = f"the newest fact is of {when.since(picture.newest_ts)}: nothing has changed since, or nothing was seen"
        return said if is_quiet else ""
    if picture.ts - max(monitor.seen_ts, picture.newest_ts) > LONG_QUIET_MS:
        since = when.since(monitor.seen_ts)
        return f"evenkeel had seen nothing of {picture.cluster} since {since}: this is what was known then"
    if picture.ts - picture.newest_ts > SILENT_AFTER_MS:
        since = when.since(picture.newest_ts)
        return (
            f"the last round of it that is known of was at {since}, and nothing is known since: "
            "a group's status is told every hour for as long as rounds of it come"
        )
    return "events had been lost shortly before: evidence may be missing" if monitor.status == "data_lost" else ""


def _alerts(picture: GroupSnapshot, when: When, width: int) -> Iterator[Row]:
    if not picture.alerts:
        yield Row("No alert is open, or was within the hour before.")
    for alert in picture.alerts:
        state = f"{alert.state} (stale)" if alert.stale else alert.state
        what = _what(alert.kind, alert.topic, alert.queues)
        style = STATE_STYLES.get(alert.state, "")
        yield from paragraph(f"{state} {alert.severity}: {what}", width, "", style)
        evidence = with_times(alert.evidence, when.clock)
        yield from paragraph(": ".join(part for part in (alert.cause, evidence) if part), width, INDENT, "")
        yield from _life(alert, when, width)


def _life(alert: Alert, when: When, width: int) -> Iterator[Row]:
    for step in alert.transitions:
        of_now = "" if step.cause == alert.cause or not step.cause else f" [{step.cause}]"
        size = f", {counted(step.queues, 'queue')}" if step.queues else ""
        text = f"{when.clock(step.ts)}  {step.state}{size}{of_now}: {step.reason}: {step.why}"
        yield from paragraph(text, width, DEEPER, "" if step.state == AlertState.FIRING else "dim")


def _unalerted(one: Unalerted, when: When, width: int) -> Iterator[Row]:
    style = "dim" if one.finding == Kind.EXCLUDED or is_retry_topic(one.topic) else "yellow"
    yield from paragraph(f"no alert: {_what(one.finding, one.topic, one.queues)}", width, "", style)
    reason = f"{one.reason} (told at {when.clock(one.told_ts)})" if one.reason and one.finding in AS_OF else one.reason
    said = ": ".join(part for part in (one.cause, reason) if part)
    yield from paragraph("; ".join(part for part in (said, one.why) if part), width, INDENT, "")


def _what(kind: str, topic: str | None, queues: Sequence[tuple[str, int]]) -> str:
    where = f"{counted(len(queues), 'queue')} of {topic}: {numbers(queues)}" if queues else topic or ""
    return f"{kind}, {where}" if where else kind


def _members(picture: GroupSnapshot, when: When, width: int) -> Iterator[Row]:
    yield Row("")
    if not picture.members:
        yield Row("No members.", "yellow")
    else:
        owned = Counter(owner for q in picture.queues if not is_retry_topic(q.topic) for owner in q.owners or ())
        cells = [_member_cells(member, owned[member.client_id], when) for member in picture.members]
        yield from _table(MEMBER_COLUMNS, [(row, "") for row in cells], "members", width)
    yield from _views(picture.views, width)


def _member_cells(member: MemberFact, owned: int, when: When) -> list[str]:
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


def _views(views: Sequence[View], width: int) -> Iterator[Row]:
    """Brokers with one list in one line; where they differ, one line each."""
    by_list: dict[tuple[str, ...], list[str]] = {}
    for view in views:
        by_list.setdefault(view.clients, []).append(view.broker_name)
    for clients, brokers in by_list.items():
        style = "dim" if len(by_list) == 1 else "yellow"
        verb = "lists" if len(brokers) == 1 else "list"
        yield from paragraph(f"{', '.join(brokers)} {verb} {named(clients)}", width, INDENT, style, 3)


def _by_topic(queues: Iterable[Queue]) -> Iterator[tuple[str, list[Queue]]]:
    """Retry topics only where something is to be said of them."""
    topics: dict[str, list[Queue]] = {}
    for queue in queues:
        topics.setdefault(queue.topic, []).append(queue)
    for topic, those in topics.items():
        if not is_retry_topic(topic) or any(q.finding not in (Kind.MATCH, Kind.EXCLUDED) for q in those):
            yield topic, those


def _queue_table(topic: str, queues: Sequence[Queue], when: When, width: int) -> Iterator[Row]:
    alike: dict[tuple[object, ...], list[Queue]] = {}
    for q in queues:
        alike.setdefault((q.finding, q.cause, q.reason, q.owners, q.expected), []).append(q)
    in_order = sorted(alike.values(), key=lambda those: those[0].finding == Kind.MATCH)
    yield Row("")
    yield Row(cut(f"{topic}: {counted(len(queues), 'queue')}", width), "bold")
    rows = [(_queue_cells(those, when), _style(those[0].finding)) for those in in_order]
    yield from _table(QUEUE_COLUMNS, rows, "rows", width)


def _queue_cells(alike: Sequence[Queue], when: When) -> list[str]:
    first = alike[0]
    return [
        numbers((q.broker_name, q.queue_id) for q in alike),
        str(len(alike)),
        _owner(first),
        "" if first.expected is None or first.expected == first.owners else named(first.expected),
        first.finding,
        when.clock(min(q.since_ts for q in alike)),
        ": ".join(part for part in (first.cause, first.reason) if part),
    ]


def _owner(queue: Queue) -> str:
    return "-" if queue.owners is None else named(queue.owners)


def _style(finding: str) -> str:
    if finding in (Kind.UNKNOWN, Kind.SETTLING, Kind.NO_MEMBERS):
        return "yellow"
    return {Kind.MATCH: "", Kind.EXCLUDED: "dim"}.get(Kind(finding), "red") if finding in set(Kind) else "red"


def _table(
    kinds: Sequence[columns.Column], rows: Sequence[tuple[list[str], str]], what: str, width: int
) -> Iterator[Row]:
    head, *lines = columns.laid_out(kinds, [cells for cells, _ in rows[:ROWS_AT_MOST]], width - len(INDENT))
    yield Row(INDENT + head, "bold")
    for line, (_, style) in zip(lines, rows, strict=False):
        yield Row(INDENT + line, style)
    if len(rows) > ROWS_AT_MOST:
        yield Row(f"{INDENT}... {len(rows) - ROWS_AT_MOST} more {what}; --json has all", "dim")


def _changes(picture: GroupSnapshot, when: When, width: int) -> Iterator[Row]:
    if not picture.changes:
        return
    yield Row("")
    yield Row("what changed within the hour before, the last at the end", "bold")
    for change in picture.changes:
        yield from paragraph(f"{when.clock(change.ts)}  {change.what}", width, INDENT, "")
