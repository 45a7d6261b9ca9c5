"""The picture of a cluster as lines of text: what is wrong first, equal neighbours in one row, healthy groups short."""

from collections.abc import Iterator

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from streaming.core.allocation import strategy_of_class
from streaming.inspect.picture import ClusterPicture, Finding, GroupPicture, Undecided
from streaming.inspect.tables import flow_words, member_table, queue_tables
from streaming.wording.names import cut, cut_middle
from streaming.wording.numbers import counted
from streaming.wording.rows import Row, numbers, paragraph, without_tricks

ORDER = ("findings", "settling", "unknown", "empty", "excluded", "healthy")
STYLES = {"findings": "bold red", "settling": "yellow", "unknown": "yellow", "empty": "yellow", "healthy": "green"}
LABEL_WIDTH = 9
INDENT = "  "
DEEPER = "    "
EVIDENCE_LINES = 4
SILENT_SHOWN = 3
AGAIN = "What is too young to be judged may be healthy: --watch goes on until it can be told."


def lines_of(picture: ClusterPicture, width: int, asked_for: bool = False, verbose: bool = False) -> Iterator[Row]:
    """``asked_for``: groups were named, so all of them are shown in full; ``verbose``: and every row of them."""
    picture = without_tricks(picture)
    yield Row(cut(_headline(picture), width), "bold")
    for who, why in picture.silent.items():
        yield from paragraph(f"no answer of {who}: {why}", width, INDENT, "yellow")
    before = True
    for group in sorted(picture.groups, key=lambda one: (ORDER.index(one.status), one.group)):
        is_short = group.status in ("healthy", "excluded") and not (asked_for or verbose)
        if before or not is_short:
            yield Row("")
        before = not is_short
        yield from [_group_line(group, width)] if is_short else _in_full(group, width, asked_for or verbose, verbose)
    yield Row("")
    yield from paragraph(_summary(picture), width, "", "bold")
    if any(one.judged_in_s for group in picture.groups for one in group.undecided):
        yield from paragraph(AGAIN, width, "", "")


def _headline(picture: ClusterPicture) -> str:
    return (
        f"{picture.cluster}: {counted(picture.brokers, 'broker')}, {counted(len(picture.groups), 'group')} with "
        f"members, {picture.without_members} without; watched for {picture.looked_s:.0f} s"
    )


def _summary(picture: ClusterPicture) -> str:
    statuses = [group.status for group in picture.groups]
    open_ones = sum(statuses.count(status) for status in ("settling", "unknown", "empty"))
    parts = [
        (statuses.count("findings"), "with findings"),
        (open_ones, "not judged in full"),
        (statuses.count("excluded"), "excluded"),
        (statuses.count("healthy"), "healthy"),
    ]
    said = ", ".join(f"{counted(number, 'group') if not n else number} {what}" for n, (number, what) in _some(parts))
    return f"{said}." if said else "No group with members was found."


def _some(parts: list[tuple[int, str]]) -> Iterator[tuple[int, tuple[int, str]]]:
    return enumerate([(number, what) for number, what in parts if number])


def _in_full(group: GroupPicture, width: int, asked_for: bool, verbose: bool) -> Iterator[Row]:
    yield _group_line(group, width)
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


def _shows_trouble(group: GroupPicture) -> bool:
    """Where merely nobody answers, tables would show nothing."""
    return bool(group.findings) or any(one.kind != Kind.UNKNOWN.value or one.cause for one in group.undecided)


def _group_line(group: GroupPicture, width: int) -> Row:
    label = group.status.upper() if group.status != "healthy" else group.status
    name = cut_middle(group.group, max(20, width // 2 - LABEL_WIDTH))
    members = sum(member.instances for member in group.members)
    why = f"{group.reason}, " if group.status == "excluded" else ""
    queues = sum(not is_retry_topic(queue.topic) for queue in group.queues)
    size = f"{counted(members, 'member')}, {counted(queues, 'queue')}"
    text = f"{label:<{LABEL_WIDTH}} {name}  {why}{size}, {flow_words(group.queues)}"
    return Row(cut(text, width), STYLES.get(group.status, "dim"))


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
        yield from paragraph(f"not judged: {evidence}", width, INDENT, "yellow")
        return
    yield from paragraph(f"not judged: {_what(kind, one.topic, one.queues)}", width, INDENT, "yellow")
    because = "; ".join(part for part in (evidence, when) if part)
    yield from paragraph(because, width, DEEPER, "", 0 if verbose else EVIDENCE_LINES)


def _what(kind: str, topic: str | None, queues: tuple[tuple[str, int], ...]) -> str:
    where = f"{counted(len(queues), 'queue')} of {topic}: {numbers(queues)}" if queues else topic or ""
    return f"{kind}, {where}" if where else kind


def _tables(group: GroupPicture, width: int, verbose: bool) -> Iterator[Row]:
    room = width - len(INDENT)
    tables = [list(member_table(group, room, verbose)), *queue_tables(group, room, verbose)]
    for table in filter(None, tables):
        yield Row("")
        for row in table:
            yield Row(INDENT + row.text, row.style)
    if any(tables):
        yield Row("")


def _coverage(group: GroupPicture) -> str:
    answered = sum(broker.answered for broker in group.brokers)
    heard = sum(member.answered for member in group.members)
    strategies = [strategy_of_class(name) or name for name in group.strategies]
    how = ", ".join(filter(None, [group.message_model, "orderly" if group.orderly else "", *strategies]))
    return (
        f"{answered} of {counted(len(group.brokers), 'broker')} and {heard} of {counted(len(group.members), 'client')} "
        f"answered{f'; {how}' if how else ''}"
    )
