"""Notes on a group: facts that are worth knowing but are no findings."""

from collections.abc import Iterator

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from schemas.reasons import ReasonKind
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.group_status import is_excluded
from streaming.inspect.members import total
from streaming.inspect.snapshot import InspectedMember, InspectedQueue
from streaming.notices.evidence_english import reason_in_english
from streaming.wording.lists import first_of, grouped
from streaming.wording.numbers import counted, ranges
from streaming.wording.times import moment

YOUNG_MS = 60_000
UNEVEN = 1.25  # times the share of the queues


def notes_on(
    evidence: GroupEvidence, found: list[TopicFindings], rows: list[InspectedQueue], members: list[InspectedMember]
) -> Iterator[str]:
    yield from _exclusions(evidence, found)
    if evidence.exclusion is not None:
        return
    yield from _mixed_strategies(evidence, members)
    if len(evidence.named_classes) < 2:
        yield from _unknown_owners(found)
    yield from _uneven_load(rows, members)
    yield from _one_way_queues(rows)
    yield from _young_members(evidence, members)


def _exclusions(evidence: GroupEvidence, found: list[TopicFindings]) -> Iterator[str]:
    """Notes on exclusions: what is not judged, and why not."""
    if evidence.exclusion is not None:
        if is_excluded(evidence, found):
            yield _excluded(evidence.exclusion)
        return
    for member in evidence.members.values():
        if member.exclusion is not None:
            yield f"{member.client.client_id}: {_excluded(member.exclusion)}"
    for findings in found:
        topic = findings.evidence
        if topic.exclusion is not None and findings.verdicts and not topic.is_retry:
            yield f"{topic.topic.name}: {_excluded(topic.exclusion)}"


def _excluded(why: ReasonKind) -> str:
    return f"EXCLUDED, {why}: {reason_in_english(why, None, moment)}"


def _mixed_strategies(evidence: GroupEvidence, members: list[InspectedMember]) -> Iterator[str]:
    if len(evidence.named_classes) < 2:
        return
    named = [member for member in members if member.answered and member.strategy]
    users = grouped(named, lambda member: member.strategy or "")
    parts = [f"{name}: {first_of([member.client_id for member in those])}" for name, those in sorted(users.items())]
    yield f"members share queues out by different strategies, which is never right: {'; '.join(parts)}"


def _unknown_owners(found: list[TopicFindings]) -> Iterator[str]:
    """Notes on topics whose queues have one owner each, but whose expected owner is not known."""
    for findings in found:
        why = next((v.reason for v in findings.verdicts.values() if v.kind is Kind.MATCH and v.expected is None), None)
        if why is not None and not findings.evidence.broadcasts:
            said = reason_in_english(*why, moment)
            yield f"{findings.evidence.topic.name}: the expected owners are not known: {said}"


def _uneven_load(rows: list[InspectedQueue], members: list[InspectedMember]) -> Iterator[str]:
    """Notes on uneven load: equal numbers of queues are not an equal load."""
    everything = total(row.in_per_s for row in rows)
    queues = sum(row.readable and not is_retry_topic(row.topic) for row in rows)
    for member in members:
        if everything and member.hot and member.in_per_s and member.queues:
            share, of_queues = 100 * member.in_per_s / everything, 100 * member.queues / queues
            if share > UNEVEN * of_queues:
                yield f"{member.client_id} gets {share:.0f} % of the messages with {of_queues:.0f} % of the queues"
    for topic in dict.fromkeys(row.topic for row in rows if row.hot):
        hot = [row for row in rows if row.hot and row.topic == topic]
        of_topic = total(row.in_per_s for row in rows if row.topic == topic) or 1
        share = 100 * (total(row.in_per_s for row in hot) or 0) / of_topic
        names = ranges(row.name for row in hot)
        yield f"{topic}: {counted(len(hot), 'hot queue')}, {share:.0f} % of its messages: {names}"


def _one_way_queues(rows: list[InspectedQueue]) -> Iterator[str]:
    for readable, what in (
        (True, "can be read, not written: nothing new arrives"),
        (False, "can be written, not read: new messages cannot be consumed"),
    ):
        one_way = [
            r for r in rows if r.readable is readable and r.writable is not readable and not is_retry_topic(r.topic)
        ]
        for topic, those in grouped(one_way, lambda row: row.topic).items():
            if not is_retry_topic(topic):
                yield f"{topic}: {ranges(row.name for row in those)} {what}"


def _young_members(evidence: GroupEvidence, members: list[InspectedMember]) -> Iterator[str]:
    """Notes on young members, by the clients' own clocks: no evidence, but a possible explanation."""
    young = [m for m in members if m.started_ts and 0 <= evidence.now - m.started_ts <= YOUNG_MS]
    for member in young[:3]:
        yield f"{member.client_id} started {(evidence.now - (member.started_ts or 0)) // 1000} s ago"
