"""A Kafka record: its key and value, the joining of encoded events to it, and the decoding of its bytes.

An event that cannot be decoded, or whose key or time is wrong, is rejected. Bad bytes never raise an error.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from schemas.events import AnyEvent

MAX_RECORD_BYTES = 128 * 1024
MAX_KEY_BYTES = 4 * (255 + 1024) + 1  # the longest names of a cluster and a group, in UTF-8, and the slash
QUARANTINED_BYTES = 64 * 1024  # bytes of a rejected value that are kept
DETAIL_AT_MOST = 500  # characters in the text about a rejected value: an error may quote all of it
MAX_AHEAD_OF_ARRIVAL_MS = 5 * 60 * 1000
EARLIEST_TS = 1_000_000_000_000  # September 2001: an earlier time is in seconds, or zero, instead of milliseconds
REFUSED_AT_MOST = 16  # events of one record that are rejected one by one; the others are only counted
T = TypeVar("T")
SHORTEST_EVENT = 64  # bytes: a shorter element lacks a field that every event has, and is not decoded
_decoder = msgspec.json.Decoder(AnyEvent | list[AnyEvent])
_elements_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_element_decoder = msgspec.json.Decoder(AnyEvent)


def group_key(cluster: str, group: str) -> str:
    """The Kafka key of all events of a consumer group: ``cluster/group``.

    A cluster name has no ``/`` (configuration refuses it), so the first one divides the two.
    """
    return f"{cluster}/{group}"


class RecordValue(NamedTuple):
    """The value of one record: one event, or a JSON array of several."""

    value: bytes
    events: int


def record_values(encoded: Iterable[bytes]) -> Iterator[RecordValue]:
    """Encoded events of one group in as few records as their limit allows, in their order."""
    waiting: list[bytes] = []
    size = 1
    for event in encoded:
        if waiting and size + len(event) + 1 > MAX_RECORD_BYTES:
            yield _joined(waiting)
            waiting, size = [], 1
        waiting.append(event)
        size += len(event) + 1
    if waiting:
        yield _joined(waiting)


def _joined(encoded: list[bytes]) -> RecordValue:
    return RecordValue(encoded[0] if len(encoded) == 1 else b"[" + b",".join(encoded) + b"]", len(encoded))


class Rejected(Struct, frozen=True):
    """A record or event that cannot be used. ``reason`` is a stable word; ``detail`` is the error and its place.

    ``value`` are the bytes of the one event of a record that cannot be used; None: it is the whole record. ``events``:
    how many events it stands for; more than one if those of a record are only counted.
    """

    reason: str
    detail: str
    value: bytes | None = None
    events: int = 1


_TOO_SHORT = Rejected("bad_field", f"no event is shorter than {SHORTEST_EVENT} bytes")


def decode_record(
    key: bytes | None, value: bytes | None, length: int, arrival_ts: int | None
) -> list[AnyEvent | Rejected]:
    """A record's events in their order, each of which is decoded or rejected by itself.

    The value is one event, or a JSON array of events of one group. ``length`` is the value's length before it was cut;
    ``arrival_ts`` is Kafka's timestamp, None in files.
    """
    if value is None:
        return [Rejected("null_value", "the record has no value")]
    if length > MAX_RECORD_BYTES:
        return [Rejected("too_long", f"{length} bytes; the limit is {MAX_RECORD_BYTES}")]
    decoded = _decode(value, _decoder)
    if isinstance(decoded, Rejected):
        return _decode_each(key, value, arrival_ts) or [decoded]
    if not isinstance(decoded, list):
        return [why_rejected(decoded, key, arrival_ts) or decoded]
    checked = _check_all(decoded, key, arrival_ts)
    if any(isinstance(event, Rejected) for event in checked):
        return _with_places(checked, _elements_decoder.decode(value))
    return checked or [Rejected("bad_field", "the array holds no event")]


def _decode(value: bytes, decoder: msgspec.json.Decoder[T]) -> T | Rejected:
    try:
        if not value.isascii():
            value.decode()  # the decoder does not check the bytes of unknown fields
        return decoder.decode(value)
    except msgspec.ValidationError as error:
        return Rejected("bad_field", str(error)[:DETAIL_AT_MOST])
    except msgspec.DecodeError as error:
        return Rejected("bad_json", str(error)[:DETAIL_AT_MOST])
    except UnicodeDecodeError as error:
        return Rejected("bad_utf8", f"{error.reason} at byte {error.start}")
    except RecursionError:
        return Rejected("bad_json", "nested too deeply")


def _decode_each(key: bytes | None, value: bytes, arrival_ts: int | None) -> list[AnyEvent | Rejected]:
    """The events of an array, decoded one by one so that a bad one does not harm the others; none if it is no array.

    A record may have 65,000 elements, but only 2,048 that are long enough to be decoded.
    """
    elements = _decode(value, _elements_decoder)
    if isinstance(elements, Rejected):
        return []
    texts = map(bytes, elements)
    decoded = (_TOO_SHORT if len(text) < SHORTEST_EVENT else _decode(text, _element_decoder) for text in texts)
    return _with_places(_check_all(decoded, key, arrival_ts), elements)


def _check_all(
    decoded: Iterable[AnyEvent | Rejected], key: bytes | None, arrival_ts: int | None
) -> list[AnyEvent | Rejected]:
    """The events of an array after the checks. They must all be of one group."""
    checked: list[AnyEvent | Rejected] = []
    group: tuple[str, str] | None = None
    for event in decoded:
        if not isinstance(event, Rejected):
            event = why_rejected(event, key, arrival_ts) or event
        if not isinstance(event, Rejected):
            group = group or (event.cluster, event.group)
            if group != (event.cluster, event.group):
                event = Rejected("key_mismatch", "it is of another group than the events before it in the array")
        checked.append(event)
    return checked


def _with_places(checked: list[AnyEvent | Rejected], elements: list[msgspec.Raw]) -> list[AnyEvent | Rejected]:
    """Add to each rejected event its place in the array and its bytes.

    After the first rejected events, one for each reason counts how many more there are.
    """
    placed: list[AnyEvent | Rejected] = []
    rejected, more = 0, Counter[str]()
    for place, (event, element) in enumerate(zip(checked, elements, strict=True), 1):
        if not isinstance(event, Rejected):
            placed.append(event)
        elif rejected < REFUSED_AT_MOST:
            rejected += 1
            detail = f"event {place} of {len(elements)} in the record: {event.detail}"
            placed.append(Rejected(event.reason, detail[:DETAIL_AT_MOST], bytes(element)))
        else:
            more[event.reason] += 1
    for reason, number in more.items():
        placed.append(Rejected(reason, f"and {number} more of the {len(elements)} events in the record", events=number))
    return placed


def why_rejected(event: AnyEvent, key: bytes | None, arrival_ts: int | None) -> Rejected | None:
    """The rejection because of the record's key or the event's time; None: the event can be used."""
    return _check_key(event, key, arrival_ts) or _check_time(event, arrival_ts)


@lru_cache(maxsize=65_536)
def _key_bytes(cluster: str, group: str) -> bytes:
    return group_key(cluster, group).encode()


def _check_key(event: AnyEvent, key: bytes | None, arrival_ts: int | None) -> Rejected | None:
    if key is None and arrival_ts is None:
        return None  # a line of a file
    if key is None:
        return Rejected("key_mismatch", "the record has no key; cluster/group is expected")
    if key != _key_bytes(event.cluster, event.group):
        return Rejected("key_mismatch", f"key {key[:300]!r} is not cluster/group of the payload")
    return None


def _check_time(event: AnyEvent, arrival_ts: int | None) -> Rejected | None:
    if event.ts < EARLIEST_TS:
        return Rejected("absurd_time", f"ts {event.ts} is before 2001-09-09: epoch milliseconds are expected")
    if arrival_ts is not None and event.ts > arrival_ts + MAX_AHEAD_OF_ARRIVAL_MS:
        return Rejected("absurd_time", f"ts {event.ts} is {event.ts - arrival_ts} ms ahead of its arrival")
    return None
