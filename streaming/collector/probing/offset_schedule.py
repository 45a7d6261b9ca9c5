"""When a broker is asked for a group's offsets: it reads its disk for each queue, so less often for groups at rest."""

from dataclasses import dataclass

from streaming.collector.probing.policy import KEEP_WATCHING_MS, Policy
from streaming.collector.translation.answers import OffsetRow

AT_REST_AFTER = 3  # answers that are all alike, with nothing left to consume


@dataclass(slots=True)
class _Asked:
    due_ts: int
    table: int = 0
    alike: int = 0


class OffsetSchedule:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._groups: dict[str, dict[str, _Asked]] = {}

    def choose(self, group: str, brokers: frozenset[str], now: int) -> list[str]:
        """Which of these brokers to ask now. Another keeps its turn for a while: it may just not have answered."""
        known = self._groups.setdefault(group, {})
        for name in known.keys() - brokers:
            if now - known[name].due_ts > KEEP_WATCHING_MS:
                del known[name]
        for name in brokers - known.keys():
            known[name] = _Asked(now + self._policy.phase(f"{group} {name}", self._policy.offsets_ms))
        return sorted(name for name in brokers if known[name].due_ts <= now)

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
        is_at_rest = asked.alike >= AT_REST_AFTER
        asked.due_ts = asked_ts + (self._policy.idle_offsets_ms if is_at_rest else self._policy.offsets_ms)

    def forget_group(self, group: str) -> None:
        self._groups.pop(group, None)


def waits(row: OffsetRow) -> bool:
    """Whether messages wait in the queue to be consumed."""
    return (row.broker_offset or 0) > (row.consumer_offset or 0)
