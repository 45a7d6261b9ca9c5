"""Findings about a topic or the whole group: all rules, each in the file of its name, and when a finding began."""

from collections.abc import Iterator

from msgspec.structs import replace

from schemas.facts import Kind, Severity
from schemas.identity import is_retry_topic
from schemas.observed import MoreMembersThanQueues
from schemas.reasons import ReasonKind
from streaming.core.evidence.exclusions import OF_WHOLE_GROUPS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.finding_kinds import KINDS, WHATEVER_MEMBERS_RUN
from streaming.core.findings.consumed_again import consumed_again
from streaming.core.findings.inconsistent_subscription import inconsistent_subscription
from streaming.core.findings.members_split import members_split
from streaming.core.findings.no_members import no_members
from streaming.core.findings.offsets_went_back import offsets_went_back
from streaming.core.findings.queue_facts import Since
from streaming.core.findings.rebalance_storm import rebalance_storm
from streaming.core.findings.revive_stuck import revive_stuck
from streaming.core.findings.unreadable_queues import unreadable_queues
from streaming.core.findings.unreported_members import member_lists_differ, shared_client_id
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group_state import KeptFinding


def idle_members(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """More members than queues: some will never own any."""
    if not evidence.shares_out:
        return
    for topic in evidence.group.state.topics:
        queues = sum(hosted.read for hosted in topic.hosts if hosted.is_readable)
        subscribers = len(evidence.subscribed.get(topic.name, ()))
        if queues and subscribers > queues and not (topic.is_static or is_retry_topic(topic.name)):
            observed = MoreMembersThanQueues(members=subscribers, queues=queues)
            yield GroupFinding(Kind.IDLE_MEMBERS, topic.name, observed)


def _every_finding(evidence: GroupEvidence, since: Since) -> Iterator[GroupFinding]:
    if evidence.exclusion is ReasonKind.SYSTEM_GROUP:
        yield from revive_stuck(evidence)
        return
    yield from inconsistent_subscription(evidence)
    yield from shared_client_id(evidence)
    yield from member_lists_differ(evidence)
    yield from members_split(evidence)
    yield from unreadable_queues(evidence, since)
    yield from offsets_went_back(evidence)
    yield from consumed_again(evidence)
    yield from no_members(evidence)
    yield from rebalance_storm(evidence)
    yield from idle_members(evidence)


def lasting_group_findings(evidence: GroupEvidence, found: list[GroupFinding]) -> list[KeptFinding]:
    """The findings that are kept for the next round: those of now, and those of before that cannot be decided now.

    So NO_MEMBERS keeps its begin while a broker does not answer now and then, and UNREADABLE_QUEUES too.
    """
    state = evidence.group.state
    held = [KeptFinding(one.topic, one.kind.value, one.since_ts) for one in found]
    undecided = {Kind.NO_MEMBERS.value} if evidence.uncovered and not evidence.members else set()
    if any(broker.lost_ts for broker in state.brokers):
        undecided |= {Kind.UNREADABLE_QUEUES.value} - {one.kind.value for one in found}
    return held + [one for one in state.group_findings if one.kind in undecided]


def find_group_findings(evidence: GroupEvidence, since: Since) -> list[GroupFinding]:
    """The findings of now, each with its begin. Where all members are excluded, only lists and offsets count."""
    if evidence.exclusion in OF_WHOLE_GROUPS:
        return []
    before = {(kept.kind, kept.topic): kept.since_ts for kept in evidence.group.state.group_findings}
    return [
        replace(found, since_ts=before.get((found.kind.value, found.topic), evidence.now))
        for found in _every_finding(evidence, since)
        if evidence.exclusion is None or found.kind in WHATEVER_MEMBERS_RUN
    ]


def severity_of(evidence: GroupEvidence, found: GroupFinding) -> Severity:
    """That of its evidence, or of its kind. NO_MEMBERS is critical for a group that is configured to be always on."""
    if found.severity is None and found.kind is Kind.NO_MEMBERS and evidence.group.rule.always_on:
        return Severity.CRITICAL
    return found.severity or KINDS[found.kind].severity
