"""The finding of every queue in this round, and its cause. Pure: it reads what was observed, and changes nothing."""

from schemas.facts import Kind, Severity
from streaming.core.causes.explanation import Explanation
from streaming.core.causes.table import EXPLAINED, explain
from streaming.core.evidence.observation import TopicObservation
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.findings.broadcasting import judge_broadcasting
from streaming.core.findings.queue_rules import judge, judge_outside_route
from streaming.core.findings.verdict import Verdict

Verdicts = dict[int, Verdict]  # index of the queue -> what was found


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


def judge_topics(observations: list[TopicObservation]) -> list[TopicFindings]:
    """Every queue of every topic that was observed."""
    return [TopicFindings(observation.topic, _judge_topic(observation)) for observation in observations]


def _judge_topic(observation: TopicObservation) -> Verdicts:
    topic = observation.topic
    if topic.exclusion is not None:
        return _all(topic, topic.queues, Kind.EXCLUDED, topic.exclusion)
    if not topic.route_known:
        known = sorted(observation.held.union(topic.last_known_queues))
        return _all(topic, known, Kind.UNKNOWN, "the topic's route is not known")
    if not topic.members and not topic.uncovered:
        if topic.now < topic.ready_ts:
            return _all(topic, topic.queues, Kind.SETTLING, "its brokers list nobody yet")
        return _all(topic, topic.queues, Kind.NO_MEMBERS, "nobody to consume it")
    rule = judge_broadcasting if topic.broadcasts else judge
    verdicts = {q.index: rule(q) for q in observation.routed}
    outside = {q.index: judge_outside_route(q) for q in observation.outside}
    return verdicts | {index: verdict for index, verdict in outside.items() if verdict is not None}


def _all(topic: TopicEvidence, indices: list[int], kind: Kind, reason: str) -> Verdicts:
    return {i: Verdict(kind, Severity.NONE, reason, topic.owners(i), topic.last_expected(i)) for i in indices}
