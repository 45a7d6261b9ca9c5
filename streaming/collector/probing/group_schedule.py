"""Which groups there are, which of them get a round, and when those without members are looked at.

Brokers know every group that ever was. A group with members gets every round. A group without members is only looked
at: once a minute its brokers are asked for its list.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from streaming.collector.probing.policy import Policy

LOOK_MS = 50_000  # groups without members are asked for their lists so often: new members are noticed within a minute
REPORT_ALL_MS = 200_000  # after a start without a memory: then it is known which groups have no members
KEEP_WATCHING_MS = 600_000  # a group that lost its members, and a broker that no route names, are asked so long
TWO_LOOKS_MS = 2 * LOOK_MS


@dataclass(slots=True)
class _Group:
    """``members_ts``: when it last had members, 0: never seen. ``is_watched``: it gets rounds.

    Of a group that is not watched: ``has_lists``, whether every broker has said who its members are; ``backlog_ts``,
    when its brokers were last asked for its offsets, 0: never; ``has_offsets``, whether all of them gave these.
    """

    brokers: set[str] = field(default_factory=set)
    members_ts: int = 0
    due_ts: int = 0
    is_watched: bool = False
    has_lists: bool = False
    backlog_ts: int = 0
    has_offsets: bool = False


class Empty(NamedTuple):
    """Groups that are only looked at. ``not_known``: some broker did not say who their members are, or what waits.

    ``not_asked``: without members, and nobody was asked what waits in them.
    """

    number: int
    not_known: int
    not_asked: int


class GroupSchedule:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._groups: dict[str, _Group] = {}
        self.blind_ts = 0  # since when it is not known who had members before: looks are reported first, and last

    def recall(self, name: str, members_ts: int, now: int) -> bool:
        """A group that was watched before this start; whether it still is to be watched.

        One that has been empty for long gets some rounds all the same: a single one, long after the last, is not
        believed.
        """
        if not self._policy.covers(name):
            return False
        group = self._group(name)
        longest_ago = now - self._policy.report_empty_ms + TWO_LOOKS_MS
        group.members_ts, group.is_watched = min(max(members_ts, longest_ago), now), True
        return True

    def is_look_reported(self, now: int) -> bool:
        """Returns whether events are sent of what a look at a group finds, though it may have no members."""
        if not self.blind_ts:
            return False
        blind_ms = now - self.blind_ts
        return 0 <= blind_ms <= REPORT_ALL_MS or 0 <= blind_ms - self._policy.report_empty_ms < TWO_LOOKS_MS

    def know(self, broker: str, names: Iterable[str]) -> None:
        """All the groups of one broker, as it tells them."""
        covered = {name for name in names if self._policy.covers(name)}
        for name, group in list(self._groups.items()):
            if name not in covered:
                group.brokers.discard(broker)
        for name in covered:
            self._group(name).brokers.add(broker)

    def brokers_of(self, name: str) -> frozenset[str]:
        return frozenset(self._groups[name].brokers)

    def to_look_at(self, now: int) -> list[str]:
        """Groups that had no members and may have some now."""
        for name in [name for name, group in self._groups.items() if not group.brokers and not group.is_watched]:
            del self._groups[name]  # it was deleted
        return sorted(name for name, group in self._groups.items() if not group.is_watched and group.due_ts <= now)

    def to_probe(self, now: int) -> list[str]:
        return sorted(name for name, group in self._groups.items() if group.is_watched and group.due_ts <= now)

    def looked_at(self, name: str, has_members: bool, now: int, has_lists: bool = True) -> None:
        """Takes the result of a look; ``has_lists``: of every broker. A group with members gets a round at once."""
        group = self._groups[name]
        group.has_lists = has_lists
        if has_members:
            group.members_ts, group.due_ts, group.is_watched = now, now, True
        else:
            first = self._policy.phase(name, LOOK_MS) if group.due_ts == 0 else 0
            group.due_ts = now + (first or LOOK_MS)

    def probed(self, name: str, has_members: bool, now: int) -> None:
        """Takes the result of a round. A group that stays empty gets rounds ever less often, and then none."""
        group = self._groups[name]
        if has_members:
            group.members_ts = now
        empty_ms = now - group.members_ts
        if not self._policy.is_always_on(name) and empty_ms > self._policy.report_empty_ms:
            group.is_watched = False
        rest_ms = LOOK_MS if self._policy.rests_when_empty else 0
        group.due_ts = now + rest_ms if empty_ms > KEEP_WATCHING_MS else 0

    def to_ask_for_backlog(self, now: int) -> list[str]:
        """Groups without members whose offsets say whether anybody misses them; those asked longest ago first."""
        empty = [(name, group) for name, group in self._groups.items() if group.has_lists and not group.is_watched]
        due = [name for name, group in empty if not group.backlog_ts or group.backlog_ts + LOOK_MS <= now]
        return sorted(due, key=lambda name: (self._groups[name].backlog_ts, name))[: self._policy.backlogs]

    def asked_for_backlog(self, name: str, messages_wait: bool, has_offsets: bool, now: int) -> None:
        """Takes the answers of its brokers. A group in which messages wait gets a round at once."""
        group = self._groups[name]
        group.backlog_ts, group.has_offsets = now, has_offsets
        if messages_wait:
            group.due_ts, group.is_watched = now, True

    def empty(self) -> Empty:
        groups = [group for group in self._groups.values() if not group.is_watched]
        answered = [group for group in groups if group.has_lists]
        asked = [group for group in answered if group.backlog_ts]
        unknown = len(groups) - len(answered) + sum(not group.has_offsets for group in asked)
        return Empty(len(groups), unknown, len(answered) - len(asked))

    def names(self) -> Iterable[str]:
        return self._groups.keys()

    def knows(self, name: str) -> bool:
        return name in self._groups

    def members_ts(self, name: str) -> int:
        return self._groups[name].members_ts

    def is_watched(self, name: str) -> bool:
        return self._groups[name].is_watched

    def watched(self) -> Iterator[str]:
        return (name for name, group in self._groups.items() if group.is_watched)

    def counts(self) -> tuple[int, int]:
        """How many groups get rounds, and how many are only looked at."""
        watched = sum(group.is_watched for group in self._groups.values())
        return watched, len(self._groups) - watched

    def number_empty_on(self, broker: str) -> int:
        """How many of the groups that a broker knows are only looked at."""
        return sum(broker in group.brokers and not group.is_watched for group in self._groups.values())

    def _group(self, name: str) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(is_watched=self._policy.is_always_on(name))
        return group
