"""A record's bytes to an event, or to the reason why it cannot be used. Never raises for bad bytes."""

from functools import lru_cache

import msgspec
from msgspec import Struct

from schemas.events import AnyEvent
from schemas.identity import group_key

MAX_EVENT_BYTES = 128 * 1024
QUARANTINED_BYTES = 64 * 1024
MAX_AHEAD_OF_ARRIVAL_MS = 5 * 60 * 1000
EARLIEST_TS = 1_000_000_000_000  # September 2001: anything earlier is seconds, or zero, in place of milliseconds

_decoder = msgspec.json.Decoder(AnyEvent)


class Rejected(Struct, frozen=True):
    """A record that cannot be used. ``reason`` is a stable word; ``detail`` says what and where."""

    reason: str
    detail: str


def decode_record(key: bytes | None, value: bytes | None, length: int, arrival_ts: int | None) -> AnyEvent | Rejected:
    """``length`` is the value's length before it was cut; ``arrival_ts`` Kafka's timestamp, None in files."""
    if value is None:
        return Rejected("null_value", "the record has no value")
    if length > MAX_EVENT_BYTES:
        return Rejected("too_long", f"{length} bytes; the limit is {MAX_EVENT_BYTES}")
    try:
        if not value.isascii():
            value.decode()  # the decoder does not look at the bytes of unknown fields
        event = _decoder.decode(value)
    except msgspec.ValidationError as error:
        return Rejected("bad_field", str(error))
    except msgspec.DecodeError as error:
        return Rejected("bad_json", str(error))
    except UnicodeDecodeError as error:
        return Rejected("bad_utf8", f"{error.reason} at byte {error.start}")
    except RecursionError:
        return Rejected("bad_json", "nested too deeply")
    return _check_key(event, key, arrival_ts) or _check_time(event, arrival_ts) or event


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
