"""MESSAGE_MODEL_MISMATCH: some members of a CLUSTERING group are BROADCASTING."""

from schemas.facts import Cause, Kind
from schemas.observed import MessageModelsDiffer
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence


def message_model_mismatch(topic: TopicEvidence, found: Found) -> Explanation | None:
    """A BROADCASTING member takes every queue, whatever it is given, and keeps its offsets to itself.

    The others share out the queues among all members, that one included (RebalanceImpl.rebalanceByTopic). So each queue
    of another member has two owners, and the group's offset stands still in its own share.
    """
    broadcasting = topic.of_group.broadcasting & topic.members.keys()
    if not broadcasting or topic.broadcasts:
        return None
    owners = {queue: set(topic.owners(queue)) for queue in topic.queues}
    if found.kind is Kind.DUPLICATED:
        explained = {queue for queue, those in owners.items() if those & broadcasting}
        predicted = {queue for queue, those in (topic.expected or {}).items() if set(those) - broadcasting}
    else:
        explained = {queue for queue, those in owners.items() if those and those <= broadcasting}
        predicted = set()
    others = topic.members.keys() - broadcasting
    observed = MessageModelsDiffer(broadcasting=topic.clients(broadcasting), clustering=topic.clients(others))
    few = broadcasting if len(broadcasting) <= len(others) else others
    return explanation(Cause.MESSAGE_MODEL_MISMATCH, found.queues & explained, observed, few, predicted)
