"""Findings about members that do not report what they own, by lists and connections: one small rule for each.

Of members that report, their queues say more: DUPLICATED and ORPHANED name the queues, and these faults are causes.
"""

from collections.abc import Iterator

from schemas.facts import Cause, Kind
from schemas.identity import is_retry_topic
from schemas.observed import BrokerList, MemberListsDiffer, clients
from streaming.core.causes.client_ids import same_id
from streaming.core.evidence.exclusions import PULLS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.members import entries_at


def shared_client_id(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Two processes use one client id: both compute the same share, so they consume the same queues.

    A client that pulls actively may pull what it likes, so its id says nothing of its queues.
    """
    if not evidence.shares_out or evidence.consumes == PULLS:
        return
    twice = [one for one in evidence.balancing if _is_proven_twice(evidence, one) and not evidence.is_heard(one)]
    if twice:
        named = tuple(one.index for one in twice)
        yield GroupFinding(Kind.SHARED_CLIENT_ID, "", same_id(twice[0]), Cause.SAME_CLIENT_ID, clients=named)


def _is_proven_twice(evidence: GroupEvidence, member: MemberEvidence) -> bool:
    """Some broker that is covered lists the id twice, and it is no connection that has died."""
    twice_at = {index for index, entries in enumerate(member.client.entries) if entries > 1}
    return member.second_instance_proven and bool(twice_at - evidence.uncovered)


def member_lists_differ(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Brokers of a topic list different members, and some member does not say what it owns.

    Each client asks any one of the brokers, so members compute their shares from different lists. Lists that have
    changed lately may differ for a moment, and those of a broker that was restarted until heartbeats have come.
    """
    if not evidence.shares_out or all(map(evidence.is_heard, evidence.balancing)):
        return
    judged = [one for one in evidence.group.state.topics if not (one.is_static or is_retry_topic(one.name))]
    for hosts in dict.fromkeys(tuple(hosted.broker for hosted in topic.hosts) for topic in judged):
        if not _are_settled(evidence, hosts):
            continue
        entries = {one.index: [entries_at(one.client, broker) for broker in hosts] for one in evidence.balancing}
        if any(len(set(of_one)) > 1 for of_one in entries.values()):
            observed = MemberListsDiffer(lists=tuple(_list_of(evidence, broker) for broker in hosts))
            odd = tuple(index for index, of_one in entries.items() if not all(of_one))
            yield GroupFinding(Kind.MEMBER_LISTS_DIFFER, "", observed, Cause.VIEW_DIVERGENCE, clients=odd)
            return


def _are_settled(evidence: GroupEvidence, hosts: tuple[int, ...]) -> bool:
    """True if all of these brokers answer, and for as long as a rebalance takes no list has changed."""
    brokers, timing = evidence.group.state.brokers, evidence.group.timing
    changed_ts = max((brokers[index].changed_ts for index in hosts), default=0)
    returned_ts = max((brokers[index].returned_ts for index in hosts), default=0)
    is_answered = not evidence.uncovered.intersection(hosts) and not any(brokers[index].lost_ts for index in hosts)
    is_old = evidence.now - changed_ts >= timing.grace_membership_ms
    return is_answered and is_old and (not returned_ts or evidence.now - returned_ts >= timing.grace_broker_ms)


def _list_of(evidence: GroupEvidence, broker: int) -> BrokerList:
    listed = [one.index for one in evidence.balancing if entries_at(one.client, broker)]
    return BrokerList(evidence.group.state.brokers[broker].name, clients(evidence.group.client_ids(listed)))
