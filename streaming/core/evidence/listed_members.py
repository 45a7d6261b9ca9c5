"""The members that certain brokers list: what is known of them is the same for every topic of these brokers."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from streaming.core.allocation.strategies import simple_class_name
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.state.members import entries_at

Span = tuple[int, int]  # when the oldest and the newest of some reports were answered


class ListedMembers:
    """Members that at least one of the brokers lists. ``hosts`` are these brokers by index, ``covered`` those heard.

    ``reports_as_of``: since when all of those have reported that say what they own; 0: some has not.
    """

    def __init__(
        self, of_group: Mapping[int, MemberEvidence], hosts: tuple[int, ...], covered: tuple[int, ...]
    ) -> None:
        self._covered = covered
        self._listed_by: dict[int, list[int]] = {}
        self._ids_by: dict[int, tuple[str, ...]] = {}
        self._silent_since: dict[int, list[int]] = {}
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
        """When the reports of all that say what they own were answered."""
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

    def listed_by(self, broker: int) -> list[int]:
        if broker not in self._listed_by:
            self._listed_by[broker] = [i for i, member in self.members.items() if entries_at(member.client, broker)]
        return self._listed_by[broker]

    def ids_listed_by(self, broker: int) -> tuple[str, ...]:
        """In order, an id as often as the broker lists it."""
        if broker not in self._ids_by:
            clients = [self.members[index].client for index in self.listed_by(broker)]
            ids = sorted(client.client_id for client in clients for _ in range(entries_at(client, broker)))
            self._ids_by[broker] = tuple(ids)
        return self._ids_by[broker]

    @cached_property
    def single_ids(self) -> tuple[str, ...]:
        """Client ids in their order, each once."""
        return tuple(sorted(member.client.client_id for member in self.members.values()))

    def silent_since(self, ts: int) -> list[int]:
        """Members that say what they own, or may still do so, and have not all reported at ``ts`` or later."""
        if ts not in self._silent_since:
            members = self.members.values()
            self._silent_since[ts] = [m.index for m in members if m.as_of < ts and not m.is_non_reporting]
        return self._silent_since[ts]

    @cached_property
    def unanswered(self) -> list[MemberEvidence]:
        """Members that are listed once, and did not answer when they were asked last."""
        return [m for m in self.members.values() if m.client.unanswered_since_ts and m.entries == 1]

    @cached_property
    def by_language(self) -> dict[str, list[int]]:
        """The SDK, by heartbeats -> its members."""
        by_language: dict[str, list[int]] = {}
        for index, member in self.members.items():
            language = None if member.heartbeat is None else member.heartbeat.language
            by_language.setdefault(language or "unknown", []).append(index)
        return by_language

    @cached_property
    def by_strategy(self) -> dict[str, list[int]]:
        """The class of a strategy -> members that report it. One that does not name its own is not known to differ."""
        by_class: dict[str, list[int]] = {}
        for index, member in self.members.items():
            if member.running is not None and member.running.strategy is not None:
                by_class.setdefault(simple_class_name(member.running.strategy), []).append(index)
        return by_class

    @cached_property
    def reported(self) -> int:
        """How many of them have reported."""
        return sum(1 for member in self.members.values() if member.as_of)

    @cached_property
    def index_of(self) -> dict[str, int]:
        return {member.client.client_id: index for index, member in self.members.items()}

    @cached_property
    def views_differ(self) -> bool:
        every = self.members.values()
        return any(len({entries_at(member.client, broker) for broker in self._covered}) > 1 for member in every)

    @cached_property
    def listed_twice(self) -> frozenset[int]:
        return frozenset(index for index, member in self.members.items() if member.entries > 1)

    @cached_property
    def have_dead_connections(self) -> bool:
        """True if ids are listed twice most likely because of dead connections, and none of a second instance."""
        twice = [member for member in self.members.values() if member.entries > 1]
        is_any_proven = any(member.second_instance_proven for member in twice)
        return not is_any_proven and any(member.has_dead_connection for member in twice)

    @cached_property
    def has_reports(self) -> bool:
        return any(member.reports for member in self.members.values())

    def may_own_unsaid(self, joined_before: int) -> bool:
        """True if a queue that nobody reports may be a member's all the same: one that has not said what it owns.

        A member that joined later counts only if no other member has reported either.
        """
        unsaid = [member for member in self.members.values() if not member.reports or member.is_non_reporting]
        nobody_speaks = len(unsaid) == len(self.members) > 0
        return nobody_speaks or any(member.client.since_ts <= joined_before for member in unsaid)
