"""What is kept of each queue's finding, and the facts that say what has changed."""

from msgspec.structs import replace

from schemas.facts import Interval, Kind, QueueFact, Severity
from schemas.reasons import Reason, ReasonKind
from streaming.core.evidence.exclusions import PERMANENT_EXCLUSIONS
from streaming.core.finding_kinds import BY_OFFSETS, NOT_RIGHT_BY_REPORTS
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.two_owners import note_two_owners
from streaming.core.findings.verdict import Verdict
from streaming.core.state.group import Group
from streaming.core.state.group_state import FINDING_CODES, SEVERITY_CODES
from streaming.core.state.queue_state import Queue


def record_findings(group: Group, found: list[TopicFindings]) -> None:
    """Keep what was found, and emit a fact for each queue of which something has changed."""
    for findings in found:
        _record_topic(group, findings)
    _drop_vanished(group, found)


def _record_topic(group: Group, findings: TopicFindings) -> None:
    topic = findings.evidence.topic
    has_news = topic.unreported != findings.evidence.unreported  # why a queue is UNKNOWN, and will be for long
    topic.unreported = findings.evidence.unreported
    for index, verdict in findings.verdicts.items():
        queue = group.state.queues[index]
        note_two_owners(findings.evidence, index, queue, verdict)
        cause = findings.causes.get(index)
        severity = SEVERITY_CODES.index(_severity(findings, queue, verdict))
        is_published = queue.severity == severity and _is_published(queue, verdict, cause)
        if is_published and not (has_news and verdict.kind is Kind.UNKNOWN):
            continue
        ended = _ended(group, queue)
        _update(group, queue, verdict, cause)
        queue.severity = severity
        queue.publish_delay_ms = group.state.now - queue.since_ts
        group.emit(_queue_fact(group, queue, verdict, ended), topic.name)


def _severity(findings: TopicFindings, queue: Queue, verdict: Verdict) -> Severity:
    """INFO for a queue of a retry topic in which no message waits: it does not alert."""
    if findings.evidence.is_retry and queue.consumer_lag <= 0 and verdict.severity is not Severity.NONE:
        return Severity.INFO
    return verdict.severity


def _is_published(queue: Queue, verdict: Verdict, cause: str | None) -> bool:
    return (
        queue.publish_delay_ms >= 0
        and FINDING_CODES[queue.finding] is verdict.kind
        and queue.cause == cause
        and queue.owners == verdict.owners
        and queue.expected == verdict.expected
    )


def _update(group: Group, queue: Queue, verdict: Verdict, cause: str | None) -> None:
    code = FINDING_CODES.index(verdict.kind)
    if queue.finding != code or queue.publish_delay_ms < 0:
        was_right = queue.publish_delay_ms >= 0 and FINDING_CODES[queue.finding] is Kind.MATCH
        queue.unhealthy_since_ts = _unhealthy_since(group, queue, verdict)
        queue.finding = code
        queue.since_ts = group.state.now
        _note_proof(queue, verdict, code, was_right)
    elif verdict.kind is Kind.DUPLICATED and set(verdict.owners) != set(queue.owners):
        queue.evidence_ts = verdict.newest_ts  # others than those who were to say it again
    queue.owners = verdict.owners
    queue.expected = verdict.expected
    queue.cause = cause


def _note_proof(queue: Queue, verdict: Verdict, code: int, was_right: bool) -> None:
    """Keeps the first proof across UNKNOWN and SETTLING, so that members who come and go all the time cannot reset it.

    If the queue was right and no change is known, there may have been one between two rounds (a quick restart). Then
    the client that reported last must report it again, too.
    """
    if not queue.unhealthy_since_ts:
        queue.proven = queue.evidence_ts = 0
    elif verdict.newest_ts and queue.proven != code:
        queue.proven, queue.evidence_ts = code, verdict.newest_ts + was_right


def _unhealthy_since(group: Group, queue: Queue, verdict: Verdict) -> int:
    """Epoch ms since when the queue has not been right; 0: it is right. SETTLING and a lost owner are not right."""
    has_lost_its_owner = (
        verdict.kind is Kind.UNKNOWN and FINDING_CODES[queue.finding] is Kind.MATCH and not verdict.owners
    )
    if verdict.kind in NOT_RIGHT_BY_REPORTS or has_lost_its_owner:
        return queue.unhealthy_since_ts or group.state.now
    is_undecided = verdict.kind is Kind.UNKNOWN or (verdict.kind is Kind.EXCLUDED and not _stands(verdict))
    return queue.unhealthy_since_ts if is_undecided else 0


def _stands(verdict: Verdict) -> bool:
    return verdict.reason is not None and verdict.reason.kind in PERMANENT_EXCLUSIONS


def began_ts(queue: Queue, kind: Kind) -> int:
    """Since when the queue is not as it should be, by evidence, the time in which it settled included.

    Epoch ms. Of what is right or not known: since when it has been found.
    """
    if kind is Kind.STALLED and queue.stalled_ms > 0:
        return queue.progress_ts - queue.stalled_ms
    if kind in BY_OFFSETS:
        return queue.unconsumed_since_ts or queue.since_ts
    return (kind in NOT_RIGHT_BY_REPORTS and queue.unhealthy_since_ts) or queue.since_ts


def _ended(group: Group, queue: Queue) -> Interval | None:
    if queue.publish_delay_ms < 0:
        return None
    return Interval(
        finding=FINDING_CODES[queue.finding].value,
        cause=queue.cause,
        owners=group.client_ids(queue.owners),
        expected=None if queue.expected is None else group.client_ids(queue.expected),
        from_ts=queue.since_ts + queue.publish_delay_ms,
        to_ts=group.state.now,
        severity=SEVERITY_CODES[queue.severity].value,
    )


def _queue_fact(group: Group, queue: Queue, verdict: Verdict, ended: Interval | None) -> QueueFact:
    return QueueFact(
        broker_name=group.state.brokers[queue.broker].name,
        queue_id=queue.queue_id,
        finding=verdict.kind.value,
        severity=SEVERITY_CODES[queue.severity].value,
        cause=queue.cause,
        reason=None if verdict.reason is None else verdict.reason.kind.value,
        reason_details=None if verdict.reason is None else verdict.reason.details,
        owners=group.client_ids(verdict.owners),
        expected=None if verdict.expected is None else group.client_ids(verdict.expected),
        since_ts=began_ts(queue, verdict.kind),
        ended=ended,
    )


def _drop_vanished(group: Group, found: list[TopicFindings]) -> None:
    """Queues that left the route and have no owner: emits one fact for each, and keeps since when it is so."""
    judged = {index for findings in found for index in findings.verdicts}
    unknown_route = {f.evidence.index for f in found if not f.evidence.route_known}
    for index, queue in enumerate(group.state.queues):
        if index in judged or queue.publish_delay_ms < 0 or queue.topic in unknown_route:
            continue
        verdict = Verdict(Kind.MATCH, Severity.NONE, Reason(ReasonKind.LEFT_ROUTE), [], [])
        ended, queue.severity = _ended(group, queue), 0
        fact = replace(_queue_fact(group, queue, verdict, ended), present=False)
        queue.publish_delay_ms, queue.finding = -1, FINDING_CODES.index(Kind.MATCH)
        queue.since_ts = group.state.now
        queue.owners, queue.expected, queue.anomaly = [], None, None
        group.emit(fact, group.state.topics[queue.topic].name)
