"""kafka-python's assignor, in whose rebalances collectors say which clusters give them answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignmentExecutor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from streaming.collector.failover.reach import Report, agreed, decode, wanted


class ReachAssignor(CooperativeStickyAssignor):
    """Moves partitions as its parent does, one rebalance to give back and one to take, but by ``reach.agreed``.

    ``report`` is sent with the next rebalance, ``said`` was sent with the last one. ``wanted``: what ``reach.wanted``
    found in it. All members follow the one ``topic``.
    """

    def __init__(self, topic: str, report: Report) -> None:
        super().__init__()
        self._topic = topic
        self.report = self.said = report
        self.wanted: frozenset[int] = frozenset()

    def metadata(self, topics: Any) -> Any:
        found = super().metadata(topics)
        self.said = self.report
        found.user_data = self.said.encode()
        return found

    def on_assignment(self, assignment: Any, generation: int) -> None:
        super().on_assignment(assignment, generation)
        self.wanted = decode(assignment.user_data).unanswered

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, Any]:
        read = {member.member_id: self.parse_member_metadata(member.metadata) for member in members}
        reports = {member.member_id: decode(member.metadata.user_data) for member in members}
        owners = _owners(read)
        found = agreed(self._balanced(cluster, read), owners, reports)
        kept: dict[str, list[int]] = {member_id: [] for member_id in read}
        for number, member_id in found.items():
            if owners.get(number, member_id) == member_id:  # else its owner must give it back first
                kept[member_id].append(number)
        said = Report(wanted(found, reports)).encode()
        return {
            member_id: ConsumerProtocolAssignment(self.version, [(self._topic, numbers)] if numbers else [], said)
            for member_id, numbers in kept.items()
        }

    def _balanced(self, cluster: Any, read: Mapping[str, Any]) -> dict[int, str]:
        """The members by partition, as the parent would have it in the end."""
        balancing = StickyAssignmentExecutor(cluster, read)
        balancing.perform_initial_assignment()
        balancing.balance()
        return {
            number: member_id
            for member_id in read
            for _, numbers in balancing.get_final_assignment(member_id)
            for number in numbers
        }


def _owners(read: Mapping[str, Any]) -> dict[int, str]:
    """The members by partition, as they say it themselves."""
    return {one.partition: member_id for member_id, said in read.items() for one in said.partitions}
