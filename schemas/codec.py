"""Decodes a record's bytes to its events, or to the reasons why they are rejected. Never raises for bad bytes."""

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from schemas.events import AnyEvent
from schemas.quarantine import DETAIL_AT_MOST, Rejected, why_rejected
from schemas.records import MAX_RECORD_BYTES

REFUSED_AT_MOST = 16  # events of one record that are rejected one by one; the others are only counted
T = TypeVar("T")
SHORTEST_EVENT = 64  # bytes: a shorter element lacks a field that every event has, and is not decoded
_decoder = msgspec.json.Decoder(AnyEvent | list[AnyEvent])
_elements_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_element_decoder = msgspec.json.Decoder(AnyEvent)
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
    return placed + [_counted(reason, number, len(elements)) for reason, number in more.items()]


def _counted(reason: str, number: int, elements: int) -> Rejected:
    return Rejected(reason, f"and {number} more of the {elements} events in the record", events=number)
