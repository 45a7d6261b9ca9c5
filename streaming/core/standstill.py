"""Why queues stand still though they have an owner: one small rule each, as those in ``causes``."""

from schemas.facts import Cause
from streaming.core.explanation import Explanation, ids
from streaming.core.progress import is_seen_to_move
from streaming.core.topic_evidence import TopicEvidence


def client_silent(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The owner is still listed, but does not answer."""
    silent = {m.place for m in topic.members.values() if m.client.unanswered_ts}
    owned_by_silent = frozenset(q for q in queues if silent & set(topic.owners(q)))
    if not owned_by_silent:
        return None
    owners = sorted({place for q in owned_by_silent for place in topic.owners(q)} & silent)
    since = min(topic.members[place].client.unanswered_ts for place in owners)
    text = f"{ids(topic, owners)} is listed but has not answered for {(topic.now - since) // 1000} s"
    return Explanation(Cause.CLIENT_STALLED, owned_by_silent, text, frozenset(owners))


def pulls_refused(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Members do not subscribe to the topic: after their heartbeats brokers refuse the pulls of those who do."""
    others = topic.not_subscribers
    if not others:
        return None
    text = f"{ids(topic, others)} is a member but does not subscribe to {topic.topic.name}"
    return Explanation(Cause.SUBSCRIPTION_MISMATCH, queues, text, frozenset(others))


def client_stuck(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The owner answers, and all of its queues stand still while others move."""
    owners = sorted({place for q in queues for place in topic.owners(q)})
    moving = [q for q in topic.queues if is_seen_to_move(topic.group, topic.group.state.queues[q])]
    at_work = {place for q in moving for place in topic.owners(q)}
    stuck = [place for place in owners if place not in at_work]  # brokers tell their offsets at different instants
    explained = frozenset(q for q in queues if set(topic.owners(q)) & set(stuck))
    text = f"every queue of {ids(topic, stuck)} stands still"
    return Explanation(Cause.CLIENT_STALLED, explained, text, frozenset(stuck))
