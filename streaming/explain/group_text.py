"""A group at a time as lines of text: its status, alerts, tables, and the changes before."""

from collections.abc import Collection, Iterator, Sequence
from datetime import tzinfo
from functools import partial
from itertools import starmap

from schemas.facts import AlertState, Kind, MemberFact
from schemas.identity import is_retry_topic
from streaming.core.allocation.strategies import strategy_of_class
from streaming.core.finding_kinds import RIGHT, UNDECIDED
from streaming.explain.reasons import reason_of
from streaming.explain.snapshot import (
    BrokerList,
    Doubt,
    ExplainedAlert,
    ExplainedGroup,
    ExplainedQueue,
    UnalertedQueues,
    doubt_of,
)
from streaming.explain.times import Moment
from streaming.notices.english import ENGLISH
from streaming.notices.evidence_english import in_english
from streaming.snapshots.group_tables import (
    ALERT_STYLES,
    QueueRow,
    finding_title,
    listed_by,
    member_table,
    poll_table,
    queue_tables,
    status_style,
)
from streaming.snapshots.lines import DEEPER, INDENT, Line, Row, paragraph, without_control_characters
from streaming.wording.lists import grouped, joined
from streaming.wording.names import cut, named
from streaming.wording.numbers import counted
from streaming.wording.times import age, moment


def lines_of(group: ExplainedGroup, width: int, zone: tzinfo | None) -> Iterator[Line]:
    """The lines of a group. Times are shown in ``zone``; None: this machine's."""
    group = without_control_characters(group)
    when = Moment(group.ts, zone)
    yield Line(cut(f"{group.cluster}/{group.group} at {moment(group.ts, zone)}", width), "bold")
    yield from _status(group, when, width)
    yield Line("")
    yield from _alerts(group, when, width)
    for one in group.unalerted:
        yield from _unalerted(one, when, width)
    yield from _tables(group, when, width)
    yield from _changes(group, when, width)


def _status(group: ExplainedGroup, when: Moment, width: int) -> Iterator[Line]:
    if group.status is None or group.status_ts is None:
        yield Line("its status had not been written by then", "yellow")
    else:
        why = reason_of(group, when.clock)
        reason = f" ({why})" if why else ""
        counts = ", ".join(starmap(partial(_count, group), (group.counts or {}).items()))
        text = f"{group.status.upper()}{reason} since {when.since(group.status_ts)}: {counts}"
        yield Line(cut(text, width), status_style(group.status))
        yield from paragraph(
            f"by then {group.brokers_covered} of {counted(group.brokers_known or 0, 'broker')} had answered, and "
            f"{group.members_reporting} of {counted(len(group.members), 'client')} had reported",
            width, INDENT, "dim",
        )  # fmt: skip
    yield from paragraph(_doubts(group, when), width, INDENT, "yellow")


def _count(group: ExplainedGroup, kind: str, number: int) -> str:
    """``ORPHANED 5 (1 of a retry topic)``: no alert names the one of the retry topic."""
    idle = (group.retry_counts or {}).get(kind, 0)
    return f"{kind} {number} ({idle} of a retry topic)" if idle else f"{kind} {number}"


def _doubts(group: ExplainedGroup, when: Moment) -> str:
    doubt, newest = doubt_of(group, group.ts), when.since(group.newest_ts)
    if doubt is Doubt.QUIET:
        return f"the newest fact is of {newest}: nothing has changed since, or nothing was seen"
    if doubt is Doubt.BLIND and group.monitor is not None:
        since = when.since(group.monitor.seen_ts)
        return f"evenkeel had seen nothing of {group.cluster} since {since}: this is what was known then"
    if doubt is Doubt.SILENT:
        return (
            f"the last round of it that is known of was at {newest}, and nothing is known since: "
            "a group's status is written every hour for as long as rounds of it come"
        )
    return "events had been lost shortly before: evidence may be missing" if doubt is Doubt.EVENTS_LOST else ""


def _alerts(group: ExplainedGroup, when: Moment, width: int) -> Iterator[Line]:
    if not group.alerts:
        yield Line("No alert is open, or was within the hour before.")
    for alert in group.alerts:
        state = f"{alert.state} (right for now)" if alert.is_right_for_now else alert.state
        state = f"{alert.state} (stale)" if alert.stale else state
        title = finding_title(alert.kind, alert.topic, alert.queues)
        yield from paragraph(f"{state} {alert.severity}: {title}", width, "", ALERT_STYLES.get(alert.state, ""))
        evidence = in_english(alert.observed, when.clock) if alert.observed else ""
        yield from paragraph(f"since {when.since(alert.since_ts)}", width, INDENT, "")
        yield from paragraph(joined(alert.cause, f"at {when.clock(alert.seen_ts)}: {evidence}"), width, INDENT, "")
        yield from paragraph(_held_back(alert, when), width, INDENT, "yellow")
        yield from paragraph(_waiting(alert, when), width, INDENT, "")
        for label, text in (("for now", alert.for_now), ("do", alert.do)):
            yield from paragraph(f"{label}: {text}" if text else "", width, INDENT, "bold")
        yield from _steps(alert, when, width)


def _held_back(alert: ExplainedAlert, when: Moment) -> str:
    """The reason why the alert does not fire yet and until when, or waits for a deploy, or is right for now."""
    until = when.clock(alert.waits_until_ts or alert.seen_ts)
    if alert.waits_for is not None:
        return ENGLISH.waits.get(alert.waits_for, "").format(until=until).lstrip(" -")
    if alert.deploy_since_ts is not None:
        return ENGLISH.deploy_goes_on.format(since=when.clock(alert.deploy_since_ts)).lstrip(" -")
    return f"right for now, since {when.clock(alert.right_since_ts or 0)}" if alert.is_right_for_now else ""


def _waiting(alert: ExplainedAlert, when: Moment) -> str:
    if not alert.waiting or alert.read_ts is None:
        return ""
    oldest = ""
    if alert.oldest_ts is not None:
        oldest = f", the oldest since {when.clock(alert.oldest_ts)} ({age(alert.read_ts - alert.oldest_ts)} by then)"
    return f"at {when.clock(alert.read_ts)}: {counted(alert.waiting, 'message')} waiting in its queues{oldest}"


def _steps(alert: ExplainedAlert, when: Moment, width: int) -> Iterator[Line]:
    for step in alert.transitions:
        cause = "" if step.cause == alert.cause or not step.cause else f" [{step.cause}]"
        size = f", {counted(step.queues, 'queue')}" if step.queues else ""
        text = f"{when.clock(step.ts)}  {step.state}{size}{cause}: {step.why}"
        yield from paragraph(text, width, DEEPER, "" if step.state == AlertState.FIRING else "dim")


def _unalerted(one: UnalertedQueues, when: Moment, width: int) -> Iterator[Line]:
    style = "dim" if one.finding == Kind.EXCLUDED or is_retry_topic(one.topic) else "yellow"
    yield from paragraph(f"no alert: {finding_title(one.finding, one.topic, one.queues)}", width, "", style)
    reason = reason_of(one, when.clock)
    if reason and one.finding in UNDECIDED:  # the current reason may differ
        reason = f"{reason} (reported at {when.clock(one.told_ts)})"
    yield from paragraph(joined(joined(one.cause, reason), one.why, by="; "), width, INDENT, "")


def _changes(group: ExplainedGroup, when: Moment, width: int) -> Iterator[Line]:
    if not group.changes:
        return
    yield Line("")
    yield Line("what changed within the hour before, the last at the end", "bold")
    for change in group.changes:
        yield from paragraph(f"{when.clock(change.ts)}  {change.what}", width, INDENT, "")


REST = "--json has all"


def _tables(group: ExplainedGroup, when: Moment, width: int) -> Iterator[Line]:
    yield Line("")
    if group.members:
        owned, owns_none, listing = group.owned, group.owns_none, group.listing
        rows = [
            _member_row(member, "-" if owns_none else str(owned[member.client_id]), listing, when)
            for member in group.members
        ]
        yield from member_table(rows, width, REST)
    else:
        yield Line("No members.", "yellow")
    yield from _broker_lists(group.views, width)
    yield from poll_table(group, width, REST, when.clock)
    yield from queue_tables(_queue_rows(group.queues, when), width, REST)


def _member_row(member: MemberFact, owned: str, listing: Collection[str], when: Moment) -> Row:
    strategy = member.strategy or ""
    return Row({
        "client id": member.client_id,
        "instances": str(member.instances) if member.instances > 1 else "",
        "address": " ".join(member.addresses),
        "listed by": listed_by(member.brokers, listing),
        "queues": owned,
        "version": member.version or "",
        "strategy": strategy_of_class(strategy) or strategy,
        "subscribes to": ", ".join(member.subscriptions),
        "member since": when.clock(member.since_ts),
    })  # fmt: skip


def _broker_lists(lists: Sequence[BrokerList], width: int) -> Iterator[Line]:
    """The brokers' lists, in one line if they are equal; if they differ, one line for each list."""
    equal = grouped(lists, lambda one: one.clients)
    for clients, those in equal.items():
        verb = "lists" if len(those) == 1 else "list"
        text = f"{', '.join(one.broker_name for one in those)} {verb} {named(clients)}"
        yield from paragraph(text, width, INDENT, "dim" if len(equal) == 1 else "yellow", 3)


def _queue_rows(queues: Sequence[ExplainedQueue], when: Moment) -> Iterator[QueueRow]:
    for alike in grouped(queues, lambda q: (q.topic, q.finding, q.cause, q.reason, q.owners, q.expected)).values():
        first = alike[0]
        cells = {
            "finding": first.finding,
            "since": when.clock(min(queue.since_ts for queue in alike)),
            "why": joined(first.cause, reason_of(first, when.clock)),
        }
        yield QueueRow(alike, cells, first.finding not in RIGHT)
