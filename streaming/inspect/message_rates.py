"""The rates at which messages arrive in each queue and leave it, from its offsets at two moments."""

from collections import deque
from typing import NamedTuple

from schemas.events import ConsumeProgress, QueueProgress

WINDOW_MS = 60_000  # rates are taken over at most so long
SHORTEST_MS = 1_000  # a shorter time gives no useful rate
OLDEST_MS = 30_000  # brokers are asked every 10 s at least
OLDEST_EMPTY_MS = 120_000  # groups that have been without members for long are asked less often

Key = tuple[str, str, int]  # topic, broker name, queue id


class Flow(NamedTuple):
    """The rates of a queue; None: not known. ``out`` counts consumed messages: clients pull up to 1,000 ahead.

    ``over_ms``: the time between the two readings that the rates are made of.
    """

    in_per_s: float | None = None
    out_per_s: float | None = None
    lag: int | None = None
    over_ms: int = 0


class Waiting(NamedTuple):
    """The waiting messages; None: not known. ``consumed_ts``: when the newest message consumed there was stored."""

    messages: int | None
    queues: int
    consumed_ts: int | None


class _Sample(NamedTuple):
    ts: int
    offsets: QueueProgress


class OffsetHistory:
    """The offsets of every queue of one group within the last minute."""

    def __init__(self) -> None:
        self._samples: dict[Key, deque[_Sample]] = {}

    def take(self, event: ConsumeProgress) -> None:
        for offsets in event.queues:
            samples = self._samples.setdefault((event.topic, event.broker_name, offsets.queue_id), deque())
            if samples and event.ts <= samples[-1].ts:
                continue
            samples.append(_Sample(event.ts, offsets))
            while len(samples) > 2 and event.ts - samples[1].ts >= WINDOW_MS:
                samples.popleft()

    def flow(self, key: Key, now: int) -> Flow:
        """The flow at ``now``; not known if the offsets are old."""
        samples = self._samples.get(key)
        if not samples or now - samples[-1].ts > OLDEST_MS:
            return Flow()
        first, last = samples[0], samples[-1]
        took_ms = last.ts - first.ts
        if took_ms < SHORTEST_MS:
            return Flow(lag=_lag(last.offsets))
        return Flow(
            _rate(last.offsets.broker_offset - first.offsets.broker_offset, took_ms),
            _rate(last.offsets.consumer_offset - first.offsets.consumer_offset, took_ms),
            _lag(last.offsets),
            took_ms,
        )

    def waiting(self, now: int) -> Waiting:
        """The messages that wait in all queues whose offsets are recent enough."""
        newest = [samples[-1].offsets for samples in self._samples.values() if now - samples[-1].ts <= OLDEST_EMPTY_MS]
        lags = [lag for offsets in newest if (lag := _lag(offsets)) is not None]
        consumed_ts = max((offsets.consumed_ts for offsets in newest), default=0)
        return Waiting(sum(lags) if lags else None, sum(lag > 0 for lag in lags), consumed_ts or None)


def _lag(offsets: QueueProgress) -> int | None:
    if offsets.broker_offset < 0 or offsets.consumer_offset < 0:
        return None
    return max(0, offsets.broker_offset - offsets.consumer_offset)


def _rate(messages: int, took_ms: int) -> float | None:
    """The rate; None if offsets were reset in between."""
    return round(messages * 1000 / took_ms, 3) if messages >= 0 else None
