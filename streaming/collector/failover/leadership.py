"""Whether this collector may ask a cluster now, and the memory that one collector leaves to the next."""

import asyncio
import logging
import math
import time
import zlib
from collections.abc import Awaitable, Callable
from typing import Protocol

from streaming.collector.failover.membership import Membership
from streaming.collector.probing.live_transport import RUNNING_INFO_TIMEOUT_MS
from streaming.collector.probing.memory import Memory, MemoryFile, decode, encode, is_to_save

log = logging.getLogger(__name__)


class Leadership(Protocol):
    """Of one cluster. ``begin`` returns whether asking begins now; ``stopped`` is called when nothing is asked more.

    ``slow_after_ms``: for so long after the beginning, requests of the collector before may still wait for an answer.
    ``check_every_s``: how often ``begin`` or ``may_ask`` may have another answer.
    ``note``: since when no broker answers, by the monotonic clock. ``stand_by`` waits for a moment while another
    collector asks; it calls ``probe``, to know whether brokers would answer this one, when they leave the other one
    without answers.
    """

    @property
    def slow_after_ms(self) -> int: ...

    @property
    def check_every_s(self) -> float: ...

    def may_ask(self) -> bool: ...

    def begin(self) -> bool: ...

    def note(self, silent_since_s: float | None) -> None: ...

    async def stand_by(self, probe: Callable[[], Awaitable[bool]]) -> None: ...

    def stopped(self) -> None: ...

    def load(self) -> Memory | None: ...

    def save(self, memory: Memory) -> None: ...


class Alone:
    """There is no other collector, or nobody said so in the configuration. The memory is in a file."""

    slow_after_ms = 0
    check_every_s = math.inf

    def __init__(self, file: MemoryFile) -> None:
        self.load, self.save = file.load, file.save

    def may_ask(self) -> bool:
        return True

    def begin(self) -> bool:
        return True

    def note(self, silent_since_s: float | None) -> None:
        """Nobody else could be answered."""

    async def stand_by(self, probe: Callable[[], Awaitable[bool]]) -> None:
        """It never waits for another one."""

    def stopped(self) -> None:
        """Nobody waits for it."""


class Elected:
    """One of several collectors. The memory is in their topic, compressed, since Kafka's records are at most 1 MB."""

    slow_after_ms = RUNNING_INFO_TIMEOUT_MS
    check_every_s = 0.2

    def __init__(self, cluster: str, membership: Membership) -> None:
        self._cluster = cluster
        self._membership = membership
        self._saved: Memory | None = None

    def may_ask(self) -> bool:
        return self._membership.may_ask(self._cluster)

    def begin(self) -> bool:
        return self._membership.begin(self._cluster)

    def note(self, silent_since_s: float | None) -> None:
        self._membership.reach.note(self._cluster, silent_since_s, time.monotonic())

    async def stand_by(self, probe: Callable[[], Awaitable[bool]]) -> None:
        if self._membership.is_to_probe(self._cluster):
            began_s = time.monotonic()
            self._membership.reach.probed(self._cluster, await probe(), began_s)
        await asyncio.sleep(self.check_every_s)

    def stopped(self) -> None:
        self._membership.stopped(self._cluster)

    def load(self) -> Memory | None:
        record = self._membership.memories.newest(self._cluster)
        self._saved = None
        try:
            return None if record is None else decode(self._cluster, zlib.decompress(record))
        except zlib.error as error:
            log.error("%s: what a collector remembered cannot be read: %s", self._cluster, error)
            return None

    def save(self, memory: Memory) -> None:
        if is_to_save(self._saved, memory):
            self._saved = memory
            self._membership.memories.save(self._cluster, zlib.compress(encode(memory)))
