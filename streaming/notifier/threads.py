"""The notifier's threads: one reads facts, one computes the current state, one serves each sink."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import NamedTuple

from streaming.errors import SetupError
from streaming.notices.notice import Notice, Site, Text
from streaming.notices.page_text import write
from streaming.notices.trouble_text import trouble_said
from streaming.notifier.exposed import NotifierCounts, NotifierStatus
from streaming.notifier.facts_follower import FactsFollower
from streaming.notifier.heartbeat import Heartbeat
from streaming.notifier.monitor_health import FactsRead, MonitorLimits
from streaming.notifier.notifications_table import Delivery, NotificationsTable
from streaming.notifier.pages import PageSettings
from streaming.notifier.retries import RetryPolicy
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.sink_view import STARTING_MS, CurrentState, Route, current_state
from streaming.notifier.sink_worker import SinkWorker, WorkerSettings
from streaming.notifier.state_files import (
    POSITION,
    SINKS,
    FolderLock,
    Position,
    StateInUse,
    load,
    locked_folder,
    save_twice,
)
from streaming.sinks.sink import Sink
from streaming.standby import Standby, taken
from streaming.wall_clock import now_ms

log = logging.getLogger(__name__)

POLL_S, LONGEST_POLL_S = 1.0, 10.0
CPU_SHARE = 0.1  # of one processor, at most, by each thread
SAVE_EVERY_MS = 5_000  # facts since then are read again after a restart
REMIND_MS = 60_000
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 240.0  # the watchdog of systemd waits for 300 s
STATE, FACTS = PARTS = ("state", "facts")  # of the work, each in a thread of its own
STOP_WITHIN_S = 5  # time for a notice that is being sent; later it is sent again at the next start


class Destination(NamedTuple):
    """A sink with the language of its pages. ``language``: "en" or "zh"."""

    sink: Sink
    language: str


class NotifierSettings(NamedTuple):
    """The settings of a notifier. ``tables``: their folder; ``state``: its own folder; ``clusters``: those whose health
    facts must come; ``link`` makes the address of a notice; ``site``: the installation, for the text of a page;
    ``went_on`` is called with each step of STATE and FACTS.
    """

    tables: str
    state: Path
    destinations: Sequence[Destination]
    routes: tuple[Route, ...]
    page_settings: PageSettings
    limits: MonitorLimits
    clusters: tuple[str, ...] = ()
    link: Callable[[Notice], str | None] = lambda notice: None
    site: Site = Site()
    heartbeat: Heartbeat | None = None
    retry: RetryPolicy = RetryPolicy()
    poll_s: float = POLL_S
    now_ms: Callable[[], int] = now_ms
    went_on: Callable[[str], object] = lambda part: None


class SettingsInForce:
    """The settings of a notifier that runs. Another thread may replace them: all but ``tables`` and ``state``."""

    def __init__(self, settings: NotifierSettings) -> None:
        self.settings = settings

    def take(self, settings: NotifierSettings, counts: NotifierCounts) -> None:
        """Put other settings in force. Raises SetupError while the notifier of ``counts`` cannot save its state: the
        files are older than what was sent, and the notifier under the new settings reads the files.
        """
        unsaved = [] if counts.status is None else counts.status.reasons_unsaved()
        if unsaved:
            raise SetupError(
                f"{settings.state} (notify.state) cannot be written: {unsaved[0]}; a reload would send pages again, "
                "and would not end others. Make it writable (is its disk full?), and reload again"
            )
        if settings.heartbeat is not None and self.settings.heartbeat is not None:
            settings.heartbeat.take_over(self.settings.heartbeat)
        self.settings = settings


def deliver(
    in_force: SettingsInForce, stop: Event, counts: NotifierCounts | None = None, standby: Standby | None = None
) -> None:
    """Send pages until ``stop``. While another notifier delivers, wait for its end; without ``standby``, raise
    StateInUse. Nothing of the state is read before it is this notifier's.

    Other settings take effect as at a new start, when the old threads that send pages have ended. The lock is kept, so
    that no other notifier takes over meanwhile.
    """
    counts = counts or NotifierCounts()
    with ExitStack() as stack:
        lock = taken(stack, partial(locked_folder, in_force.settings.state), stop, standby)
        if lock is None:
            return
        notifications = NotificationsTable(in_force.settings.tables, in_force.settings.state / "outcomes")
        ended = Event()
        writing = Thread(target=notifications.run, args=(ended,), name="notifications", daemon=True)
        writing.start()
        try:
            while not stop.is_set():
                _deliver_under(in_force.settings, in_force, stop, counts, lock, notifications)
        finally:
            counts.status = None
            ended.set()
            writing.join(STOP_WITHIN_S)  # rows that are not written by then are in files


def _deliver_under(
    settings: NotifierSettings,
    in_force: SettingsInForce,
    stop: Event,
    counts: NotifierCounts,
    lock: FolderLock,
    notifications: NotificationsTable,
) -> None:
    """Send pages until ``stop``, or until other settings are in force."""
    stopping = Event()
    names = ", ".join(one.sink.name for one in settings.destinations)
    log.info("following %s/facts; pages go to: %s", settings.tables, names)
    notifier = _Notifier(settings, stopping, counts, notifications)
    workers, others = _started(notifier.worker_targets()), _started(notifier.other_targets())
    try:
        notifier.update_state_while(lambda: not stop.is_set() and in_force.settings is settings, stop, lock)
    finally:
        stopping.set()
        _wait_for(workers, others, stop)


def _started(targets: Iterable[tuple[str, Callable[[], None]]]) -> list[Thread]:
    threads = [Thread(target=target, name=name, daemon=True) for name, target in targets]
    for thread in threads:
        thread.start()
    return threads


def _wait_for(workers: Sequence[Thread], others: Sequence[Thread], stop: Event) -> None:
    """Wait for the end of the workers, after ``stop`` for STOP_WITHIN_S at most. No two ever send the same notice.

    Wait for the others for STOP_WITHIN_S at most. While the tables' storage hangs, they hang too, and pages must go on.
    """
    others_until, deadline = time.monotonic() + STOP_WITHIN_S, math.inf
    while (alive := [thread for thread in workers if thread.is_alive()]) and time.monotonic() < deadline:
        alive[0].join(0.05)
        if stop.is_set():
            deadline = min(deadline, time.monotonic() + STOP_WITHIN_S)
    for thread in others:
        thread.join(max(0, others_until - time.monotonic()))


def keep_delivering(
    in_force: SettingsInForce, stop: Event, counts: NotifierCounts | None = None, standby: Standby | None = None
) -> None:
    """Deliver until ``stop``, and start again after any error with a growing pause. ``counts``: of deliveries.

    While another notifier delivers, wait for its end; without ``standby``, raise StateInUse instead.
    """
    pause_s = FIRST_PAUSE_S
    while not stop.is_set():
        try:
            deliver(in_force, stop, counts, standby)
        except StateInUse:  # with a standby only if a full disk prevented the lock at first, and another one has it now
            if standby is None:
                raise
        except Exception:
            log.exception("the notifier failed; it starts again in %.0f s", pause_s)
            for part in PARTS:
                in_force.settings.went_on(part)
        stop.wait(0 if stop.is_set() else pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


class _Notifier:
    """The state that the threads share: the newest CurrentState, which is replaced as a whole.

    Only ``update_state_while`` and the workers write files. The other threads may live on, and then change nothing.
    """

    def __init__(
        self, settings: NotifierSettings, stopping: Event, counts: NotifierCounts, notifications: NotificationsTable
    ) -> None:
        self._settings, self._stopping, self._counts = settings, stopping, counts
        self._notifications = notifications
        self._position = load(settings.state / POSITION, Position)
        self._facts = FactsFollower(settings.tables, self._position.table_id, self._position.version)
        self._silences = SilenceFiles(settings.state)
        self._started_ts = settings.now_ms()
        self._state: CurrentState | None = None
        self._unsaved: str | None = None
        self._read_error: str | None = None
        self._read_ts = self._saved_ts = self._logged_ts = 0
        self._has_changed = False
        self._lock = Lock()
        folder = settings.state / SINKS
        self._workers = [
            SinkWorker(one.sink, self._worker_settings(one), folder, stopping) for one in settings.destinations
        ]

    def worker_targets(self) -> list[tuple[str, Callable[[], None]]]:
        """The functions that send pages beside ``update_state_while``, with the threads' names."""
        return [(f"sink-{worker.name}", partial(self._run_worker, worker)) for worker in self._workers]

    def other_targets(self) -> list[tuple[str, Callable[[], None]]]:
        """The other functions that run beside ``update_state_while``, with the threads' names."""
        targets: list[tuple[str, Callable[[], None]]] = [("facts", self._read_facts)]
        if self._settings.heartbeat is not None:
            targets.append(("dead-man", partial(self._settings.heartbeat.run, self._is_healthy, self._stopping)))
        return targets

    def update_state_while(self, goes_on: Callable[[], bool], stop: Event, lock: FolderLock) -> None:
        """Update the state, waiting for no other thread: storage that hangs is a trouble, too. Raises StateInUse."""
        while goes_on():
            lock.take()
            began = time.thread_time()
            self._update_state()
            self._counts.status = self._status()
            self._settings.went_on(STATE)
            stop.wait(self._pause_s(began))
        self._save()

    def _update_state(self) -> None:
        now, settings = self._settings.now_ms(), self._settings
        if not self._read_ts and now - self._started_ts < STARTING_MS:
            return  # the saved position may be older than the notices that were sent
        with self._lock:
            self._position.open_alerts.forget(now)
            known = self._position.open_alerts.copy()
        silences, read = self._silences.all(), FactsRead(self._read_ts or self._started_ts, self._read_error)
        state = current_state(known, silences, settings.clusters, settings.limits, self._started_ts, now, read)
        before = {(one.kind, one.cluster, one.group, one.why) for one in known.troubles}
        for trouble in state.troubles:
            if (trouble.kind, trouble.cluster, trouble.group, trouble.why) not in before:
                log.error("%s %s: %s", trouble.kind, trouble.cluster, trouble_said(trouble, "en", now))
        with self._lock:
            self._has_changed |= state.troubles != known.troubles
            self._position.open_alerts.troubles = state.troubles
            self._state = state
        if self._has_changed and now - self._saved_ts >= SAVE_EVERY_MS:
            self._save()

    def _save(self) -> None:
        with self._lock:
            position = Position(self._position.table_id, self._position.version, self._position.open_alerts.copy())
            self._has_changed = False
        self._saved_ts = self._settings.now_ms()
        try:
            save_twice(self._settings.state / POSITION, position)
        except OSError as error:
            if self._unsaved is None:
                log.error("%s cannot be written: %s; facts are read again after a restart", self._settings.state, error)
            self._unsaved, self._has_changed = str(error), True
            return
        self._unsaved = None
        self._silences.delete_old(self._saved_ts)

    def _read_facts(self) -> None:
        """Read facts. While they cannot be read nothing is known, which after some time is a trouble."""
        pause_s = 0.0
        while not self._stopping.wait(pause_s):
            began = time.thread_time()
            try:
                self._read_new_facts()
                self._read_error = None
            except Exception as error:
                now = self._settings.now_ms()
                self._read_error = str(error).split("\n", 1)[0] or type(error).__name__
                if now - self._logged_ts >= REMIND_MS:
                    self._logged_ts = now
                    log.error("the facts cannot be read: %s", str(error).split("\n", 1)[0])
            if self._stopping.is_set():
                return  # it may have hung until now, and another thread reads in its place
            self._settings.went_on(FACTS)
            pause_s = self._pause_s(began)

    def _read_new_facts(self) -> None:
        before = self._facts.table_id
        facts = self._facts.read()
        with self._lock:
            self._read_ts = self._settings.now_ms()
            self._has_changed |= bool(facts)
            position = self._position
            if before is not None and before != self._facts.table_id:
                position.open_alerts.clear()
            position.open_alerts.take(facts)
            position.table_id, position.version = self._facts.table_id, self._facts.version

    def _pause_s(self, began: float) -> float:
        """The pause after which no thread has taken more than CPU_SHARE of a processor from the job."""
        took = time.thread_time() - began
        return max(self._settings.poll_s, min(took / CPU_SHARE, LONGEST_POLL_S))

    def _run_worker(self, worker: SinkWorker) -> None:
        pause_s = self._settings.poll_s
        while not self._stopping.wait(pause_s):
            began = time.thread_time()
            with self._lock:
                state = self._state
            if state is not None:
                worker.send_due(state)
            pause_s = self._pause_s(began)

    def _worker_settings(self, destination: Destination) -> WorkerSettings:
        settings = self._settings

        def compose(notice: Notice, now: int) -> tuple[Text, str | None]:
            link = settings.link(notice)
            return write(notice, destination.language, now, link, destination.sink.most_bytes, settings.site), link

        def record(delivery: Delivery) -> None:
            self._counts.count(delivery.sink, delivery.outcome)
            self._notifications.add(delivery)

        return WorkerSettings(
            page_settings=settings.page_settings,
            routes=settings.routes,
            compose=compose,
            record=record,
            now_ms=settings.now_ms,
            retry=settings.retry,
            repeated=lambda sink: self._counts.count(sink, "repeated"),
        )

    def _status(self) -> NotifierStatus:
        with self._lock:
            state, read_ts = self._state, self._read_ts
        sinks = tuple(worker.status() for worker in self._workers)
        if state is None:
            return NotifierStatus(read_ts, self._unsaved, sinks)
        health = state.open_alerts.health
        return NotifierStatus(read_ts, self._unsaved, sinks, state.troubles, state.unseen, health)

    def _is_healthy(self) -> bool:
        """True if every cluster is seen, every sink accepts pages, state is saved, and facts were read recently."""
        with self._lock:
            state = self._state
        is_fresh = self._settings.now_ms() - self._read_ts < self._settings.limits.blind_ms
        is_delivered = self._unsaved is None and all(worker.is_healthy for worker in self._workers)
        return state is not None and is_fresh and is_delivered and not state.unseen
