"""Rounds of a group: when each began and ended, which answers belong to it, and one too long for one record."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from schemas.events import PARTS_AT_MOST, SPREAD_OVER_PARTS, BrokerAnswer, Round, encode_event
from schemas.records import MAX_RECORD_BYTES

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


NAMES_FITTING_ONE_RECORD = 100
PIECE_BYTES = MAX_RECORD_BYTES // 2  # of names in one part: topics and the rest stand beside them in each
BESIDE_AN_ITEM_BYTES = 4
T = TypeVar("T")


def in_parts(marker: Round, number: Callable[[], dict[str, Any]]) -> list[Round]:
    """The marker, or its parts; ``number`` gives each further part its own ``seq``."""
    names = len(marker.asked) + len(marker.not_asked) + sum(1 + len(answer.client_ids) for answer in marker.brokers)
    names += len(marker.reports) + sum(1 + len(offsets.queues) for offsets in marker.offsets)
    names += len(marker.unchanged_lists) + sum(2 + len(one.addresses) for one in marker.heartbeats)
    names += 2 * len(marker.polls) + 2 * len(marker.in_flight)
    if names <= NAMES_FITTING_ONE_RECORD or len(encode_event(marker)) <= MAX_RECORD_BYTES:
        return [marker]
    spread = {name: getattr(marker, name) for name in SPREAD_OVER_PARTS}
    spread["brokers"] = _pieces(marker.brokers)
    pieces = [{name: together} for name, items in spread.items() for together in _packed(items)]
    pieces = pieces[:PARTS_AT_MOST]
    bare = replace(marker, **dict.fromkeys(SPREAD_OVER_PARTS, ()), parts=len(pieces))
    first = replace(bare, **pieces[0])
    return [first, *(replace(bare, **number(), part=part, **piece) for part, piece in enumerate(pieces[1:], 1))]


def _pieces(answers: Iterable[BrokerAnswer]) -> Iterator[BrokerAnswer]:
    """A list that is long by itself in several."""
    for answer in answers:
        lists = list(_packed(answer.client_ids))
        if len(lists) < 2:
            yield answer
        else:
            yield from (replace(answer, client_ids=ids, entries=len(answer.client_ids)) for ids in lists)


def _packed(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """In order, as many together as fit in a piece."""
    together: list[T] = []
    size = 0
    for item in items:
        item_bytes = len(encode_event(item)) + BESIDE_AN_ITEM_BYTES
        if together and size + item_bytes > PIECE_BYTES:
            yield tuple(together)
            together, size = [], 0
        together.append(item)
        size += item_bytes
    if together:
        yield tuple(together)
