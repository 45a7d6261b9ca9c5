"""The members that certain brokers list: what is known of them is the same for every topic of these brokers."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.intake.membership import entries_at

Span = tuple[int, int]  # when the oldest and the newest of some reports were answered


class ListedMembers:
    """Members that at least one of the brokers lists. ``hosts`` are these brokers by index, ``covered`` those heard.

    ``reports_as_of``: since when all of those have reported that say what they own; 0: some has not.
    """

    def __init__(
        self, of_group: Mapping[int, MemberEvidence], hosts: tuple[int, ...], covered: tuple[int, ...]
    ) -> None:
        self._covered = covered
        self.members = {
            index: member
            for index, member in of_group.items()
            if any(entries_at(member.client, broker) for broker in hosts)
        }
        self.non_reporting = [member for member in self.members.values() if member.is_non_reporting]
        self.reports_as_of = min((m.as_of for m in self.members.values() if not m.is_non_reporting), default=0)

    def answered(self, members: Iterable[int]) -> Span:
        """When the reports of these members were answered."""
        involved = [self.members[index] for index in members]
        newest = max(report.answered_ts for member in involved for report in member.reports)
        return min(member.as_of or newest for member in involved), newest

    @cached_property
    def answered_by_all(self) -> Span:
        """The same of all that say what they own."""
        return self.answered(self.reporting)

    @cached_property
    def reporting(self) -> dict[int, str]:
        """Members that say what they own, or may still do so, and their ids, in the order of these."""
        ids = {index: m.client.client_id for index, m in self.members.items() if not m.is_non_reporting}
        return dict(sorted(ids.items(), key=lambda item: item[1]))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Client ids in their order; one that is listed twice stands there twice."""
        return tuple(sorted(m.client.client_id for m in self.members.values() for _ in range(m.entries)))

    @cached_property
    def index_of(self) -> dict[str, int]:
        return {member.client.client_id: index for index, member in self.members.items()}

    @cached_property
    def views_differ(self) -> bool:
        """Whether the brokers list different members."""
        every = self.members.values()
        return any(len({entries_at(member.client, broker) for broker in self._covered}) > 1 for member in every)

    @cached_property
    def listed_twice(self) -> frozenset[int]:
        """Members that a broker lists more than once."""
        return frozenset(index for index, member in self.members.items() if member.entries > 1)

    @cached_property
    def have_dead_connections(self) -> bool:
        """Whether an id is listed twice most likely because of a connection that has died."""
        return any(member.has_dead_connection for member in self.members.values())

    def may_own_unsaid(self, joined_before: int) -> bool:
        """Whether a queue that nobody reports may be a member's all the same: one that has not said what it owns.

        A member that joined later counts only if no other member has reported either.
        """
        unsaid = [member for member in self.members.values() if not member.reports or member.is_non_reporting]
        nobody_speaks = len(unsaid) == len(self.members) > 0
        return nobody_speaks or any(member.client.since_ts <= joined_before for member in unsaid)
