"""The picture of a cluster as lines of text: what is wrong first, equal neighbours in one row, healthy groups short."""

import math
from collections.abc import Iterator

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from streaming.core.allocation import strategy_of_class
from streaming.inspect.group_tables import flow_words, member_table, queue_tables
from streaming.inspect.snapshot import ClusterSnapshot, Finding, GroupSnapshot, Undecided
from streaming.notices.times import moment
from streaming.snapshots.lines import Row, numbers, paragraph, without_tricks
from streaming.wording.names import cut, cut_middle
from streaming.wording.numbers import counted

ORDER = ("findings", "settling", "unknown", "absent", "empty", "excluded", "healthy")
SHORT = ("empty", "excluded", "healthy")  # a line each, unless they were asked for
STYLES = {
    "findings": "bold red",
    "settling": "yellow",
    "unknown": "yellow",
    "absent": "yellow",
    "empty": "yellow",
    "healthy": "green",
}
LABEL_WIDTH = 9
INDENT = "  "
DEEPER = "    "
EVIDENCE_LINES = 4
SILENT_SHOWN = 3
LEAST_S = 75  # owners are judged within it where nothing changes (docs/inspect.md)
UNHEARD_S = 120  # where clients were not asked yet
SAID_AGAIN_S = 50  # every client is asked every 20 s, twice
BROKERS_SHOWN = 8


def lines_of(picture: ClusterSnapshot, width: int, asked_for: bool = False, verbose: bool = False) -> Iterator[Row]:
    """``asked_for``: groups were named, so all of them are shown in full; ``verbose``: and every row of them."""
    picture = without_tricks(picture)
    yield Row(cut(_headline(picture), width), "bold")
    yield from paragraph(_what_there_is(picture), width, INDENT, "")
    yield from paragraph(_left_out(picture), width, INDENT, "yellow")
    for who, why in picture.silent.items():
        yield from paragraph(f"no answer of {who}: {why}", width, INDENT, "yellow")
    before = True
    for group in sorted(picture.groups, key=lambda one: (ORDER.index(one.status), one.group)):
        is_short = group.status in SHORT and not (asked_for or verbose)
        if before or not is_short:
            yield Row("")
        before = not is_short
        yield from _in_short(group, width) if is_short else _in_full(group, width, asked_for or verbose, verbose)
    yield Row("")
    yield from paragraph(_summary(picture), width, "", "bold")
    yield from paragraph(_how_to_know_more(picture), width, "", "")


def _headline(picture: ClusterSnapshot) -> str:
    return f"{picture.cluster} at {moment(picture.ts)}, watched for {picture.looked_s:.0f} s"


def _what_there_is(picture: ClusterSnapshot) -> str:
    """Brokers, and groups as far as brokers have told of them."""
    names = ", ".join(picture.brokers[:BROKERS_SHOWN])
    more = f" and {len(picture.brokers) - BROKERS_SHOWN} more" if len(picture.brokers) > BROKERS_SHOWN else ""
    brokers = f"{counted(len(picture.brokers), 'broker')} by the name servers: {names}{more}" if names else "no broker"
    if len(picture.untold) == len(picture.brokers):
        return f"{brokers}; which groups there are is not known"
    known = " known" if picture.untold else ""
    members = sum(bool(group.members) for group in picture.groups)
    without = picture.empty.number + sum(group.members == () for group in picture.groups)
    return f"{brokers}; {counted(members, 'group')} with members{known}, {without} without"


def _left_out(picture: ClusterSnapshot) -> str:
    """What was not asked, or not answered, of groups that are not shown."""
    empty = picture.empty
    parts = [
        f"{counted(empty.not_asked, 'group')} without members: not asked what waits for them; --seconds 30, or --group "
        "for one"
        if empty.not_asked
        else "",
        f"{counted(empty.not_known, 'group')}: no answer from some broker who their members are, or what waits"
        if empty.not_known
        else "",
    ]
    return "; ".join(filter(None, parts))


def _how_to_know_more(picture: ClusterSnapshot) -> str:
    """Until when to look for what could not be judged yet."""
    questions = [one for group in picture.groups if group.status not in SHORT for one in group.undecided]
    if not questions or all(group.status == "absent" for group in picture.groups):
        return ""
    known = [one.judged_in_s or 0 for one in questions]
    least = LEAST_S if all(known) else UNHEARD_S
    seconds = max(least, math.ceil(picture.looked_s) + max(known) + SAID_AGAIN_S)
    return f"What is not judged may be healthy or not. Look until it can be told: --watch, or --seconds {seconds}."


def _summary(picture: ClusterSnapshot) -> str:
    statuses = [group.status for group in picture.groups]
    open_ones = sum(statuses.count(status) for status in ("settling", "unknown"))
    parts = [
        (statuses.count("findings"), "with findings"),
        (open_ones, "not judged in full"),
        (statuses.count("empty"), "without members, messages wait"),
        (statuses.count("absent"), "not known to any broker"),
        (statuses.count("excluded"), "excluded"),
        (statuses.count("healthy"), "healthy"),
    ]
    said = ", ".join(f"{counted(number, 'group') if not n else number} {what}" for n, (number, what) in _some(parts))
    if said:
        return f"{said}."
    return "No group with members was found." if picture.is_complete else "No group was found; not everybody answered."


def _some(parts: list[tuple[int, str]]) -> Iterator[tuple[int, tuple[int, str]]]:
    return enumerate([(number, what) for number, what in parts if number])


def _in_short(group: GroupSnapshot, width: int) -> Iterator[Row]:
    """Of an excluded group why it is, of one without members what waits for it, of a healthy one what goes through."""
    yield _group_line(group, width)
    if group.status == "excluded":
        for note in group.notes:
            yield from paragraph(note, width, INDENT, "dim", EVIDENCE_LINES)
    if group.status == "empty":
        for one in group.undecided:
            yield from paragraph(one.evidence, width, INDENT, "", EVIDENCE_LINES)


def _in_full(group: GroupSnapshot, width: int, asked_for: bool, verbose: bool) -> Iterator[Row]:
    yield _group_line(group, width)
    if group.status == "absent":
        return
    for finding in group.findings:
        yield from _finding(finding, width, verbose)
    for one in group.undecided:
        yield from _undecided(one, width, verbose)
    if not asked_for and not _shows_trouble(group):
        return
    for note in group.notes:
        yield from paragraph(f"note: {note}", width, INDENT, "", 0 if verbose else EVIDENCE_LINES)
    yield from _tables(group, width, verbose)
    yield from paragraph(_coverage(group), width, INDENT, "dim")


def _shows_trouble(group: GroupSnapshot) -> bool:
    """Where merely nobody answers, tables would show nothing."""
    return bool(group.findings) or any(one.kind != Kind.UNKNOWN.value or one.cause for one in group.undecided)


def _group_line(group: GroupSnapshot, width: int) -> Row:
    label = group.status.upper() if group.status != "healthy" else group.status
    name = cut_middle(group.group, max(20, width // 2 - LABEL_WIDTH))
    why = f"{group.reason}, " if group.status == "excluded" else ""
    text = f"{label:<{LABEL_WIDTH}} {name}  {why}{_size(group)}"
    return Row(cut(text, width), STYLES.get(group.status, "dim"))


def _size(group: GroupSnapshot) -> str:
    """What is not known is said to be so."""
    if group.status == "absent":
        return group.reason or ""
    members = sum(member.instances for member in group.members or ())
    queues = group.queues or ()
    known = " known" if any(not broker.answered for broker in group.brokers) else ""
    parts = [
        "members not known" if group.members is None else f"{counted(members, 'member')}{known}",
        counted(sum(not is_retry_topic(queue.topic) for queue in queues), "queue") if queues else "queues not known",
    ]
    return ", ".join([*parts, flow_words(queues)] if queues else parts)


def _finding(finding: Finding, width: int, verbose: bool) -> Iterator[Row]:
    style = "red" if finding.severity in ("critical", "warning") else ""
    yield from paragraph(
        f"{finding.severity}: {_what(finding.kind, finding.topic, finding.queues)}", width, INDENT, style
    )
    because = ": ".join(part for part in (finding.cause, finding.evidence) if part)
    yield from paragraph(because, width, DEEPER, "", 0 if verbose else EVIDENCE_LINES)


def _undecided(one: Undecided, width: int, verbose: bool) -> Iterator[Row]:
    kind = one.kind if one.kind == Kind.UNKNOWN.value else f"may be {one.kind}"
    when = (
        f"judged in {one.judged_in_s} s at the earliest" if one.judged_in_s and one.kind != Kind.STALLED.value else ""
    )
    evidence = f"{one.cause}: {one.evidence}" if one.cause and one.evidence else one.cause or one.evidence
    if one.topic is None:
        said = evidence if one.kind == Kind.UNKNOWN.value else f"{kind}: {evidence}"
        yield from paragraph(f"not judged: {said}", width, INDENT, "yellow")
        return
    yield from paragraph(f"not judged: {_what(kind, one.topic, one.queues)}", width, INDENT, "yellow")
    because = "; ".join(part for part in (evidence, when) if part)
    yield from paragraph(because, width, DEEPER, "", 0 if verbose else EVIDENCE_LINES)


def _what(kind: str, topic: str | None, queues: tuple[tuple[str, int], ...]) -> str:
    where = f"{counted(len(queues), 'queue')} of {topic}: {numbers(queues)}" if queues else topic or ""
    return f"{kind}, {where}" if where else kind


def _tables(group: GroupSnapshot, width: int, verbose: bool) -> Iterator[Row]:
    room = width - len(INDENT)
    tables = [list(member_table(group, room, verbose)), *queue_tables(group, room, verbose)]
    for table in filter(None, tables):
        yield Row("")
        for row in table:
            yield Row(INDENT + row.text, row.style)
    if any(tables):
        yield Row("")


def _coverage(group: GroupSnapshot) -> str:
    answered = sum(broker.answered for broker in group.brokers)
    members = group.members or ()
    heard = sum(member.answered for member in members)
    strategies = [strategy_of_class(name) or name for name in group.strategies or ()]
    how = ", ".join(filter(None, [group.message_model, "orderly" if group.orderly else "", *strategies]))
    return (
        f"{answered} of {counted(len(group.brokers), 'broker')} and {heard} of {counted(len(members), 'client')} "
        f"answered{f'; {how}' if how else ''}"
    )
