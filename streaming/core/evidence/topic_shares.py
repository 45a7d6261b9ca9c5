"""Who should own the queues of one topic, by the lists and routes that its members may share out."""

from functools import cached_property

from schemas.reasons import Reason, ReasonKind
from streaming.core.evidence.expected_owners import NotKnown, expected_owners, strategy_key
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.listed_members import ListedMembers
from streaming.core.state.group import Group
from streaming.core.state.group_state import RouteCopy, Topic
from streaming.core.state.routes import readable, standing

NAME_SERVERS_DIFFER = Reason(ReasonKind.NAME_SERVERS_DIFFER)


class TopicShares:
    """The expected owners of one topic. Read only; ``TopicEvidence`` sets the fields and says what they are."""

    of_group: GroupEvidence
    group: Group
    topic: Topic
    queues: list[int]
    hosts: list[int]
    uncovered: list[int]
    listed: ListedMembers
    broadcasts: bool

    @cached_property
    def copies(self) -> list[RouteCopy]:
        """The copies of the route that name servers hold at the same time, where they differ."""
        copies = self.topic.copies
        return list(standing(copies)) if copies is not None and copies.differ_ts else []

    @cached_property
    def _in_every_copy(self) -> dict[int, int]:
        """Index of a broker -> how many of its queues all copies have."""
        known = [dict(readable(copy.hosts)) for copy in self.copies]
        return {broker: min(one.get(broker, 0) for one in known) for broker, _ in self.readable} if known else {}

    @cached_property
    def readable(self) -> list[tuple[int, int]]:
        """(index of the broker, number of readable queues), brokers without read permission left out."""
        return readable(self.topic.hosts)

    @cached_property
    def expected(self) -> dict[int, list[int]] | None:
        """Index of each queue -> indices of the members that should own it.

        None where that is not known, and in broadcasting: nothing is shared out, every member consumes every queue.
        """
        return self._expectation if isinstance(self._expectation, dict) else None

    @cached_property
    def why_not_expected(self) -> Reason | None:
        """Why the expected owners are not known; None: they are, or the group broadcasts."""
        return self._expectation if isinstance(self._expectation, Reason) else None

    @cached_property
    def _expectation(self) -> dict[int, list[int]] | Reason | None:
        if self.uncovered:
            return Reason(ReasonKind.BROKERS_NOT_COVERED)
        if self.broadcasts:
            return None
        if any(self._in_every_copy[broker] < count for broker, count in self.readable if self.copies):
            return NAME_SERVERS_DIFFER
        if self.listed.views_differ:
            return Reason(ReasonKind.MEMBER_LISTS_DIFFER)
        try:
            return self._allocated()
        except NotKnown as why:
            return why.reason

    @cached_property
    def shares_by_list(self) -> list[dict[int, list[int]]] | None:
        """The shares by each of the lists that brokers give: index of each queue -> who should own it.

        One where all brokers list the same. None where it is not known, and in broadcasting.
        """
        if self.expected is not None:
            return [self.expected]
        if self.uncovered or self.copies or self.broadcasts:
            return None
        try:
            return [self._allocated(ids=ids) for ids in dict.fromkeys(map(self.listed.ids_listed_by, self.hosts))]
        except NotKnown:
            return None

    @cached_property
    def _shares_of_single_ids(self) -> dict[int, list[int]]:
        """The shares that they would compute if each id were listed once."""
        return self._allocated(ids=self.listed.single_ids)

    @cached_property
    def of_second_entries(self) -> frozenset[int]:
        """Queues that the strategy gives to the second entry of an id that is listed twice: no client takes them."""
        return frozenset(
            q
            for shares in self._shares_with_double_ids
            for q, those in shares.items()
            if not those and self._shares_of_single_ids[q]
        )

    @cached_property
    def moved_by_second_entries(self) -> frozenset[int]:
        """Queues that the strategy would give to another member if each id were listed once."""
        alone = self._shares_of_single_ids if self._shares_with_double_ids else {}
        return frozenset(
            q for shares in self._shares_with_double_ids for q, those in shares.items() if set(those) != set(alone[q])
        )

    @property
    def _shares_with_double_ids(self) -> list[dict[int, list[int]]]:
        return self.shares_by_list or [] if self.listed.listed_twice else []

    @cached_property
    def expected_as_named(self) -> dict[int, list[int]] | None:
        """Expected owners, where members that do not name their strategy are assumed to use that of the others."""
        if self.expected is not None or self.listed.views_differ or self.broadcasts:
            return self.expected
        try:
            return self._allocated(self.of_group.named_classes)
        except NotKnown:
            return None

    def _allocated(
        self, classes: frozenset[str | None] | None = None, ids: tuple[str, ...] | None = None
    ) -> dict[int, list[int]]:
        shares = self.share_out(self.readable, classes, ids)
        keys = [(broker, queue_id) for broker, count in self.readable for queue_id in range(count)]
        return {queue: shares[key] for queue, key in zip(self.queues, keys, strict=True)}

    def share_out(
        self,
        readable: list[tuple[int, int]],
        classes: frozenset[str | None] | None = None,
        ids: tuple[str, ...] | None = None,
    ) -> dict[tuple[int, int], list[int]]:
        """(index of the broker, queue id) -> who should own it, if these were the readable queues. Raises NotKnown.

        ``classes``: strategies to use instead of those that the reports name. ``ids``: a list of members, in order, to
        use instead of one that has each id as often as any broker lists it.
        """
        state, group = self.group.state, self.group
        key = strategy_key(group.rule, self.of_group.classes if classes is None else classes)
        hosts = tuple((state.brokers[broker].name, count) for broker, count in readable)
        index_of = self.listed.index_of
        owners = expected_owners(key, self.topic.name, hosts, self.listed.ids if ids is None else ids)
        return {
            (broker, queue_id): [index_of[owner] for owner in owners.get((name, queue_id), ())]
            for (broker, count), (name, _) in zip(readable, hosts, strict=True)
            for queue_id in range(count)
        }
