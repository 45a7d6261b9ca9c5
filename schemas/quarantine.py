"""Rejected events: those that cannot be decoded, and those whose key or time is wrong."""

from functools import lru_cache

from msgspec import Struct

from schemas.events import AnyEvent
from schemas.records import group_key

QUARANTINED_BYTES = 64 * 1024  # bytes of a rejected value that are kept
DETAIL_AT_MOST = 500  # characters in the text about a rejected value: an error may quote all of it
MAX_AHEAD_OF_ARRIVAL_MS = 5 * 60 * 1000
EARLIEST_TS = 1_000_000_000_000  # September 2001: an earlier time is in seconds, or zero, instead of milliseconds


class Rejected(Struct, frozen=True):
    """A record or event that cannot be used. ``reason`` is a stable word; ``detail`` is the error and its place.

    ``value`` are the bytes of the one event of a record that cannot be used; None: it is the whole record. ``events``:
    how many events it stands for; more than one if those of a record are only counted.
    """

    reason: str
    detail: str
    value: bytes | None = None
    events: int = 1


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
