"""Divides a round that is too long for one record into parts, each with some of the lists."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from schemas.events import PARTS_AT_MOST, BrokerAnswer, Round, encode_event
from schemas.records import MAX_RECORD_BYTES

NAMES_FITTING_ONE_RECORD = 100
PIECE_BYTES = MAX_RECORD_BYTES // 2  # of names in one part: topics and the rest stand beside them in each
BESIDE_A_NAME_BYTES = 4
SPREAD = ("brokers", "unchanged_lists", "asked", "not_asked", "reports", "offsets", "heartbeats")
T = TypeVar("T")


def in_parts(marker: Round, number: Callable[[], dict[str, Any]]) -> list[Round]:
    """The marker, or its parts; ``number`` gives each further part its own ``seq``."""
    names = len(marker.asked) + len(marker.not_asked) + sum(1 + len(answer.client_ids) for answer in marker.brokers)
    names += len(marker.reports) + sum(1 + len(offsets.queues) for offsets in marker.offsets)
    names += len(marker.unchanged_lists) + sum(2 + len(one.addresses) for one in marker.heartbeats)
    if names <= NAMES_FITTING_ONE_RECORD or len(encode_event(marker)) <= MAX_RECORD_BYTES:
        return [marker]
    pieces: list[dict[str, Any]] = [{"brokers": answers} for answers in _packed(_pieces(marker.brokers), _bytes_of)]
    pieces += [{"unchanged_lists": lists} for lists in _packed(marker.unchanged_lists, _bytes_of)]
    pieces += [{"asked": ids} for ids in _packed(marker.asked, _name_bytes)]
    pieces += [{"not_asked": not_asked} for not_asked in _packed(marker.not_asked, _bytes_of)]
    pieces += [{"reports": reports} for reports in _packed(marker.reports, _bytes_of)]
    pieces += [{"offsets": offsets} for offsets in _packed(marker.offsets, _bytes_of)]
    pieces += [{"heartbeats": heartbeats} for heartbeats in _packed(marker.heartbeats, _bytes_of)]
    pieces = pieces[:PARTS_AT_MOST]
    bare = replace(marker, **dict.fromkeys(SPREAD, ()), parts=len(pieces))
    first = replace(bare, **pieces[0])
    return [first, *(replace(bare, **number(), part=part, **piece) for part, piece in enumerate(pieces[1:], 1))]


def _pieces(answers: Iterable[BrokerAnswer]) -> Iterator[BrokerAnswer]:
    """A list that is long by itself in several."""
    for answer in answers:
        lists = list(_packed(answer.client_ids, _name_bytes))
        if len(lists) < 2:
            yield answer
        else:
            yield from (replace(answer, client_ids=ids, entries=len(answer.client_ids)) for ids in lists)


def _packed(items: Sequence[T] | Iterator[T], size_of: Callable[[T], int]) -> Iterator[tuple[T, ...]]:
    """In order, as many together as fit in a piece."""
    together: list[T] = []
    size = 0
    for item in items:
        if together and size + size_of(item) > PIECE_BYTES:
            yield tuple(together)
            together, size = [], 0
        together.append(item)
        size += size_of(item)
    if together:
        yield tuple(together)


def _name_bytes(name: str) -> int:
    return len(encode_event(name)) + BESIDE_A_NAME_BYTES


def _bytes_of(part: Struct) -> int:
    return len(encode_event(part)) + BESIDE_A_NAME_BYTES
