"""When a broker is asked for a group's offsets: it reads its disk for each queue, so less often for groups at rest.

Where a queue stands still, the request that would come shortly before this proves a stall comes just after it. Else the
stall would be found only with the request after that one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS
from streaming.collector.probing.policy import Policy
from streaming.collector.wire.answers import OffsetRow

SURELY_MS = 200  # answers do not come after exactly equal times
AT_REST_AFTER = 3  # answers that are all alike, with nothing left to consume


class _Standing(NamedTuple):
    """The offsets of a queue in which messages wait, and since when each has been read."""

    consumed: int
    consumed_ts: int
    pulled: int
    pulled_ts: int


@dataclass(slots=True)
class _Asked:
    due_ts: int
    table: int = 0
    alike: int = 0
    standing: dict[tuple[str, int], _Standing] = field(default_factory=dict)


class OffsetSchedule:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._groups: dict[str, dict[str, _Asked]] = {}
        self._from_ts = 0

    def begin_at(self, ts: int) -> None:
        """Asks nobody before ``ts``."""
        self._from_ts = ts

    def choose(self, group: str, brokers: frozenset[str], now: int) -> list[str]:
        """Which of these brokers to ask now. Another keeps its turn for a while: it may just not have answered."""
        known = self._groups.setdefault(group, {})
        for name in known.keys() - brokers:
            if now - known[name].due_ts > KEEP_WATCHING_MS:
                del known[name]
        for name in brokers - known.keys():
            known[name] = _Asked(now + self._policy.phase(f"{group} {name}", self._policy.offsets_ms))
        return sorted(name for name in brokers if known[name].due_ts <= now) if now >= self._from_ts else []

    def answered(self, group: str, broker: str, asked_ts: int, table: tuple[OffsetRow, ...] | None) -> None:
        """``table`` None: there was no answer."""
        asked = self._groups.get(group, {}).get(broker)
        if asked is None:
            return
        if table is None or any(waits(row) for row in table):
            asked.alike = asked.table = 0
        else:
            digest = hash(frozenset((row.topic, row.queue_id, row.broker_offset) for row in table))
            asked.alike = asked.alike + 1 if digest == asked.table else 1
            asked.table = digest
        if table is not None:
            asked.standing = {(row.topic, row.queue_id): _stands(asked, row, asked_ts) for row in table if waits(row)}
        is_at_rest = asked.alike >= AT_REST_AFTER
        due_ts = asked_ts + (self._policy.idle_offsets_ms if is_at_rest else self._policy.offsets_ms)
        asked.due_ts = self._when_a_stall_shows(asked, asked_ts, due_ts)

    def _when_a_stall_shows(self, asked: _Asked, asked_ts: int, due_ts: int) -> int:
        """``due_ts``, or, if a queue will have stood still for long enough by then or within a round, when it has."""
        latest_ts = due_ts + self._policy.interval_ms
        moments = {ts for one in set(asked.standing.values()) for ts in self._moments(one)}
        return min((ts for ts in moments if asked_ts < ts <= latest_ts), default=due_ts)

    def _moments(self, standing: _Standing) -> Iterator[int]:
        """When the queue is STALLED or a SLOW_CONSUMER, by the rules for each group (docs/findings.md)."""
        timing = self._policy.timing
        for extra_ms in (SURELY_MS, SURELY_MS + timing.grace_orderly_extra_ms):
            yield standing.pulled_ts + timing.stall_ms + extra_ms
            yield standing.consumed_ts + timing.consume_stall_ms + extra_ms
            yield standing.consumed_ts + timing.consume_stall_ms * 3 // 2 + extra_ms

    def ask_by(self, group: str, ts: int) -> None:
        """Ask every broker at ``ts`` at the latest: the group has lost its members, and messages begin to wait."""
        for asked in self._groups.get(group, {}).values():
            asked.due_ts = min(asked.due_ts, ts)

    def forget_group(self, group: str) -> None:
        self._groups.pop(group, None)


def _stands(asked: _Asked, row: OffsetRow, ts: int) -> _Standing:
    """A queue of which neither offset is known to be as before stands still since ``ts``."""
    consumed = row.consumer_offset or 0
    pulled = consumed if row.pull_offset is None or row.pull_offset < 0 else row.pull_offset
    before = asked.standing.get((row.topic, row.queue_id))
    if before is None or before.consumed != consumed:
        return _Standing(consumed, ts, pulled, ts)
    return _Standing(consumed, before.consumed_ts, pulled, before.pulled_ts if before.pulled == pulled else ts)


def waits(row: OffsetRow) -> bool:
    """Returns whether messages wait in the queue to be consumed."""
    return (row.broker_offset or 0) > (row.consumer_offset or 0)
