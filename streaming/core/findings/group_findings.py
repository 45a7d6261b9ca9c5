"""Findings about a topic or the whole group: one small rule for each."""

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from schemas.facts import Cause, Kind, Severity
from schemas.identity import host_of, is_retry_topic
from schemas.observed import (
    ClientsComeAndGo,
    MoreMembersThanQueues,
    NoMemberListed,
    SubscriptionMembers,
    SubscriptionsDiffer,
    SubscriptionsInTurn,
    clients,
    counted,
)
from schemas.reasons import ReasonKind
from streaming.core.evidence.group_evidence import RESTARTS_OF_A_DEPLOY, GroupEvidence, Subscriptions, shown
from streaming.core.finding_kinds import KINDS, WHATEVER_MEMBERS_RUN
from streaming.core.findings.queue_facts import Since
from streaming.core.findings.unreadable_queues import unreadable_queues
from streaming.core.findings.unreported_members import member_lists_differ, shared_client_id
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group_state import KeptFinding, MembershipChange
from streaming.core.state.members import away_before_ms, missed_since_ts, process_names

STORM_WINDOW_MS = 300_000  # the time in which STORM_CHANGES are counted
STORM_CHANGES = 6  # as many joins and leaves are still no storm
FLAPPING_CLIENT_MS = 3_600_000  # a client that leaves again and again, but too rarely for storm_window
NAMES_AT_MOST = 3


def inconsistent_subscription(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Members subscribe to different topics or filters: RocketMQ then loses messages without any error."""
    by_subscription: dict[Subscriptions, list[int]] = {}
    for index, subscription in _comparable(evidence).items():
        by_subscription.setdefault(subscription, []).append(index)
    if len(by_subscription) < 2:
        members = evidence.members.values()
        have_all_reported = all(one.as_of and one.running and one.running.subscriptions for one in members)
        if len(evidence.rival_subscriptions) > 1 and not have_all_reported:
            in_turn = SubscriptionsInTurn(topics=tuple(evidence.rival_subscriptions))
            yield GroupFinding(Kind.INCONSISTENT_SUBSCRIPTION, "", in_turn, Cause.SUBSCRIPTION_MISMATCH)
        return
    rarest_first = sorted(by_subscription.items(), key=lambda item: (len(item[1]), item[1]))
    subscribers = tuple(
        SubscriptionMembers(tuple(map(shown, subscription)), clients(evidence.group.client_ids(indices)))
        for subscription, indices in rarest_first
    )
    named = tuple(index for indices in by_subscription.values() for index in indices)
    observed = SubscriptionsDiffer(members=subscribers)
    yield GroupFinding(Kind.INCONSISTENT_SUBSCRIPTION, "", observed, Cause.SUBSCRIPTION_MISMATCH, clients=named)


def _comparable(evidence: GroupEvidence) -> dict[int, Subscriptions]:
    """The subscriptions of each member that has reported, without filters if some member does not report its own.

    If an id is listed twice, one report is enough: members that differ do so whatever the second instance says.
    """
    said = {
        member.index: tuple(pair for pair in member.running.subscriptions if not is_retry_topic(pair[0]))
        for member in evidence.members.values()
        if evidence.is_described(member) and member.running is not None
    }
    unfiltered = {topic for subscription in said.values() for topic, expression in subscription if expression is None}
    return {
        index: tuple((topic, None if topic in unfiltered else expression) for topic, expression in subscription)
        for index, subscription in said.items()
        if subscription
    }


def no_members(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Every broker answered, and none lists a member, though there were some, they are missed, and messages wait.

    What waits in topics that the group gave up before does not count. If offsets move all the same, somebody consumes
    whom brokers do not list: clients of a proxy in cluster mode.
    """
    state = evidence.group.state
    if evidence.members or evidence.uncovered or not state.brokers or _is_consumed(evidence):
        return
    queues = evidence.group.subscribed_queues()
    known = [queue for queue in queues if queue.progress_ts]
    waiting = sum(queue.consumer_lag for queue in known if queue.consumer_lag > 0)
    is_missed = evidence.has_left_lately and evidence.now >= missed_since_ts(evidence.group)
    if evidence.group.rule.always_on or (waiting and is_missed):
        left = {change.client_id for change in state.membership_changes if not change.joined}
        # a retry topic may have no offsets, if no message was ever retried
        without_offsets = (evidence.group.topic_of(queue).name for queue in queues if not queue.progress_ts)
        at_least = bool(known) and not all(map(is_retry_topic, without_offsets))
        allowed_ms = evidence.group.rule.may_be_empty_ms or None
        observed = NoMemberListed(
            waiting=counted(waiting) if known else None,
            at_least=at_least,
            away_before_ms=None if allowed_ms else away_before_ms(evidence.group) or None,
            allowed_ms=allowed_ms,
        )
        yield GroupFinding(Kind.NO_MEMBERS, "", observed, clients=_indices(evidence, left))


def _is_consumed(evidence: GroupEvidence) -> bool:
    consumed_ts = evidence.group.state.consumed_unlisted_ts
    return consumed_ts > 0 and evidence.now - consumed_ts <= evidence.group.timing.progress_max_gap_ms


def _indices(evidence: GroupEvidence, names: set[str]) -> tuple[int, ...]:
    clients = enumerate(evidence.group.state.clients)
    return tuple(p for p, client in clients if {client.client_id, host_of(client.client_id)} & names)


def rebalance_storm(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Some process is started again and again: more often than for a crash, a deploy and its rollback, or for hours."""
    state, timing = evidence.group.state, evidence.group.timing
    changes = [c for c in state.membership_changes if c.ts >= evidence.now - timing.storm_window_ms]
    flapping_clients = _restarted_too_often(changes) if len(changes) > timing.storm_changes else set()
    lasting = {
        one.who
        for one in state.flapping_clients
        if one.times > timing.storm_changes and evidence.now - one.since_ts >= FLAPPING_CLIENT_MS
    }
    if flapping_clients:
        names, number, within_ms = flapping_clients, len(changes), timing.storm_window_ms
    elif lasting:
        names, number, within_ms = lasting, None, FLAPPING_CLIENT_MS
    else:
        return
    observed = ClientsComeAndGo(names=tuple(sorted(names)[:NAMES_AT_MOST]), changes=number, within_ms=within_ms)
    yield GroupFinding(Kind.REBALANCE_STORM, "", observed, clients=_indices(evidence, names))


def _restarted_too_often(changes: list[MembershipChange]) -> set[str]:
    """Processes that have left and come back more often than for a crash, a deploy and its rollback.

    One that has left is not counted before it is back: it may have been stopped for good.
    """
    name_of = process_names(changes)
    left = Counter(name_of[change.client_id] for change in changes if not change.joined)
    back = Counter(name_of[change.client_id] for change in changes if change.joined)
    return {name for name, times in (left & back).items() if times > 1 + RESTARTS_OF_A_DEPLOY}


def idle_members(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """More members than queues: some will never own any."""
    if not evidence.shares_out:
        return
    for topic in evidence.group.state.topics:
        queues = sum(hosted.read for hosted in topic.hosts if hosted.is_readable)
        subscribers = len(evidence.subscribed.get(topic.name, ()))
        if queues and subscribers > queues and not (topic.is_static or is_retry_topic(topic.name)):
            observed = MoreMembersThanQueues(members=subscribers, queues=queues)
            yield GroupFinding(Kind.IDLE_MEMBERS, topic.name, observed)


def _every_finding(evidence: GroupEvidence, since: Since) -> Iterator[GroupFinding]:
    yield from inconsistent_subscription(evidence)
    yield from shared_client_id(evidence)
    yield from member_lists_differ(evidence)
    yield from unreadable_queues(evidence, since)
    yield from no_members(evidence)
    yield from rebalance_storm(evidence)
    yield from idle_members(evidence)


def lasting_group_findings(evidence: GroupEvidence, found: list[GroupFinding]) -> list[KeptFinding]:
    """The findings that are kept for the next round: those of now, and those of before that cannot be decided now.

    So NO_MEMBERS keeps its begin while a broker does not answer now and then, and UNREADABLE_QUEUES too.
    """
    state = evidence.group.state
    held = [KeptFinding(one.topic, one.kind.value, one.since_ts) for one in found]
    undecided = {Kind.NO_MEMBERS.value} if evidence.uncovered and not evidence.members else set()
    if any(broker.lost_ts for broker in state.brokers):
        undecided |= {Kind.UNREADABLE_QUEUES.value} - {one.kind.value for one in found}
    return held + [one for one in state.group_findings if one.kind in undecided]


def find_group_findings(evidence: GroupEvidence, since: Since) -> list[GroupFinding]:
    """The findings of now, each with its begin. Where all members are excluded, only lists and offsets count."""
    if evidence.exclusion is ReasonKind.CONFIGURED:
        return []
    before = {(kept.kind, kept.topic): kept.since_ts for kept in evidence.group.state.group_findings}
    return [
        replace(found, since_ts=before.get((found.kind.value, found.topic), evidence.now))
        for found in _every_finding(evidence, since)
        if evidence.exclusion is None or found.kind in WHATEVER_MEMBERS_RUN
    ]


def severity_of(evidence: GroupEvidence, kind: Kind) -> Severity:
    """NO_MEMBERS is critical for a group that is configured to be always on."""
    if kind is Kind.NO_MEMBERS and evidence.group.rule.always_on:
        return Severity.CRITICAL
    return KINDS[kind].severity
