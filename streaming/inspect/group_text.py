"""One group as lines of text: its status, findings, what is not judged, and its tables."""

from collections.abc import Iterator

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from streaming.core.allocation import strategy_of_class
from streaming.inspect.group_tables import message_flow, tables_of
from streaming.inspect.snapshot import Finding, InspectedGroup, Undecided
from streaming.snapshots.group_text import finding_title, status_style
from streaming.snapshots.lines import DEEPER, INDENT, Line, paragraph
from streaming.wording.lists import joined
from streaming.wording.names import cut, cut_middle
from streaming.wording.numbers import counted

LABEL_WIDTH = 9
EVIDENCE_LINES = 4


def short_lines(group: InspectedGroup, width: int) -> Iterator[Line]:
    """Of an excluded group also why, of one without members also which messages wait for it."""
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
    yield from tables_of(group, width, verbose)
    yield from paragraph(_coverage(group), width, INDENT, "dim")


def _has_details(group: InspectedGroup) -> bool:
    """Where merely nobody answers, tables would show nothing."""
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
