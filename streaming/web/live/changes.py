"""Notifies browsers of changes: a number that counts up, for all groups and for each."""

import asyncio
from collections.abc import Iterable
from threading import Lock

from streaming.newest_facts import GroupName


class Changes:
    """Numbers of changes. The reading thread calls ``tell``; the event loop of the server calls everything else."""

    def __init__(self) -> None:
        self._numbers: dict[GroupName, int] = {}
        self._number = 0
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told: asyncio.Event | None = None

    def tell(self, groups: Iterable[GroupName]) -> None:
        with self._lock:
            self._number += 1
            self._numbers |= dict.fromkeys(groups, self._number)
        loop, told = self._loop, self._told
        if loop is not None and told is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake, told)

    def number(self, group: GroupName | None = None) -> int:
        """The number of the newest change of a group, or of any."""
        with self._lock:
            return self._number if group is None else self._numbers.get(group, 0)

    async def next(self, group: GroupName | None, after: int, seconds: float) -> int | None:
        """The number of a change after ``after``; None if none came in that time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (number := self.number(group)) <= after:
            told = self._event(loop)
            if self.number(group) > after:
                continue
            try:
                await asyncio.wait_for(told.wait(), until - loop.time())
            except asyncio.TimeoutError:
                return None
        return number

    def _event(self, loop: asyncio.AbstractEventLoop) -> asyncio.Event:
        if self._loop is not loop or self._told is None:
            self._loop, self._told = loop, asyncio.Event()
        return self._told

    def _wake(self, told: asyncio.Event) -> None:
        if self._told is told:
            self._told = None
        told.set()
