"""Keeps each queue's finding, and emits a fact where something has changed."""

from msgspec import Struct

from schemas.facts import Interval, Kind, QueueFact, Severity
from schemas.reasons import Reason, ReasonKind
from streaming.core.evidence.exclusions import PERMANENT_EXCLUSIONS
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS, NOT_RIGHT_BY_REPORTS, RIGHT, WRONG_BY_POLLS
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.verdict import Verdict
from streaming.core.state.group import Group
from streaming.core.state.group_state import FINDING_CODES, SEVERITY_CODES, left_the_route
from streaming.core.state.queue_state import Queue


class QueueSince(Struct, frozen=True, gc=False):
    """Since when a queue has what was recorded of it last, epoch ms.

    ``began_ts``: since when it is not as it should be, the time in which it settled included. ``evidence_ts``: the time
    of the newest report when its finding was proven first; 0: reports did not prove it. ``has_left_route``: its newest
    fact says that it left the route, at ``since_ts``.
    """

    since_ts: int
    began_ts: int
    evidence_ts: int
    has_left_route: bool


Since = dict[int, QueueSince]  # by the index of the queue


def record_findings(group: Group, found: list[TopicFindings]) -> Since:
    """Keeps what was found, and emits a fact for each queue of which something has changed.

    Returns since when it is so, for the steps of the evaluation that follow.
    """
    for findings in found:
        _record_topic(group, findings)
    not_judged = _not_judged(group, found)
    _drop_vanished(group, found, not_judged)
    return _since(group, found, not_judged)


def recorded_since(group: Group, found: list[TopicFindings]) -> Since:
    """Since when it is so, as the last evaluation has recorded it: of queues that are not MATCH, or not judged now."""
    return _since(group, found, _not_judged(group, found))


def _not_judged(group: Group, found: list[TopicFindings]) -> list[int]:
    judged = {index for findings in found for index in findings.verdicts}
    known = len(group.state.queues)
    return [] if len(judged) == known else [index for index in range(known) if index not in judged]


def _since(group: Group, found: list[TopicFindings], not_judged: list[int]) -> Since:
    queues = group.state.queues
    kinds: dict[int, Kind] = {
        index: verdict.kind
        for findings in found
        for index, verdict in findings.verdicts.items()
        if verdict.kind is not Kind.MATCH
    }
    kinds |= {index: FINDING_CODES[queues[index].finding] for index in not_judged}
    of_kind = ((index, queues[index], kind) for index, kind in kinds.items())
    return {i: QueueSince(q.since_ts, began_ts(q, kind), q.evidence_ts, left_the_route(q)) for i, q, kind in of_kind}


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
    stands = verdict.reason is not None and verdict.reason.kind in PERMANENT_EXCLUSIONS
    is_undecided = verdict.kind is Kind.UNKNOWN or (verdict.kind is Kind.EXCLUDED and not stands)
    return queue.unhealthy_since_ts if is_undecided else 0


def began_ts(queue: Queue, kind: Kind) -> int:
    """Since when the queue is not as it should be, by evidence, the time in which it settled included.

    Epoch ms. Of what is right or not known: since when it has been found.
    """
    if kind is Kind.STALLED and queue.stalled_ms > 0:
        return queue.progress_ts - queue.stalled_ms
    if kind in BY_OFFSETS or kind in WRONG_BY_POLLS:
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


def _queue_fact(
    group: Group, queue: Queue, verdict: Verdict, ended: Interval | None, *, present: bool = True
) -> QueueFact:
    return QueueFact(
        broker_name=group.broker_of(queue).name,
        queue_id=queue.queue_id,
        finding=verdict.kind.value,
        severity=SEVERITY_CODES[queue.severity].value,
        cause=queue.cause,
        reason=None if verdict.reason is None else verdict.reason.kind.value,
        reason_details=None if verdict.reason is None else verdict.reason.details,
        owners=group.client_ids(verdict.owners),
        expected=None if verdict.expected is None else group.client_ids(verdict.expected),
        since_ts=began_ts(queue, verdict.kind),
        present=present,
        ended=ended,
    )


def _drop_vanished(group: Group, found: list[TopicFindings], not_judged: list[int]) -> None:
    """Queues that left the route and have no owner: emits one fact for each, and keeps since when it is so."""
    unknown_route = {f.evidence.index for f in found if not f.evidence.route_known}
    for queue in group.queues_at(not_judged):
        if queue.publish_delay_ms < 0 or queue.topic in unknown_route:
            continue
        verdict = Verdict(Kind.MATCH, Severity.NONE, Reason(ReasonKind.LEFT_ROUTE), [], [])
        ended, queue.severity = _ended(group, queue), 0
        fact = _queue_fact(group, queue, verdict, ended, present=False)
        queue.publish_delay_ms, queue.finding = -1, FINDING_CODES.index(Kind.MATCH)
        queue.since_ts = group.state.now
        queue.owners, queue.expected, queue.anomaly = [], None, None
        group.emit(fact, group.topic_of(queue).name)


def note_two_owners(topic: TopicEvidence, index: int, queue: Queue, verdict: Verdict) -> None:
    """Count how often one instance reports the queue after another instance has, less the changes meanwhile.

    A client that releases a queue says so in its next report. So if x, y, x, y ... report it in turn, the queue has
    changed hands each time, or has two owners. It changes hands only after a change of members or routes. No other
    client needs to report for this. Between two instances under one id it never changes hands: both compute one share.
    """
    holders = [] if verdict.kind in RIGHT else _holders(topic, index)
    reported = [ts for _, ts in holders]
    if len(reported) < 2:
        if queue.anomaly is not None:
            queue.two_owners_since_ts = queue.newest_owner_report_ts = queue.unexplained_reports = 0
        return
    if not queue.two_owners_since_ts:
        queue.two_owners_since_ts, queue.newest_owner_report_ts = topic.now, max(reported)
        return
    new = [ts for ts in reported if ts > queue.newest_owner_report_ts]
    if new:
        # the instance that reported last may be one of these: then its new report proves nothing
        queue.unexplained_reports += len(new) if queue.newest_owner_report_ts in reported else len(new) - 1
        queue.newest_owner_report_ts = max(new)
    are_of_one_id = len({member for member, _ in holders}) == 1
    if topic.grace.change_ts > topic.now - topic.of_group.interval and not are_of_one_id:
        queue.unexplained_reports -= 1


def _holders(topic: TopicEvidence, index: int) -> list[tuple[int, int]]:
    """Each instance that owns the queue by its newest report, if that is recent: its client, and when it answered."""
    holders = topic.of_group.holders.get(index, ())
    if len(holders) < 2:
        return []
    oldest = topic.now - topic.timing.report_max_age_ms
    return [(member.index, ts) for member, ts in holders if ts >= oldest and member.index in topic.members]
