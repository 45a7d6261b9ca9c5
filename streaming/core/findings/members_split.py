"""MEMBERS_SPLIT: some members are connected to brokers and some to proxies, so the group consumes everything twice."""

from collections.abc import Iterator

from schemas.facts import Kind
from schemas.observed import MembersSplit, clients
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.members import entries_at


def members_split(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Brokers list members that no proxy lists, and proxies list members that no broker lists.

    A proxy in cluster mode and a broker do not tell each other of their clients (apache/rocketmq 5.3.3:
    ``ClusterConsumerManager``, ``HeartbeatSyncer``). Members at brokers share out all queues among them, and pull.
    Those at proxies pop from all queues, or pull and share them out among themselves. The offsets are the same ones, so
    each side moves those of the other too. In local mode a broker lists the clients of its proxy, and nothing is found.
    In a broadcasting group each member consumes every queue in any case.
    """
    brokers = evidence.group.state.brokers
    if evidence.broadcasts or evidence.uncovered or not any(broker.is_proxy for broker in brokers):
        return
    at_brokers, at_proxies = [], []
    for index, member in evidence.members.items():
        listing = {broker.is_proxy for at, broker in enumerate(brokers) if entries_at(member.client, at)}
        if listing == {False}:
            at_brokers.append(index)
        elif listing == {True}:
            at_proxies.append(index)
    if at_brokers and at_proxies:
        observed = MembersSplit(
            at_brokers=clients(evidence.group.client_ids(at_brokers)),
            at_proxies=clients(evidence.group.client_ids(at_proxies)),
        )
        yield GroupFinding(Kind.MEMBERS_SPLIT, "", observed, clients=(*at_brokers, *at_proxies))
