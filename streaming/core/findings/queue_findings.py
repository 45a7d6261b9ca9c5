"""Expected against actual, queue by queue: what is found now, and what has changed since the last time."""

from schemas.facts import Cause, Interval, Kind, QueueFact, Severity
from streaming.core.causes.explanation import Explanation
from streaming.core.causes.rules import RULES, explain
from streaming.core.evidence.exclusions import STANDS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.stalls import InHand, held_by
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.findings.kinds import BY_OFFSETS, NOT_RIGHT_BY_REPORTS
from streaming.core.findings.queue_rules import QueueEvidence, Verdict, judge, judge_outside_route
from streaming.core.findings.two_owners import note_two_owners
from streaming.core.intake.consume_offsets import STARTED_AFRESH
from streaming.core.state.group import Group
from streaming.core.state.group_state import FINDING_CODES, SEVERITY_CODES
from streaming.core.state.queue_state import Queue

EXPLAINED = frozenset(RULES)

Verdicts = dict[int, Verdict]  # place of the queue -> what was found


class TopicFindings:
    """What was found of one topic's queues, and why."""

    __slots__ = ("causes", "evidence", "verdicts", "why")

    def __init__(self, evidence: TopicEvidence, verdicts: Verdicts) -> None:
        self.evidence = evidence
        self.verdicts = verdicts
        self.causes: dict[int, str] = {}
        self.why: dict[Kind, Explanation] = {}
        for kind in {verdict.kind for verdict in verdicts.values()} & EXPLAINED:
            queues = frozenset(index for index, verdict in verdicts.items() if verdict.kind is kind)
            why = explain(evidence, kind, queues)
            if why is None:
                continue
            self.why[kind] = why
            self.causes.update(dict.fromkeys(queues, why.cause.value))


def update_queue_findings(group: Group, evidence: GroupEvidence) -> list[TopicFindings]:
    """Judge every queue of every topic of the group, and tell what changed."""
    found = judge_topics(group, evidence)
    for findings in found:
        _take_over(group, findings)
    _tell_vanished(group, found)
    return found


def judge_topics(group: Group, evidence: GroupEvidence) -> list[TopicFindings]:
    """What is found of every topic now. Nothing is told, so at the same marker it can be asked again."""
    held = _held_by_topic(group, evidence)
    found = []
    for index, topic in enumerate(group.state.topics):
        if index in group.abandoned:
            continue
        of_topic = TopicEvidence(evidence, index, topic)
        _note_life(of_topic)
        found.append(TopicFindings(of_topic, _judge_topic(of_topic, held.get(index, set()))))
    return found


def _held_by_topic(group: Group, evidence: GroupEvidence) -> dict[int, set[int]]:
    held: dict[int, set[int]] = {}
    for queue in evidence.holders:
        held.setdefault(group.state.queues[queue].topic, set()).add(queue)
    return held


def _note_life(topic: TopicEvidence) -> None:
    if not topic.members:
        if not topic.uncovered:
            topic.topic.has_members_since_ts = 0
            topic.topic.is_committed = False
    elif not topic.topic.has_members_since_ts:
        topic.topic.has_members_since_ts = topic.now


def _judge_topic(topic: TopicEvidence, held: set[int]) -> Verdicts:
    if topic.exclusion is not None:
        return _all(topic, topic.queues, Kind.EXCLUDED, topic.exclusion)
    if not topic.route_known:
        return _all(topic, sorted(held | _last_known(topic)), Kind.UNKNOWN, "the topic's route is not known")
    if not topic.members and not topic.uncovered:
        young = topic.now < topic.ready_ts
        kind, why = (
            (Kind.SETTLING, "its brokers list nobody yet") if young else (Kind.NO_MEMBERS, "nobody to consume it")
        )
        return _all(topic, topic.queues, kind, why)
    verdicts = {index: _judge(topic, index) for index in topic.queues}
    for index in sorted(held - verdicts.keys()):
        queue = topic.group.state.queues[index]
        queue.mismatch_since_ts = queue.mismatch_since_ts or topic.now
        verdict = judge_outside_route(QueueEvidence(topic, index))
        if verdict is not None:
            verdicts[index] = verdict
    return verdicts


def _last_known(topic: TopicEvidence) -> set[int]:
    """Places of the queues that the last route which named any had."""
    if topic.queues:
        return set(topic.queues)
    queues = topic.group.state.queues
    return {p for p, queue in enumerate(queues) if queue.topic == topic.index and queue.publish_delay_ms >= 0}


def _judge(topic: TopicEvidence, index: int) -> Verdict:
    """A queue that was nobody's, or in no route, stood still for that reason: it is given the whole time to move.

    So is one of a topic on which name servers differ, or did just now, unless it is known to stand still.
    """
    queue = topic.group.state.queues[index]
    evidence = _evidence(topic, index)
    if queue.stalled_ms > 0 or queue.unconsumed_since_ts:
        is_new = queue.publish_delay_ms < 0 or (topic.is_converging and FINDING_CODES[queue.finding] not in BY_OFFSETS)
        begins_afresh = is_new or _is_taken_over(topic, queue, evidence)
        if queue.stalled_ms > 0 and begins_afresh:
            queue.stalled_ms = STARTED_AFRESH
        if queue.unconsumed_since_ts and (begins_afresh or (evidence.newest and not queue.owners)):
            queue.unconsumed_since_ts = topic.now
    return judge(evidence)


def _is_taken_over(topic: TopicEvidence, queue: Queue, evidence: QueueEvidence) -> bool:
    """From nobody, from a dead connection, or from an owner under whom it stood still: not the new owner's doing."""
    found = FINDING_CODES[queue.finding]
    if found is Kind.STALLED and queue.cause == Cause.STALE_CONNECTION and not topic.has_an_id_twice:
        return True
    if found is Kind.STALLED:
        return not set(evidence.newest) <= set(queue.owners)
    return found is Kind.ORPHANED and bool(evidence.newest or topic.now < topic.ready_ts)


def _evidence(topic: TopicEvidence, index: int) -> QueueEvidence:
    """Also notes since when the queue has not looked right for want of evidence that counts: settling has an end.

    And since when the owner of a queue that stands still has nothing in hand.
    """
    queue = topic.group.state.queues[index]
    evidence = QueueEvidence(topic, index)
    if evidence.looks_right or topic.is_complete or not topic.is_fresh:
        if queue.anomaly is not None:
            queue.mismatch_since_ts = 0
    elif not queue.mismatch_since_ts:
        queue.mismatch_since_ts = topic.now
    if not (queue.stalled_ms > 0 or queue.unconsumed_since_ts) or not _has_nothing_in_hand(evidence):
        if queue.anomaly is not None:
            queue.idle_since_ts = 0
    elif not queue.idle_since_ts:
        queue.idle_since_ts = max(
            (r.answered_ts for owner in evidence.newest for r in topic.members[owner].reports), default=0
        )
    return evidence


def _has_nothing_in_hand(q: QueueEvidence) -> bool:
    return held_by(q.topic, q.index, q.newest) is InHand.NOTHING


def _all(topic: TopicEvidence, indices: list[int], kind: Kind, reason: str) -> Verdicts:
    queues = topic.group.state.queues
    return {p: Verdict(kind, Severity.NONE, reason, topic.owners(p), queues[p].expected) for p in indices}


def _take_over(group: Group, findings: TopicFindings) -> None:
    """Keep what was found in the queues' state, and tell what differs from what was told."""
    topic_name, topic = findings.evidence.topic.name, findings.evidence.topic
    has_news = topic.untold != findings.evidence.untold  # why a queue is UNKNOWN, and will be for long
    topic.untold = findings.evidence.untold
    for index, verdict in findings.verdicts.items():
        queue = group.state.queues[index]
        note_two_owners(findings.evidence, index, verdict)
        cause = findings.causes.get(index)
        severity = SEVERITY_CODES.index(_severity(findings, queue, verdict))
        is_as_told = queue.severity == severity and _is_as_told(queue, verdict, cause)
        if is_as_told and not (has_news and verdict.kind is Kind.UNKNOWN):
            continue
        ended = _ended(group, queue)
        _update(group, queue, verdict, cause)
        queue.severity = severity
        queue.publish_delay_ms = group.state.now - queue.since_ts
        group.emit(_queue_fact(group, queue, verdict, ended), topic_name)


def _severity(findings: TopicFindings, queue: Queue, verdict: Verdict) -> Severity:
    """Of a retry topic's queue that no message waits in, a finding is worth no more than knowing: it alerts nobody."""
    if findings.evidence.is_retry and queue.consumer_lag <= 0 and verdict.severity is not Severity.NONE:
        return Severity.INFO
    return verdict.severity


def _is_as_told(queue: Queue, verdict: Verdict, cause: str | None) -> bool:
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
        queue.unhealthy_since_ts = _wrong_since(group, queue, verdict)
        queue.finding = code
        queue.since_ts = group.state.now
        _note_proof(queue, verdict, code, was_right)
    elif verdict.kind is Kind.DUPLICATED and set(verdict.owners) != set(queue.owners):
        queue.evidence_ts = verdict.newest_ts  # others than those who were to say it again
    queue.owners = verdict.owners
    queue.expected = verdict.expected
    queue.cause = cause


def _note_proof(queue: Queue, verdict: Verdict, code: int, was_right: bool) -> None:
    """What was proven once counts still when it is proven again after a time that could not be decided.

    So a group that changes all the time, never at rest for long enough to prove anything twice in a row, is told of.
    Where all was right and no change is known of, there may have been one between two rounds (a quick restart): then
    who spoke last must say it again, too.
    """
    if not queue.unhealthy_since_ts:
        queue.proven = queue.evidence_ts = 0
    elif verdict.newest_ts and queue.proven != code:
        queue.proven, queue.evidence_ts = code, verdict.newest_ts + was_right


def _wrong_since(group: Group, queue: Queue, verdict: Verdict) -> int:
    """One that settles does not look right either, nor one that was right until its owner left; 0: nothing is wrong."""
    has_lost_its_owner = (
        verdict.kind is Kind.UNKNOWN and FINDING_CODES[queue.finding] is Kind.MATCH and not verdict.owners
    )
    if verdict.kind in NOT_RIGHT_BY_REPORTS or has_lost_its_owner:
        return queue.unhealthy_since_ts or group.state.now
    is_undecided = verdict.kind is Kind.UNKNOWN or (verdict.kind is Kind.EXCLUDED and verdict.reason not in STANDS)
    return queue.unhealthy_since_ts if is_undecided else 0


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
        reason=verdict.reason,
        owners=group.client_ids(verdict.owners),
        expected=None if verdict.expected is None else group.client_ids(verdict.expected),
        since_ts=queue.since_ts,
        ended=ended,
    )


def _tell_vanished(group: Group, found: list[TopicFindings]) -> None:
    """Queues that the route no longer has and nobody holds: told once, and forgotten unless an alert lists them."""
    judged = {index for findings in found for index in findings.verdicts}
    unknown_route = {f.evidence.index for f in found if not f.evidence.route_known}
    for index, queue in enumerate(group.state.queues):
        if index in judged or queue.publish_delay_ms < 0 or queue.topic in unknown_route:
            continue
        verdict = Verdict(Kind.MATCH, Severity.NONE, "no longer in the route", [], [])
        ended, queue.severity = _ended(group, queue), 0
        fact = _queue_fact(group, queue, verdict, ended)
        queue.publish_delay_ms, queue.finding = -1, FINDING_CODES.index(Kind.MATCH)
        queue.owners, queue.expected, queue.anomaly = [], None, None
        group.emit(_gone(fact), group.state.topics[queue.topic].name)


def _gone(fact: QueueFact) -> QueueFact:
    return QueueFact(**{name: getattr(fact, name) for name in fact.__struct_fields__} | {"present": False})
