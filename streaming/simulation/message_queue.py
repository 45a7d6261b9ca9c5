"""A queue's messages, and those that a group received more than once.

Messages are not simulated one by one: producers write at a rate, consumers consume at a speed, and offsets between
two moments are computed. So a queue costs nothing while nothing changes. Offsets are in messages, times in ms.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.identity import MessageQueue


class MessageLog:
    """The messages written to one queue (``ConsumeQueue``). ``rate``: messages a second."""

    __slots__ = ("_base", "_before", "_since", "queue", "rate")

    def __init__(self, queue: MessageQueue, now: int) -> None:
        self.queue = queue
        self.rate = 0
        self._base, self._since = 0, now
        self._before: list[tuple[int, int, int]] = []  # earlier rates: (since, offset at that time, rate)

    def max_offset(self, ts: int) -> int:
        """The next offset to be written, as of ``ts``."""
        return self._base + self.rate * (ts - self._since) // 1000

    def write(self, rate: int, now: int) -> None:
        """Write at this rate from now on."""
        self._before.append((self._since, self._base, self.rate))
        self._base, self._since, self.rate = self.max_offset(now), now, rate

    def append(self, messages: int, now: int) -> None:
        """Write so many at once."""
        self.write(self.rate, now)
        self._base += messages

    def max_offset_at(self, ts: int) -> int:
        """Return ``max_offset``, also for a time before the last change of the rate."""
        known = (one for one in reversed([*self._before, (self._since, self._base, self.rate)]) if one[0] <= ts)
        since_ts, base, rate = next(known, (ts, 0, 0))
        return base + rate * (ts - since_ts) // 1000


class Repeated(NamedTuple):
    """Repeated messages; ``to_offset`` is excluded. ``is_overlap``: the way of ``Repeats`` in which they repeat."""

    from_offset: int
    to_offset: int
    is_overlap: bool


@dataclass(slots=True)
class Repeats:
    """Messages of a queue that a group received more than once, by the two ways in which a rebalance repeats them.

    ``overlap``: the new owner began before the old one dropped the queue, and both consumed it.
    ``old_offset``: the new owner began at an offset that is lower than what the old one had consumed.
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
    """A commit that was lower than the one before. ``below``: the offset that was committed before."""

    ts: int
    client_id: str
    offset: int
    below: int


class PutBack(NamedTuple):
    """A broker has lost at ``ts`` that ``below`` was committed; at ``until_ts`` that was committed again."""

    ts: int
    below: int
    until_ts: int | None = None
