"""The status of a group: one word for what was found of it, and one fact when it changes."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from hashlib import blake2b

import msgspec

from schemas.facts import GroupFact, Kind, Severity
from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.finding_kinds import WRONG, is_less_than_usual
from streaming.core.findings.group_findings import severity_of
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.verdict import GroupFinding, Verdict
from streaming.core.polls_told import note_polls_told, number_popped, polls_of_group
from streaming.core.state.group import Group
from streaming.core.waiting import has_group_news, note_group_told, pop_lag, waiting_of_group

REPEAT_STATUS_MS = 3_600_000  # distinguishes a group at rest from one without rounds


class GroupStatus(StrEnum):
    EXCLUDED = "excluded"
    EMPTY = "empty"
    FINDINGS = "findings"
    UNKNOWN = "unknown"
    SETTLING = "settling"
    HEALTHY = "healthy"


def group_status(*, excluded: bool, empty: bool, wrong: bool, unknown: bool, undecided: bool) -> GroupStatus:
    """The first status that applies. A group is healthy only if everything was judged.

    ``empty``: no broker lists a member. ``undecided``: it is too early to judge. ``excluded``: the owners of its queues
    are not judged. What offsets show counts all the same.
    """
    if excluded:
        return GroupStatus.FINDINGS if wrong else GroupStatus.EXCLUDED
    if empty:
        return GroupStatus.EMPTY
    if wrong:
        return GroupStatus.FINDINGS
    if unknown:
        return GroupStatus.UNKNOWN
    return GroupStatus.SETTLING if undecided else GroupStatus.HEALTHY


def emit_group_status(
    group: Group,
    evidence: GroupEvidence,
    found: list[TopicFindings],
    group_findings: list[GroupFinding],
    is_alert_undecided: bool,
    before: int,
) -> None:
    """One fact when the status, what it counts or what waits has changed, and one an hour while it has not.

    ``is_alert_undecided``: an alert fires that nothing has shown to be over. ``before``: the marker before this one.
    """
    state = group.state
    counts = Counter(verdict.kind.value for findings in found for verdict in findings.verdicts.values())
    retry_counts = Counter(kind.value for findings in found for kind in _of_idle_retries(group, findings))
    kinds = Counter(finding.kind.value for finding in group_findings)
    reason = _reason(evidence, found)
    fact = GroupFact(
        status=_status(evidence, found, counts, group_findings, is_alert_undecided).value,
        members=sum(member.entries for member in evidence.members.values()),
        queues=sum(counts.values()),
        counts=dict(sorted((counts + kinds).items())),
        brokers_covered=len(state.brokers) - len(evidence.uncovered),
        brokers_known=len(state.brokers),
        members_reporting=sum(1 for member in evidence.members.values() if member.as_of),
        reason=None if reason is None else reason.kind.value,
        reason_details=None if reason is None else reason.details,
        retry_counts=dict(sorted(retry_counts.items())),
    )
    shown = f"{fact.status} {fact.members} {fact.counts} {fact.brokers_covered}"
    if retry_counts:
        shown += f" {fact.retry_counts}"
    if popped := number_popped(group):
        shown += f" p{popped}"
    if reason is not None and any(findings.evidence.unreported for findings in found):
        shown += f" {_digest(reason)}"  # it lasts
    is_due = state.now - state.status_ts >= REPEAT_STATUS_MS
    if shown != state.status or is_due or has_group_news(group, before):
        state.status, state.status_ts = shown, state.now
        note_group_told(group)
        note_polls_told(group)
        waiting, read_ts, fullest = waiting_of_group(evidence)
        lag = {"waiting": waiting, "read_ts": read_ts, "fullest": fullest, **pop_lag(evidence)._asdict()}
        group.emit(msgspec.structs.replace(fact, **lag, polls=polls_of_group(group)))


def _of_idle_retries(group: Group, findings: TopicFindings) -> Iterator[Kind]:
    """The findings of queues of a retry topic in which no message waits: no alert names them."""
    if findings.evidence.is_retry:
        for index, verdict in findings.verdicts.items():
            if verdict.kind in WRONG and group.state.queues[index].consumer_lag <= 0:
                yield verdict.kind


def _digest(reason: Reason) -> str:
    """Short, as it is kept in the state of every group that has such a reason."""
    return blake2b(msgspec.json.encode(reason), digest_size=8).hexdigest()


def _status(
    evidence: GroupEvidence,
    found: list[TopicFindings],
    counts: Counter[str],
    group_findings: list[GroupFinding],
    is_alert_undecided: bool,
) -> GroupStatus:
    less = [] if WRONG.isdisjoint(map(Kind, counts)) else list(map(_is_less, _wrong_ones(found)))
    return group_status(
        excluded=is_excluded(evidence, found),
        empty=_is_empty(evidence),
        wrong=not all(less) or any(severity_of(evidence, finding) is not Severity.INFO for finding in group_findings),
        unknown=bool(evidence.uncovered) or not counts or any(_is_unknown(findings) for findings in found),
        undecided=is_alert_undecided or bool(counts[Kind.SETTLING.value] or counts[Kind.UNKNOWN.value]) or any(less),
    )


def _wrong_ones(found: list[TopicFindings]) -> Iterator[Verdict]:
    return (verdict for findings in found for verdict in findings.verdicts.values() if verdict.kind in WRONG)


def _is_less(verdict: Verdict) -> bool:
    """A listener works on a message for a while."""
    return is_less_than_usual(verdict.kind, verdict.severity)


def is_excluded(evidence: GroupEvidence, found: list[TopicFindings]) -> bool:
    """Whether no queue of the group is judged. Those of gRPC clients are where brokers say how many polls wait."""
    return evidence.exclusion is not None and not any(findings.evidence.is_polled for findings in found)


def _is_empty(evidence: GroupEvidence) -> bool:
    return not evidence.members and not evidence.uncovered


def _reason(evidence: GroupEvidence, found: list[TopicFindings]) -> Reason | None:
    """Why the group is not judged: its own reason, or that of its first queue that is UNKNOWN, else SETTLING."""
    if evidence.exclusion is not None and is_excluded(evidence, found):
        return Reason(evidence.exclusion)
    if _is_empty(evidence):
        since_ts = evidence.group.state.empty_since
        return Reason(ReasonKind.NO_MEMBERS, ReasonDetails(since_ts=since_ts) if since_ts else None)
    reasons = {v.kind: v.reason for f in reversed(found) for v in reversed(f.verdicts.values())}
    return reasons.get(Kind.UNKNOWN) or reasons.get(Kind.SETTLING)


def _is_unknown(findings: TopicFindings) -> bool:
    """True if some queue is UNKNOWN, and not only because the topic has just changed."""
    is_settling = findings.evidence.route_known and findings.evidence.now < findings.evidence.grace.ready_ts
    return not is_settling and any(verdict.kind is Kind.UNKNOWN for verdict in findings.verdicts.values())
