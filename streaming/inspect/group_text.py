"""One group as lines of text: its status, findings, what is not judged, and its tables."""

from collections.abc import Iterator, Sequence

from schemas.facts import Kind
from schemas.identity import is_retry_topic, without_host
from streaming.core.allocation.strategies import strategy_of_class
from streaming.core.finding_kinds import RIGHT
from streaming.inspect.members import total, total_lag
from streaming.inspect.snapshot import Finding, InspectedGroup, InspectedMember, InspectedQueue, Undecided
from streaming.snapshots.group_tables import (
    QueueRow,
    finding_title,
    listed_by,
    member_table,
    poll_table,
    queue_tables,
    status_style,
)
from streaming.snapshots.lines import DEEPER, INDENT, Line, Row, paragraph
from streaming.wording.lists import grouped, joined
from streaming.wording.names import cut, cut_middle
from streaming.wording.numbers import counted, rate, short
from streaming.wording.times import age

LABEL_WIDTH = 9
EVIDENCE_LINES = 4


def short_lines(group: InspectedGroup, width: int) -> Iterator[Line]:
    """The lines of a group in short: for an excluded group the reason, for one without members the waiting messages."""
    yield _group_line(group, width)
    if group.status == "excluded":
        for note in group.notes:
            yield from paragraph(note, width, INDENT, "dim", EVIDENCE_LINES)
    if group.status == "empty":
        for one in group.undecided:
            yield from paragraph(one.evidence, width, INDENT, "", EVIDENCE_LINES)


def full_lines(group: InspectedGroup, width: int, asked_for: bool, verbose: bool) -> Iterator[Line]:
    yield _group_line(group, width)
    if group.status == "absent":
        return
    at_most = 0 if verbose else EVIDENCE_LINES
    for finding in group.findings:
        yield from _finding(finding, width, at_most)
    for one in group.undecided:
        yield from _undecided(one, width, at_most)
    if not asked_for and not _has_details(group):
        return
    for note in group.notes:
        yield from paragraph(f"note: {note}", width, INDENT, "", at_most)
    yield from _tables(group, width, verbose)
    yield from paragraph(_coverage(group), width, INDENT, "dim")


def _has_details(group: InspectedGroup) -> bool:
    """True if the group has details. If the only fault is that clients do not answer, tables would show nothing."""
    return bool(group.findings) or any(one.kind != Kind.UNKNOWN.value or one.cause for one in group.undecided)


def _group_line(group: InspectedGroup, width: int) -> Line:
    label = group.status.upper() if group.status != "healthy" else group.status
    name = cut_middle(group.group, max(20, width // 2 - LABEL_WIDTH))
    why = f"{group.reason}, " if group.status == "excluded" else ""
    text = f"{label:<{LABEL_WIDTH}} {name}  {why}{_size(group)}"
    return Line(cut(text, width), status_style(group.status))


def _size(group: InspectedGroup) -> str:
    if group.status == "absent":
        return group.reason or ""
    members = sum(member.instances for member in group.members or ())
    queues = group.queues or ()
    known = " known" if any(not broker.answered for broker in group.brokers) else ""
    return joined(
        "members not known" if group.members is None else f"{counted(members, 'member')}{known}",
        counted(sum(not is_retry_topic(queue.topic) for queue in queues), "queue") if queues else "queues not known",
        message_flow(queues) if queues else "",
        by=", ",
    )


def _finding(finding: Finding, width: int, at_most: int) -> Iterator[Line]:
    style = "red" if finding.severity in ("critical", "warning") else ""
    title = finding_title(finding.kind, finding.topic, finding.queues)
    yield from paragraph(f"{finding.severity}: {title}", width, INDENT, style)
    yield from paragraph(joined(finding.cause, finding.evidence), width, DEEPER, "", at_most)


def _undecided(one: Undecided, width: int, at_most: int) -> Iterator[Line]:
    kind = one.kind if one.kind == Kind.UNKNOWN.value else f"may be {one.kind}"
    evidence = joined(one.cause, one.evidence)
    if one.topic is None:
        text = evidence if one.kind == Kind.UNKNOWN.value else f"{kind}: {evidence}"
        yield from paragraph(f"not judged: {text}", width, INDENT, "yellow")
        return
    in_s = one.judged_in_s if one.kind != Kind.STALLED.value else None
    when = f"judged in {in_s} s at the earliest" if in_s else ""
    yield from paragraph(f"not judged: {finding_title(kind, one.topic, one.queues)}", width, INDENT, "yellow")
    yield from paragraph(joined(evidence, when, by="; "), width, DEEPER, "", at_most)


def _coverage(group: InspectedGroup) -> str:
    answered = sum(broker.answered for broker in group.brokers)
    members = group.members or ()
    reported = sum(member.answered for member in members)
    strategies = [strategy_of_class(name) or name for name in group.strategies or ()]
    how = joined(group.message_model, "orderly" if group.orderly else "", *strategies, by=", ")
    return (
        f"{answered} of {counted(len(group.brokers), 'broker')} and {reported} of {counted(len(members), 'client')} "
        f"answered{f'; {how}' if how else ''}"
    )


def _tables(group: InspectedGroup, width: int, everything: bool) -> Iterator[Line]:
    """The tables. Members without an answer come first, then those with too much load."""
    rest = "" if everything else "--verbose shows all"
    members = sorted(group.members or (), key=lambda one: (one.answered, not one.hot))
    if members:
        yield Line("")
        yield from member_table([_member_row(group, one) for one in members], width, rest)
    yield from poll_table(group, width, rest, lambda ts: f"{age(group.ts - ts)} ago")
    flows = {topic: message_flow(those) for topic, those in grouped(group.queues or (), lambda one: one.topic).items()}
    yield from queue_tables(_queue_rows(group.queues or ()), width, rest, flows)
    if members or group.queues:
        yield Line("")


def message_flow(queues: Sequence[InspectedQueue]) -> str:
    """``in 32.0/s, out 24.0/s, lag 64``; also of how many queues the lag is known, if not of all."""
    known = sum(queue.lag is not None for queue in queues)
    of_some = f" in {known} of {len(queues)}" if 0 < known < len(queues) else ""
    flow = _flow_cells(queues)
    return f"in {flow['in/s']}/s, out {flow['out/s']}/s, lag {flow['lag']}{of_some}"


def _flow_cells(queues: Sequence[InspectedQueue]) -> dict[str, str]:
    return {
        "in/s": rate(total(queue.in_per_s for queue in queues)),
        "out/s": rate(total(queue.out_per_s for queue in queues)),
        "lag": short(total_lag(queues)),
    }


def _member_row(group: InspectedGroup, member: InspectedMember) -> Row:
    """The row of a member. Most client ids begin with their host: then the port of an address is enough."""
    cells = {
        "client id": member.client_id,
        "instances": f"{member.instances}?" if member.instances > 1 else "",
        "address": " ".join(without_host(address, member.client_id) for address in member.addresses or ("-",)),
        "listed by": listed_by(member.brokers, (one.broker_name for one in group.brokers)),
        "queues": "-" if member.queues is None else str(member.queues),
        "in/s": rate(member.in_per_s),
        "out/s": rate(member.out_per_s),
        "lag": short(member.lag),
        "answered": _answer(group, member),
    }
    return Row(cells, "" if member.answered and not member.hot else "yellow")


def _answer(group: InspectedGroup, member: InspectedMember) -> str:
    if not member.answered:
        return f"no: {member.why_not}"
    up = f", up {age(group.ts - member.started_ts)}" if member.started_ts else ""
    return f"yes{up}{', HOT' if member.hot else ''}"


def _queue_rows(queues: Sequence[InspectedQueue]) -> Iterator[QueueRow]:
    for alike in grouped(queues, _shown_of).values():
        first = alike[0]
        is_odd = not first.readable or not first.writable or first.hot
        is_odd = is_odd or first.still_s is not None or first.stands_s is not None
        cells = {**_flow_cells(alike), "finding": _finding_cell(first)}
        yield QueueRow(alike, cells, is_odd or first.finding not in RIGHT)


def _shown_of(queue: InspectedQueue) -> tuple[object, ...]:
    """The texts of a row besides numbers and offsets."""
    waits = (queue.still_s is None, queue.stands_s is None, queue.lag is None)
    rights = (queue.readable, queue.writable)
    return queue.topic, queue.owners, queue.expected, queue.finding, queue.may_be, rights, queue.hot, waits


def _finding_cell(queue: InspectedQueue) -> str:
    finding = queue.finding or ("not read" if queue.writable else "")
    if queue.may_be:
        finding = f"{queue.may_be}?"
    elif queue.still_s is not None and queue.finding == Kind.MATCH.value:
        finding = "STALLED?"
    elif queue.stands_s is not None and queue.finding == Kind.MATCH.value:
        finding = "SLOW_CONSUMER?"
    not_written = "not written" if queue.readable and not queue.writable else ""
    return joined(finding, not_written, "HOT" if queue.hot else "", by=", ")
