"""The memory of a collector: it must know after a restart which groups it watched before. And where it is kept.

Brokers know every group that ever was, but not which of them had members a moment ago. The memory is in a file, which
is replaced as a whole, or in the topic by which several collectors agree who asks. The collector also works without it.
"""

import logging
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from streaming import private_files

AGAIN_AFTER_MS = 60_000  # even if nothing but the time has changed
Turns = dict[str, list[tuple[int, tuple[str, ...]]]]  # broker name -> sets of topics, and since when
log = logging.getLogger(__name__)


class Remembered(Struct, omit_defaults=True):
    """A group of which rounds are told. ``empty_since``: when it last had members, 0: it has them."""

    topics: tuple[str, ...] = ()
    empty_since: int = 0
    turns: Turns = field(default_factory=dict)  # where members overwrite each other's subscriptions


class SlowClient(Struct, omit_defaults=True):
    """A client that is asked less often. ``steps`` doubles its period that often.

    ``unanswered``: how many requests it has not answered, if it never has answered one. ``last_ts``: when the last
    request to it ended, 0: not known.
    """

    steps: int = 0
    unanswered: int = 0
    last_ts: int = 0

    @property
    def pace(self) -> tuple[int, int]:
        """How seldom it is asked, apart from when it was."""
        return self.unanswered, self.steps


class Memory(Struct):
    """The groups of one cluster; ``ts`` is when this was known. ``blind_ts``: when it began without a memory, or 0.

    ``slow``: by client id.
    """

    ts: int
    groups: dict[str, Remembered]
    blind_ts: int = 0
    slow: dict[str, SlowClient] = field(default_factory=dict)


encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Memory).decode


def decode(cluster: str, content: bytes) -> Memory | None:
    """None where it cannot be read: the collector works without it."""
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        log.error("%s: what a collector remembered cannot be read: %s", cluster, error)
        return None


def is_to_save(saved: Memory | None, memory: Memory) -> bool:
    """Returns whether something has changed since the last time, or a minute has gone by.

    That a slow client was asked once more is no change: with many of them, that happens all the time.
    """
    if saved is None or memory.ts - saved.ts >= AGAIN_AFTER_MS:
        return True
    return (saved.groups, _paces(saved)) != (memory.groups, _paces(memory))


def _paces(memory: Memory) -> dict[str, tuple[int, int]]:
    return {client_id: slow.pace for client_id, slow in memory.slow.items()}


class MemoryFile:
    """In ``folder``, for nobody else to read. A disk that is full or read-only is said once."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self._path = folder.resolve() / f"{quote(cluster, safe='')[:200]}.json"
        self._cluster = cluster
        self._saved: Memory | None = None
        self._fails = False

    def load(self) -> Memory | None:
        """None where there is none that can be read."""
        try:
            return _decode(private_files.read(self._path))
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.error("%s: %s cannot be read: %s", self._cluster, self._path, error)
            return None

    def save(self, memory: Memory) -> None:
        """Whole or not at all, where ``is_to_save``."""
        if not is_to_save(self._saved, memory):
            return
        self._saved = memory
        try:
            private_files.replace(self._path, encode(memory))
        except OSError as error:
            if not self._fails:
                log.error("%s: %s cannot be written: %s", self._cluster, self._path, error.strerror or error)
            self._fails = True
        else:
            self._fails = False
