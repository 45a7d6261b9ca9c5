"""When the rounds of a group began and ended, and to which of them an answer belongs."""

from collections import deque

ROUNDS_REMEMBERED = 256


class RoundTimes:
    """``newest_ts``: the moment of the newest answer, which is the end of the present round, should it end now."""

    def __init__(self) -> None:
        self.is_open = False
        self.ended_ts = 0
        self.newest_ts = 0
        self._starts: deque[int] = deque(maxlen=ROUNDS_REMEMBERED)

    @property
    def started_ts(self) -> int:
        """When the present round, or the last one, began: its number."""
        return self._starts[-1]

    def begin(self, ts: int) -> None:
        """A round's number is its start, and numbers rise."""
        self._starts.append(max(ts, self._starts[-1] + 1) if self._starts else ts)
        self.is_open = True

    def answered(self, ts: int) -> None:
        self.newest_ts = max(self.newest_ts, ts)

    def end(self, ts: int | None) -> int:
        """Ends the round at ``ts``, or at the end of the newest answer. Returns when it ended."""
        self.ended_ts = max(self.ended_ts, self.newest_ts if ts is None else ts, self.started_ts)
        self.newest_ts = self.ended_ts
        self.is_open = False
        return self.ended_ts

    def is_late(self, asked_ts: int) -> bool:
        """Returns whether a request was made before the last round ended: its answer does not begin a round."""
        return bool(self._starts) and asked_ts < self.ended_ts

    def round_of(self, asked_ts: int) -> int:
        """The round in which a request was made: an earlier one, if it was made before that one ended."""
        if asked_ts >= self.started_ts or asked_ts >= self.ended_ts:
            return self.started_ts
        return next((start for start in reversed(self._starts) if start <= asked_ts), self._starts[0])

    def set_back(self, by_ms: int) -> None:
        """The clock was set back: rounds go on from the time that it shows now."""
        self._starts = deque((start - by_ms for start in self._starts), maxlen=ROUNDS_REMEMBERED)
        self.ended_ts -= by_ms
        self.newest_ts -= by_ms
