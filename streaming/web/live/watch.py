"""Follows the facts in a thread, so that a request gets the known data without reading tables, and counts changes."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from threading import Event, Lock, Thread

from schemas.facts import RebalanceFact
from streaming.core.retention import FORGET_AFTER_MS
from streaming.newest_facts import GroupName
from streaming.notifier.facts_follower import FactsFollower
from streaming.projections.progress import read_progress
from streaming.tables.storage import replayed_by
from streaming.tables.version import require_known_tables
from streaming.wall_clock import now_ms
from streaming.web.live.first_read import first_facts
from streaming.web.views.known import KEEP_RESOLVED_MS, Known
from streaming.web.views.overview import RankedGroups

log = logging.getLogger(__name__)

POLL_S = 1.0
PAUSE_AFTER_ERROR_S = 10.0
BESIDES = (RebalanceFact,)


class Changes:
    """Numbers of changes, for all groups and for each, which count up. Browsers wait for the next one.

    The reading thread calls ``tell``; the event loop of the server calls everything else.
    """

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

    def forget(self, groups: Iterable[GroupName]) -> None:
        """Forget groups that are gone. Numbers count up over all groups, so one that comes back has a larger one."""
        with self._lock:
            for group in groups:
                self._numbers.pop(group, None)

    def number(self, group: GroupName | None = None) -> int:
        """The number of the newest change of a group, or of any."""
        with self._lock:
            return self._number if group is None else self._numbers.get(group, 0)

    async def next(self, group: GroupName | None, after: int, seconds: float) -> int | None:
        """The number of a change after ``after``; None if none came in that time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (number := self.number(group)) <= after:
            if self._loop is not loop or self._told is None:
                self._loop, self._told = loop, asyncio.Event()
            told = self._told
            if self.number(group) > after:
                continue
            try:
                await asyncio.wait_for(told.wait(), until - loop.time())
            except TimeoutError:
                return None
        return number

    def _wake(self, told: asyncio.Event) -> None:
        if self._told is told:
            self._told = None
        told.set()


class Watch:
    """Watches the facts.

    ``known`` is replaced as a whole, so a request sees one moment. ``changes`` counts the changes. ``read_ts``: when
    reading last succeeded, by this machine's clock; None: never. Groups without a status for ``forget_after_ms`` are
    gone. ``keep_resolved_ms``: how long alerts are kept after their end. ``went_on`` is called after each try to read.
    """

    def __init__(
        self,
        tables: str,
        forget_after_ms: int = FORGET_AFTER_MS,
        keep_resolved_ms: int = KEEP_RESOLVED_MS,
        went_on: Callable[[], object] = lambda: None,
    ) -> None:
        self.tables, self._went_on = tables, went_on
        self._forget_after_ms, self._keep_resolved_ms = forget_after_ms, keep_resolved_ms
        self.known = Known()
        self.changes = Changes()
        self.error: str | None = None
        self.read_ts: int | None = None
        self.is_past = replayed_by(tables) is not None
        self._known = Known()
        self._follower: FactsFollower | None = None
        self._lock, self._ranking = Lock(), Lock()
        self._ranked: tuple[tuple[int, int], RankedGroups] | None = None

    def now_ms(self) -> int:
        """The time by which ages are counted; with tables from a replay, the newest time in them."""
        return self.known.newest_ts() if self.is_past else now_ms()

    def ranked(self, now: int) -> RankedGroups:
        """The groups, ranked after a change and not for each request, and every ten seconds: a cluster may get silent.

        The overview and the JSON API show the same order.
        """
        known = self.known
        moment = (known.version, now // 10_000)
        with self._ranking:
            if self._ranked is None or self._ranked[0] != moment:
                self._ranked = (moment, RankedGroups(known, now))
            return self._ranked[1]

    def start_reading(self, stop: Event, poll_s: float = POLL_S) -> Thread:
        """Start a thread that reads until ``stop``. An error is logged once, shown on the pages, and tried again."""
        reader = Thread(target=self._keep_reading, args=(stop, poll_s), name="web-reader", daemon=True)
        reader.start()
        return reader

    def _keep_reading(self, stop: Event, poll_s: float) -> None:
        while not stop.is_set():
            try:
                self.read()
                self.error = None
                pause = poll_s
            except Exception as error:
                said = str(error).split("\n", 1)[0] or type(error).__name__
                if said != self.error:
                    log.warning("the tables cannot be read, the pages show what was known before: %s", said)
                self.error, pause = said, PAUSE_AFTER_ERROR_S
            self._went_on()
            stop.wait(pause)

    def read(self) -> None:
        with self._lock:
            if self._follower is None:
                self._begin()
            assert self._follower is not None
            changed = self._known.take(self._follower.read())
            if changed or self.known.version != self._known.version:
                gone = self._known.forget(self.now_ms(), self._forget_after_ms, self._keep_resolved_ms)
                self.known = self._known.copy()
                self.changes.tell(changed)
                self.changes.forget(gone)
            self.read_ts = now_ms()

    def _begin(self) -> None:
        """Read the tables, then the facts that are not in the tables yet."""
        require_known_tables(self.tables)
        progress = read_progress(self.tables)
        self._known = Known()
        self._known.take(first_facts(self.tables, self._forget_after_ms))
        if progress is None:
            self._follower = FactsFollower(self.tables, besides=BESIDES)
        else:
            done = progress.done
            self._follower = FactsFollower(self.tables, done.table, done.version - 1, BESIDES)
