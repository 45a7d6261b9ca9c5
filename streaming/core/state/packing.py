"""Group state as bytes: one byte of version, then MessagePack arrays.

A change of any class in ``group_state``, ``queue_state`` or ``schemas.observed`` changes the packed form. A field with
a default that is added at the end of its class is read as it is. For any other change add one to ``STATE_VERSION``, and
the step from the version before to ``MIGRATIONS``. tests/releases has packed states of every release, and reads them.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from streaming.core.state.group_state import GroupState
from streaming.errors import StateVersionError

STATE_VERSION = 3
OLDEST_READABLE = 3
# What helps where state is refused.
RESEED = "run 'evenkeel reseed' to begin a new checkpoint that keeps the open alerts"

# Version -> what makes a state of that version, as decoded lists, one of the next version.
MIGRATIONS: dict[int, Callable[[list[Any]], list[Any]]] = {}

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(GroupState)


def pack(state: GroupState) -> bytes:
    return bytes([STATE_VERSION]) + _encoder.encode(state)


def unpack(packed: bytes) -> GroupState:
    """Reads every version from ``OLDEST_READABLE`` on. Raises StateVersionError for others, and for damaged state."""
    version = packed[0] if packed else 0
    require_version(version)
    try:
        if version == STATE_VERSION:
            return _decoder.decode(memoryview(packed)[1:])
        return msgspec.convert(_migrated(msgspec.msgpack.decode(packed[1:]), version), GroupState)
    except msgspec.MsgspecError as error:
        raise _unreadable(f"that is damaged ({error})") from error


def _migrated(state: list[Any], version: int) -> list[Any]:
    for step in range(version, STATE_VERSION):
        state = MIGRATIONS[step](state)
    return state


def require_version(version: int) -> None:
    """Raises StateVersionError for state that this evenkeel cannot read."""
    if not OLDEST_READABLE <= version <= STATE_VERSION:
        raise _unreadable(f"of version {version:02x}")


def _unreadable(what: str) -> StateVersionError:
    reads = f"version {STATE_VERSION:02x}"
    if OLDEST_READABLE < STATE_VERSION:
        reads = f"versions {OLDEST_READABLE:02x} to {STATE_VERSION:02x}"
    return StateVersionError(f"the checkpoint holds group state {what}, this evenkeel reads {reads}: {RESEED}")
