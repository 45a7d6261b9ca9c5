"""Divides a round that is too long for one record into parts, each with some of the lists."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from schemas.events import PARTS_AT_MOST, SPREAD_OVER_PARTS, BrokerAnswer, Round, encode_event
from schemas.records import MAX_RECORD_BYTES

NAMES_FITTING_ONE_RECORD = 100
PIECE_BYTES = MAX_RECORD_BYTES // 2  # of names in one part: topics and the rest stand beside them in each
BESIDE_AN_ITEM_BYTES = 4
T = TypeVar("T")


def in_parts(marker: Round, number: Callable[[], dict[str, Any]]) -> list[Round]:
    """The marker, or its parts; ``number`` gives each further part its own ``seq``."""
    names = len(marker.asked) + len(marker.not_asked) + sum(1 + len(answer.client_ids) for answer in marker.brokers)
    names += len(marker.reports) + sum(1 + len(offsets.queues) for offsets in marker.offsets)
    names += len(marker.unchanged_lists) + sum(2 + len(one.addresses) for one in marker.heartbeats)
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
