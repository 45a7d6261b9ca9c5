"""A queue's messages, and what a group was given of them more than once.

Messages are a flow, not one by one: producers write at a rate, consumers take at a speed, and what lies between two
moments is arithmetic. So a queue costs nothing while nothing changes. Offsets are whole messages, times milliseconds.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.identity import MessageQueue


class MessageLog:
    """What has been written to one queue (``ConsumeQueue``). ``rate`` is in messages a second."""

    __slots__ = ("_base", "_before", "_since", "queue", "rate")

    def __init__(self, queue: MessageQueue, now: int, max_offset: int = 0) -> None:
        self.queue = queue
        self.rate = 0
        self._base = max_offset
        self._since = now
        self._before: list[tuple[int, int, int]] = []  # of each rate before: since when, the offset then, the rate

    def max_offset(self, ts: int) -> int:
        """The next offset to be written, as of ``ts``."""
        return self._base + self.rate * (ts - self._since) // 1000

    def write(self, rate: int, now: int) -> None:
        """From now on at this rate."""
        self._before.append((self._since, self._base, self.rate))
        self._base, self._since, self.rate = self.max_offset(now), now, rate

    def max_offset_at(self, ts: int) -> int:
        """The same of a time before the last change of the rate, too."""
        known = (one for one in reversed([*self._before, (self._since, self._base, self.rate)]) if one[0] <= ts)
        since_ts, base, rate = next(known, (ts, 0, 0))
        return base + rate * (ts - since_ts) // 1000


class Repeated(NamedTuple):
    """Messages from one offset up to, but not including, another. ``is_overlap``: why, as ``Repeats`` tells it."""

    from_offset: int
    to_offset: int
    is_overlap: bool


@dataclass(slots=True)
class Repeats:
    """Messages of a queue that a group was given more than once, by the two ways in which a rebalance repeats them.

    ``overlap``: the new owner began before the old one dropped the queue, and both read on.
    ``old_offset``: the offset from which the new owner began is older than what the old one had consumed.
    """

    ranges: list[Repeated] = field(default_factory=list)

    def add(self, from_offset: int, to_offset: int, is_overlap: bool) -> None:
        if to_offset <= from_offset:
            return
        last = self.ranges[-1] if self.ranges else None
        if last is not None and (last.to_offset, last.is_overlap) == (from_offset, is_overlap):
            self.ranges[-1] = last._replace(to_offset=to_offset)
        else:
            self.ranges.append(Repeated(from_offset, to_offset, is_overlap))

    @property
    def overlap(self) -> int:
        return sum(one.to_offset - one.from_offset for one in self.ranges if one.is_overlap)

    @property
    def old_offset(self) -> int:
        return sum(one.to_offset - one.from_offset for one in self.ranges if not one.is_overlap)


class Commit(NamedTuple):
    """An offset that a client sent to the broker at ``ts``."""

    ts: int
    client_id: str
    offset: int


class WentBack(NamedTuple):
    """A commit that was lower than the one before. ``below``: what had been committed until then."""

    ts: int
    client_id: str
    offset: int
    below: int
