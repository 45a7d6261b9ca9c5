"""Why queues stand still though they have an owner: one small rule each, as those in ``causes``."""

from collections.abc import Callable

from schemas.facts import Cause
from streaming.core.causes.explanation import Explanation, do_not_subscribe, ids, ids_and
from streaming.core.evidence.group_evidence import MemberEvidence
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.intake.consume_offsets import is_seen_to_move


def client_silent(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The owner has answered before, is still listed, and has not answered for as long as a stall takes."""
    latest = topic.now - topic.group.timing.stall_ms
    silent = {m.index for m in topic.members.values() if m.client.unanswered_since_ts and 0 < _answered_ts(m) <= latest}
    owned_by_silent = frozenset(q for q in queues if silent & set(topic.owners(q)))
    if not owned_by_silent:
        return None
    owners = sorted({index for q in owned_by_silent for index in topic.owners(q)} & silent)
    since = min(_answered_ts(topic.members[index]) for index in owners)
    text = ids_and(topic, owners, "is listed but has", "are listed but have")
    text += f" not answered for {(topic.now - since) // 1000} s"
    return Explanation(Cause.CLIENT_STALLED, owned_by_silent, text, frozenset(owners))


def _answered_ts(member: MemberEvidence) -> int:
    return max((report.answered_ts for report in member.reports), default=0)


def pulls_refused(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Members do not subscribe to the topic: after their heartbeats brokers refuse the pulls of those who do."""
    others = topic.not_subscribers
    if not others:
        return _subscriptions_take_turns(topic, queues)
    text = do_not_subscribe(topic, others)
    return Explanation(Cause.SUBSCRIPTION_MISMATCH, queues, text, frozenset(others))


def _subscriptions_take_turns(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Whether brokers show sets of topics in turn of which some lack this one: who sent the last is not known."""
    sets = topic.group.state.rival_subscriptions
    if all(topic.topic.name in one for one in sets) or not any(topic.topic.name in one for one in sets):
        return None
    text = f"brokers show in turn: {'; '.join(', '.join(one) or 'nothing' for one in sets)}"
    return Explanation(Cause.SUBSCRIPTION_MISMATCH, queues, f"{text}: while they lack it, they refuse its pulls")


def client_stuck(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The owner answers, and all of its queues stand still while others move."""
    at_work = {index for q in _moving(topic) for index in topic.owners(q)}
    return _stuck(topic, {q: set(topic.owners(q)) - at_work for q in queues}, "stands still")


def cut_off_from_broker(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """All of the owner's queues on one broker stand still, while its others move."""
    state_queues = topic.group.state.queues
    at_work = {(index, state_queues[q].broker) for q in _moving(topic) for index in topic.owners(q)}
    idle = {q: {one for one in topic.owners(q) if (one, state_queues[q].broker) not in at_work} for q in queues}
    names = sorted({topic.group.state.brokers[state_queues[q].broker].name for q, those in idle.items() if those})
    return _stuck(topic, idle, f"on {', '.join(names)} stands still, its others move: can it reach that broker?")


def owner_does_not_report(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Nobody says that it owns the queue, and who should own it pulls by itself, without a word of its queues."""
    owners = _non_reporting_that_should_own(topic, queues, lambda exclusion: exclusion is None)
    those = sorted({index for indices in owners.values() for index in indices})
    text = ids_and(
        topic,
        those,
        "should own them, pulls by itself and does not say which queues it owns",
        "should own them, pull by themselves and do not say which queues they own",
    )
    return Explanation(Cause.CLIENT_STALLED, frozenset(owners), text, frozenset(those))


def owner_of_another_kind(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Others leave the queue to a member that does not share out as they do."""
    owners = _non_reporting_that_should_own(topic, queues, lambda exclusion: exclusion is not None)
    those = sorted({index for indices in owners.values() for index in indices})
    kinds = ", ".join(sorted({topic.members[index].exclusion or "" for index in those}))
    do = "does" if len(those) == 1 else "do"
    text = f"the others leave them to {ids(topic, those)}, which {do} not share out as they do ({kinds})"
    return Explanation(Cause.STRATEGY_MISMATCH, frozenset(owners), text, frozenset(those))


def _non_reporting_that_should_own(
    topic: TopicEvidence, queues: frozenset[int], is_such: Callable[[str | None], bool]
) -> dict[int, set[int]]:
    """Queue -> members of such a kind that should own it, of queues that nobody says to own."""
    such = {member.index for member in topic.non_reporting if is_such(member.exclusion)}
    if topic.expected is None or not such:
        return {}
    owners = {q: such & set(topic.expected.get(q, ())) for q in queues if not topic.owners(q)}
    return {queue: indices for queue, indices in owners.items() if indices}


def _moving(topic: TopicEvidence) -> list[int]:
    """Queues that move, by offsets read so long after the last change of members that they show who owns them now.

    Brokers tell their offsets at different instants, so a queue that has not yet stood still for long is none of these.
    """
    not_before = topic.listed_ts + topic.group.timing.grace_membership_ms
    queues = topic.group.state.queues
    return [q for q in topic.queues if queues[q].progress_ts >= not_before and is_seen_to_move(topic.group, queues[q])]


def _stuck(topic: TopicEvidence, idle: dict[int, set[int]], what: str) -> Explanation | None:
    """``idle``: of each queue those owners who do nothing."""
    explained = frozenset(queue for queue, owners in idle.items() if owners)
    stuck = sorted({index for owners in idle.values() for index in owners})
    text = f"every queue of {ids(topic, stuck)} {what}"
    return Explanation(Cause.CLIENT_STALLED, explained, text, frozenset(stuck))
