"""INCONSISTENT_SUBSCRIPTION: members of a group subscribe to different topics or filters."""

from collections.abc import Iterator

from schemas.facts import Cause, Kind
from schemas.identity import is_retry_topic
from schemas.observed import SubscriptionMembers, SubscriptionsDiffer, SubscriptionsInTurn, clients
from streaming.core.evidence.group_evidence import GroupEvidence, Subscriptions, shown
from streaming.core.findings.verdict import GroupFinding


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
