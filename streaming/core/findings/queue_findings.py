"""The finding of every queue in this round, and its cause. Pure: it reads what was observed, and changes nothing."""

from schemas.facts import Kind, Severity
from schemas.reasons import Reason, ReasonKind
from streaming.core.causes.explanation import Explanation, Found
from streaming.core.causes.table import EXPLAINED, explain
from streaming.core.evidence.observation import TopicObservation
from streaming.core.evidence.polls import are_polls_known, polled_queue
from streaming.core.evidence.queue_evidence import QueueEvidence
from streaming.core.evidence.queue_record import is_plainly_right, record_of, record_outside_route
from streaming.core.evidence.stalls import is_overdue
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS, RIGHT, WRONG_BY_POLLS
from streaming.core.findings.broadcasting import judge_broadcasting
from streaming.core.findings.polled import judge_polled
from streaming.core.findings.queue_rules import judge, judge_by_offsets, judge_outside_route
from streaming.core.findings.verdict import Verdict
from streaming.core.state.offsets import is_seen_to_move

UNREADABLE = Reason(ReasonKind.UNREADABLE)
Verdicts = dict[int, Verdict]  # index of the queue -> what was found


class TopicFindings:
    def __init__(self, evidence: TopicEvidence, verdicts: Verdicts) -> None:
        self.evidence = evidence
        self.verdicts = verdicts
        self.causes: dict[int, str] = {}
        self.why: dict[Kind, Explanation] = {}
        for kind in {verdict.kind for verdict in verdicts.values()} & EXPLAINED:
            queues = frozenset(index for index, verdict in verdicts.items() if verdict.kind is kind)
            why = explain(evidence, Found(kind, queues), self.right(kind))
            if why is None:
                continue
            self.why[kind] = why
            self.causes.update(dict.fromkeys(queues, why.cause.value))

    def right(self, kind: Kind) -> frozenset[int]:
        """Queues of which it is known that they do not have the finding. Where no message waits, none stands still."""
        judged = ((index, verdict) for index, verdict in self.verdicts.items() if verdict.reason is not UNREADABLE)
        right = (index for index, verdict in judged if verdict.kind in RIGHT)
        if kind not in BY_OFFSETS:
            return frozenset(right)
        queues = self.evidence.group.state.queues
        return frozenset(i for i in right if queues[i].pull_lag > 0 and is_seen_to_move(self.evidence.group, queues[i]))


def judge_topics(observations: list[TopicObservation]) -> list[TopicFindings]:
    return [TopicFindings(observation.topic, _judge_topic(observation)) for observation in observations]


def _judge_topic(observation: TopicObservation) -> Verdicts:
    topic = observation.topic
    unreadable = {i: Verdict(Kind.EXCLUDED, Severity.NONE, UNREADABLE, topic.owners(i), None) for i in topic.unreadable}
    if topic.finding_of_all is not None:
        overdue = {q.index: judge_by_offsets(record_of(q)) for q in observation.routed}
        judged = {index: verdict for index, verdict in overdue.items() if verdict is not None}
        return _all(observation, *topic.finding_of_all) | unreadable | judged
    if topic.is_polled:
        return {q.index: _judge_polled(q) for q in observation.routed} | unreadable
    verdicts = {q.index: _judge(q) for q in observation.routed}
    outside = {q.index: judge_outside_route(record_outside_route(q)) for q in observation.outside if q.owners}
    return verdicts | unreadable | outside


def _judge(q: QueueEvidence) -> Verdict:
    if is_plainly_right(q):
        return Verdict(Kind.MATCH, Severity.NONE, None, q.owners, q.expected)
    return judge_broadcasting(record_of(q)) if q.topic.broadcasts else judge(record_of(q))


def _judge_polled(q: QueueEvidence) -> Verdict:
    """By polls, unless messages have waited for ten minutes: that is STALLED, whatever polls say."""
    are_known = are_polls_known(q.topic, q.queue)
    by_polls = judge_polled(polled_queue(q.topic, q.index)) if are_known else _excluded(q.topic)
    alerts_sooner = by_polls.kind in WRONG_BY_POLLS and q.fired_stall is None
    by_offsets = judge_by_offsets(record_of(q)) if is_overdue(q.topic.of_group, q.queue) and not alerts_sooner else None
    return by_polls if by_offsets is None else by_offsets


def _excluded(topic: TopicEvidence) -> Verdict:
    """The verdict where a broker does not say how many polls wait, as those of the 4.x line."""
    exclusion = topic.of_group.exclusion
    return Verdict(Kind.EXCLUDED, Severity.NONE, None if exclusion is None else Reason(exclusion), [], None)


def _all(observation: TopicObservation, kind: Kind, reason: Reason) -> Verdicts:
    """One verdict for all queues in the route; if that is not known, for all that were known or have an owner."""
    topic = observation.topic
    is_lost = kind is Kind.UNKNOWN and not topic.route_known
    indices = sorted(observation.held.union(topic.last_known_queues)) if is_lost else topic.queues
    return {i: Verdict(kind, Severity.NONE, reason, topic.owners(i), topic.queue(i).expected) for i in indices}
