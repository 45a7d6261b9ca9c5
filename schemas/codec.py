"""A record's bytes to its events, or to the reasons why they cannot be used. Never raises for bad bytes."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from schemas.events import AnyEvent
from schemas.quarantine import Rejected, why_rejected
from schemas.records import MAX_RECORD_BYTES

T = TypeVar("T")
_decoder = msgspec.json.Decoder(AnyEvent | list[AnyEvent])
_elements_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_element_decoder = msgspec.json.Decoder(AnyEvent)


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
            value.decode()  # the decoder does not look at the bytes of unknown fields
        return decoder.decode(value)
    except msgspec.ValidationError as error:
        return Rejected("bad_field", str(error))
    except msgspec.DecodeError as error:
        return Rejected("bad_json", str(error))
    except UnicodeDecodeError as error:
        return Rejected("bad_utf8", f"{error.reason} at byte {error.start}")
    except RecursionError:
        return Rejected("bad_json", "nested too deeply")


def _decode_each(key: bytes | None, value: bytes, arrival_ts: int | None) -> list[AnyEvent | Rejected]:
    """The events of an array one by one, so that a bad one does not harm the others; none if it is no array."""
    elements = _decode(value, _elements_decoder)
    if isinstance(elements, Rejected):
        return []
    decoded = [_decode(bytes(element), _element_decoder) for element in elements]
    return _with_places(_check_all(decoded, key, arrival_ts), elements)


def _check_all(
    decoded: Iterable[AnyEvent | Rejected], key: bytes | None, arrival_ts: int | None
) -> list[AnyEvent | Rejected]:
    """Those of an array, which are all of one group."""
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
    """Says of each event that was rejected which one of the array it is, and gives its bytes."""
    return [
        Rejected(event.reason, f"event {place} of {len(elements)} in the record: {event.detail}", bytes(element))
        if isinstance(event, Rejected)
        else event
        for place, (event, element) in enumerate(zip(checked, elements, strict=True), 1)
    ]
