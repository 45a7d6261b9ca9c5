"""kafka-python's assignor, in whose rebalances collectors say which clusters give them answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class SlotAssignor(ReachAssignor):
    """Shares out the slots of each cluster, so that each collector gets as many of them as others, and of all clusters.

    ``clusters``: the partitions of each cluster's slots. The parent's balance counts those of all clusters together:
    then one collector may get all slots of one cluster, and another one all those of the next.

    It has a name of its own: Kafka lets no collector that asks whole clusters join those that share them.
    """

    name = "evenkeel-share"

    def __init__(self, topic: str, report: Report, clusters: Iterable[frozenset[int]]) -> None:
        super().__init__(topic, report)
        self._clusters = tuple(clusters)

    def _balanced(self, _: Any, read: Mapping[str, Any]) -> dict[int, str]:
        """A partition leaves its owner only if another member has less, without it."""
        used, owners = sorted(frozenset[int]().union(*self._clusters)), _owners(read)
        found = {number: owners[number] for number in used if number in owners}
        for number in used:
            found.setdefault(number, self._least(number, found, read))
        while move := next(self._moves(found, read), None):
            found |= [move]
        return found

    def _moves(self, found: Mapping[int, str], members: Iterable[str]) -> Iterator[tuple[int, str]]:
        best = ((number, self._least(number, found, members)) for number in found)
        return ((number, to) for number, to in best if to != found[number])

    def _least(self, number: int, found: Mapping[int, str], members: Iterable[str]) -> str:
        """The member that has the least beside a partition: first of its cluster, then of all."""
        others = [frozenset(numbers - {number}) for numbers in self._clusters if number in numbers]

        def load(member: str) -> tuple[int, int, bool, str]:
            has = {one for one, owner in found.items() if owner == member}
            return sum(len(has & numbers) for numbers in others), len(has - {number}), number not in has, member

        return min(members, key=load)


def _owners(read: Mapping[str, Any]) -> dict[int, str]:
    """The members by partition, as they say it themselves."""
    return {one.partition: member_id for member_id, said in read.items() for one in said.partitions}
