"""Why queues are duplicated, orphaned or stalled: one small rule a cause, each with its evidence in words.

A rule says which of the queues it explains. The first in order that explains all of them is named; else the first that
explains any; else UNEXPLAINED. The order goes from what makes other causes appear to what is only a symptom.
"""

from collections.abc import Callable

from msgspec.structs import replace

from schemas.facts import Cause, Kind
from streaming.core.causes.explanation import Explanation, do_not_subscribe, ids, ids_and
from streaming.core.causes.stall_rules import (
    client_silent,
    client_stuck,
    cut_off_from_broker,
    owner_does_not_report,
    owner_of_another_kind,
    pulls_refused,
)
from streaming.core.evidence.expected_owners import NotKnown
from streaming.core.evidence.group_evidence import MemberEvidence
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.intake.client_reports import addresses_of
from streaming.core.intake.membership import entries_at
from streaming.core.intake.topic_routes import readable
from streaming.core.state.group_state import HostedQueues


def explain(topic: TopicEvidence, kind: Kind, queues: frozenset[int]) -> Explanation | None:
    """The cause of one kind of finding on these queues of a topic; None where the finding needs none."""
    partial = None
    for rule in RULES[kind]:
        found = rule(topic, queues)
        if found is None or not found.queues:
            continue
        if found.queues >= queues:
            return found
        partial = partial or found
    if kind is Kind.UNKNOWN:
        return None
    return partial or Explanation(Cause.UNEXPLAINED, queues, _who_was_heard(topic))


def _who_was_heard(topic: TopicEvidence) -> str:
    heard = sum(1 for member in topic.members.values() if member.as_of)
    changed = (topic.now - topic.change_ts) // 1000
    has_changed = topic.change_ts > topic.group.state.began_ts
    when = f"the last change was {changed} s ago" if has_changed else "nothing has changed since the first round"
    return f"{heard} of {len(topic.members)} members reported, {when}; no known cause fits"


def _doubled(topic: TopicEvidence, proven: bool) -> list[MemberEvidence]:
    return [m for m in topic.members.values() if m.entries > 1 and m.second_instance_proven is proven]


def _addresses(member: MemberEvidence) -> str:
    seen = addresses_of(member.client)
    return f" at {', '.join(seen[:4])}" if seen else ""


def same_client_id(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Two instances carry one client id: both compute the share of its first place, nobody that of its second."""
    duplicates = _doubled(topic, proven=True)
    if not duplicates:
        return None
    duplicate = duplicates[0]
    starts = sorted({report.start_ts for report in duplicate.reports if report.start_ts})
    what = f"{duplicate.entries} instances{_addresses(duplicate)}" + (
        f", started at {starts}" if len(starts) > 1 else ""
    )
    text = f"client id {duplicate.client.client_id} is used by {what}"
    return Explanation(Cause.SAME_CLIENT_ID, queues, text, frozenset(one.index for one in duplicates))


def stale_connection(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """A client id is listed twice, but a second instance is not proven: most likely a connection that has died.

    Everybody shares out a list that holds the id twice, and nobody takes the share of its second place. Other members'
    queues do not stand still because of it.
    """
    doubled = _doubled(topic, proven=False)
    if not doubled:
        return None
    member, explained = doubled[0], queues
    if topic.expected is not None:
        indices = {one.index for one in doubled}
        explained = frozenset(q for q in queues if not topic.expected.get(q) or indices & set(topic.expected[q]))
    text = f"client id {member.client.client_id} is listed {member.entries} times{_addresses(member)}"
    seconds = topic.group.timing.second_address_proof_ms // 1000
    text += f"; a second instance is not proven: a connection that has died is gone within {seconds} s"
    return Explanation(Cause.STALE_CONNECTION, explained, text, frozenset(one.index for one in doubled))


def unproven_instance(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Nothing but the report of a second instance is lacking, and there may be none."""
    is_all = topic.waits_for_a_second_instance and topic.route_known and not topic.uncovered
    found = stale_connection(topic, queues) if is_all else None
    return None if found is None else replace(found, queues=queues)


def subscription_mismatch(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The member that should own the queue does not subscribe to its topic, though it counts as a member of it."""
    others = topic.not_subscribers
    if not others:
        return None
    explained = queues
    if topic.expected is not None:
        explained = frozenset(q for q in queues if set(topic.expected.get(q, ())) & set(others))
    text = do_not_subscribe(topic, others)
    return Explanation(Cause.SUBSCRIPTION_MISMATCH, explained, text, frozenset(others))


def strategy_mismatch(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Members share out the same list by different rules. One that does not name its own is not known to differ."""
    by_class: dict[str, list[int]] = {}
    for member in topic.members.values():
        if member.running is not None and member.running.strategy is not None:
            by_class.setdefault(member.running.strategy.rsplit(".", 1)[-1], []).append(member.index)
    if len(by_class) < 2:
        return None
    odd_first = sorted(by_class.items(), key=lambda item: (len(item[1]), item[0]))
    text = "; ".join(f"{name}: {ids(topic, indices)}" for name, indices in odd_first)
    few = min(by_class.values(), key=len)
    explained = frozenset(queue for queue in queues if len(topic.owners(queue)) != 1)
    return Explanation(Cause.STRATEGY_MISMATCH, explained, text, frozenset(few))


def sdks_differ(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """All members of one SDK own what the strategy gives them, and none of another does: that sorts differently.

    A member that owns nothing has sorted nothing: it has not taken part.
    """
    by_language: dict[str, list[int]] = {}
    for member in topic.members.values():
        by_language.setdefault(topic.of_group.language(member) or "unknown", []).append(member.index)
    expected = topic.expected_as_named
    if expected is None or len(by_language) < 2:
        return None
    astray = _own_other_than_expected(topic, expected)
    misled = {index for queue in topic.queues for index in set(topic.owners(queue)) - set(expected.get(queue, ()))}
    odd = {language: indices for language, indices in by_language.items() if misled.issuperset(indices)}
    others = [index for language, indices in by_language.items() if language not in odd for index in indices]
    if not odd or not others or astray.intersection(others):
        return None
    text = "; ".join(f"{language}: {ids(topic, indices)}" for language, indices in sorted(odd.items()))
    text += " own other queues than the strategy gives them, all members of other SDKs own theirs"
    return Explanation(Cause.STRATEGY_MISMATCH, queues, text, frozenset(p for indices in odd.values() for p in indices))


def _own_other_than_expected(topic: TopicEvidence, expected: dict[int, list[int]]) -> set[int]:
    """Members that own a queue that is another's, or lack one that is theirs."""
    return {index for queue in topic.queues for index in set(topic.owners(queue)) ^ set(expected.get(queue, ()))}


def view_divergence(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Brokers that host the topic list different members; each client asks only one of them.

    Each broker drops a silent client in its own time, so lists differ for a while whenever one has changed.
    """
    is_young = topic.now - topic.listed_ts < topic.group.timing.grace_membership_ms
    if not topic.views_differ or topic.has_broker_back or is_young:
        return None
    brokers = topic.group.state.brokers
    listed = {index: _listed_by(topic, index) for index in topic.hosts}
    views = [f"{brokers[index].name} lists {ids(topic, those) or 'nobody'}" for index, those in listed.items()]
    by_all = frozenset(topic.members).intersection(*listed.values())
    return Explanation(Cause.VIEW_DIVERGENCE, queues, "; ".join(views), frozenset(topic.members) - by_all)


def _listed_by(topic: TopicEvidence, broker: int) -> list[int]:
    return [member.index for member in topic.members.values() if entries_at(member.client, broker)]


def room_without_consumer(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """By machine room: a room's queues go to clients configured for that room, and there is none."""
    names = {name.rsplit(".", 1)[-1] for name in topic.of_group.classes if name}
    if topic.group.rule.strategy != "MACHINE_ROOM" and names != {"AllocateMessageQueueByMachineRoom"}:
        return None
    consumed = {topic.group.state.queues[queue].broker for queue in topic.queues if topic.owners(queue)}
    whole = {topic.group.state.queues[queue].broker for queue in queues} - consumed
    explained = frozenset(q for q in queues if topic.group.state.queues[q].broker in whole)
    room = ", ".join(sorted(topic.group.state.brokers[broker].name for broker in whole))
    return Explanation(Cause.ROOM_WITHOUT_CONSUMER, explained, f"no member consumes from the room of {room}")


def config_misses_queue(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """By configuration: no member's list names the queue."""
    names = {name.rsplit(".", 1)[-1] for name in topic.of_group.classes if name}
    if topic.group.rule.strategy != "CONFIG" and names != {"AllocateMessageQueueByConfig"}:
        return None
    missed = frozenset(queue for queue in queues if not topic.owners(queue))
    return Explanation(Cause.CONFIG_MISSES_QUEUE, missed, "no member's configured list names these queues")


def lock_stuck(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Orderly: the member that should own the queue could not lock it at the broker."""
    if not topic.of_group.orderly or topic.expected is None:
        return None
    explained = frozenset(q for q in queues if set(topic.expected.get(q, ())) - set(topic.owners(q)))
    owners = sorted({index for q in explained for index in topic.expected[q]})
    said = "should own them, and {} not got the broker's lock"
    text = f"orderly: {ids_and(topic, owners, said.format('has'), said.format('have'))}"
    return Explanation(Cause.LOCK_STUCK, explained, text, frozenset(owners))


def name_servers_differ(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Clients that ask different name servers share out different routes."""
    if not topic.copies:
        return None
    state_queues = topic.group.state.queues
    doubtful = frozenset(q for q in queues if topic.is_doubtful(state_queues[q]))
    texts = [f"{', '.join(copy.name_servers[:3]) or 'one'} has {_sizes(topic, copy.hosts)}" for copy in topic.copies]
    text = f"name servers differ on the route: {'; '.join(texts)}"
    return Explanation(Cause.ROUTE_LAG, doubtful | _shared_out_otherwise(topic, queues - doubtful), text)


def _sizes(topic: TopicEvidence, hosts: list[HostedQueues]) -> str:
    names = topic.group.state.brokers
    return ", ".join(f"{count} queues on {names[broker].name}" for broker, count in readable(hosts)) or "no queue"


def _shared_out_otherwise(topic: TopicEvidence, queues: frozenset[int]) -> frozenset[int]:
    """Queues that are one member's by one copy of the route and another's by another."""
    try:
        shares = [topic.share_out(readable(copy.hosts)) for copy in topic.copies]
    except NotKnown:
        return frozenset()
    state_queues = topic.group.state.queues
    indices = {queue: (state_queues[queue].broker, state_queues[queue].queue_id) for queue in queues}
    return frozenset(queue for queue, at in indices.items() if len({tuple(share.get(at, ())) for share in shares}) > 1)


def route_lag(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The queue is new, or another member's by the route as it was, and somebody still goes by that."""
    if not topic.topic.changed_ts or topic.now - topic.topic.changed_ts > topic.group.timing.new_route_ms:
        return None
    if not topic.topic.previous_hosts:  # the topic is new to us, or had no queues: there is no old route to go by
        return None
    before = readable(topic.topic.previous_hosts)
    known = dict(before)
    state_queues = topic.group.state.queues
    new = frozenset(q for q in queues if state_queues[q].queue_id >= known.get(state_queues[q].broker, 0))
    seconds = (topic.now - topic.topic.changed_ts) // 1000
    text = f"the route changed {seconds} s ago, and members still share out the old one"
    return Explanation(Cause.ROUTE_LAG, new | _of_another_before(topic, queues - new, before), text)


def _of_another_before(topic: TopicEvidence, queues: frozenset[int], before: list[tuple[int, int]]) -> frozenset[int]:
    """Queues whose owner should have changed with the route, and which are owned by nobody but the old and the new."""
    if topic.expected is None or topic.broadcasts:
        return frozenset()
    try:
        shares = topic.share_out(before)
    except NotKnown:
        return frozenset()
    explained = set()
    for index in queues:
        queue, now = topic.group.state.queues[index], set(topic.expected.get(index, ()))
        then = set(shares[queue.broker, queue.queue_id])
        if then != now and set(topic.owners(index)) <= then | now:
            explained.add(index)
    return frozenset(explained)


def member_gone(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Its last owner has left the list, and nobody has taken it over."""
    left = {change.client_id for change in topic.group.state.changes if not change.joined}
    if not left:
        return None
    clients, state_queues = topic.group.state.clients, topic.group.state.queues
    gone = {index for index, client in enumerate(clients) if client.client_id in left and index not in topic.members}
    explained = frozenset(q for q in queues if gone & set(state_queues[q].last_stable_owners))
    owners = sorted(gone & {index for q in explained for index in state_queues[q].last_stable_owners})
    text = ids_and(
        topic, owners, "has left, its queues are not taken over", "have left, their queues are not taken over"
    )
    return Explanation(Cause.MEMBER_GONE, explained, text, frozenset(owners))


Rule = Callable[[TopicEvidence, frozenset[int]], Explanation | None]

_TWO_OWNERS: tuple[Rule, ...] = (
    same_client_id,
    strategy_mismatch,
    name_servers_differ,
    view_divergence,
    route_lag,
    sdks_differ,
    stale_connection,
)

RULES: dict[Kind, tuple[Rule, ...]] = {
    Kind.DUPLICATED: _TWO_OWNERS,
    Kind.ORPHANED: (
        same_client_id,
        subscription_mismatch,
        strategy_mismatch,
        name_servers_differ,
        view_divergence,
        room_without_consumer,
        config_misses_queue,
        route_lag,
        lock_stuck,
        member_gone,
        sdks_differ,
        stale_connection,
    ),
    Kind.STALLED: (
        same_client_id,
        client_silent,
        pulls_refused,
        client_stuck,
        owner_does_not_report,
        owner_of_another_kind,
        strategy_mismatch,
        name_servers_differ,
        view_divergence,
        room_without_consumer,
        config_misses_queue,
        route_lag,
        lock_stuck,
        member_gone,
        sdks_differ,
        stale_connection,
        cut_off_from_broker,
    ),
    Kind.UNKNOWN: (unproven_instance,),
    Kind.MISPLACED: (same_client_id, view_divergence, route_lag, stale_connection),
}
