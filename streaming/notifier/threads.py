"""The notifier at work: one thread reads the facts, one sees how things stand, each sink has one; none waits."""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import NamedTuple

from streaming.notices import Notice, Site, Text, write
from streaming.notifier.facts_follower import Tail
from streaming.notifier.heartbeat import Heartbeat
from streaming.notifier.monitor_health import STARTING_MS, Limits
from streaming.notifier.notifications_table import Outcomes
from streaming.notifier.pages import Manner
from streaming.notifier.routes import Route
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.sink_view import Scene, scene_of
from streaming.notifier.sink_worker import Courier, Desk, Patience
from streaming.notifier.state_files import POSITION, InUse, Position, folder_of_ones_own, load, private_folder, save
from streaming.sinks import Sink

log = logging.getLogger(__name__)

POLL_S, LONGEST_POLL_S = 1.0, 10.0
MOST_OF_A_PROCESSOR = 0.1
SAVE_EVERY_MS = 5_000  # facts may be read twice
REMIND_MS = 60_000
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 300.0
ENDING_S = 5  # what is on its way may arrive; else it is sent again at the next start


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Addressee(NamedTuple):
    """``language``: "en" or "zh"."""

    sink: Sink
    language: str


class Plan(NamedTuple):
    """What to watch and whom to tell. ``tables``: their folder; ``state``: the notifier's own; ``clusters``: those that
    must be heard of; ``link`` makes an address of a notice; ``site``: what readers have at hand; ``heartbeat``: the
    dead-man switch, if there is one.
    """

    tables: str
    state: Path
    addressees: Sequence[Addressee]
    routes: tuple[Route, ...]
    manner: Manner = Manner()
    limits: Limits = Limits()
    clusters: tuple[str, ...] = ()
    link: Callable[[Notice], str | None] = lambda notice: None
    site: Site = Site()
    heartbeat: Heartbeat | None = None
    patience: Patience = Patience()
    poll_s: float = POLL_S
    now_ms: Callable[[], int] = now_ms


def serve(plan: Plan, stop: Event) -> None:
    """Deliver until ``stop``. Raises InUse while another notifier does."""
    with folder_of_ones_own(plan.state):
        over = Event()
        names = ", ".join(one.sink.name for one in plan.addressees)
        log.info("following %s/facts; pages go to: %s", plan.tables, names)
        post = _Post(plan, over)
        threads = [Thread(target=work, name=name, daemon=True) for name, work in post.works()]
        for thread in threads:
            thread.start()
        try:
            post.watch(stop)
        finally:
            over.set()
            deadline = time.monotonic() + ENDING_S
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))
            post.outcomes.write()


def keep_serving(plan: Plan, stop: Event, *, is_alone: bool = False) -> None:
    """Whatever goes wrong is said, and begun again after a pause that grows, until ``stop``.

    While another notifier delivers, wait for it to end; if ``is_alone``, raise InUse instead.
    """
    pause, is_said = FIRST_PAUSE_S, False
    while not stop.is_set():
        try:
            serve(plan, stop)
        except InUse as error:
            if is_alone:
                raise
            if not is_said:
                log.info("%s", error)
            pause, is_said = 30.0, True
        except Exception:
            log.exception("the notifier failed; it is begun again in %.0f s", pause)
        stop.wait(0 if stop.is_set() else pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


class _Post:
    """What the threads share: the newest scene, replaced whole."""

    def __init__(self, plan: Plan, over: Event) -> None:
        self._plan, self._over = plan, over
        self._position = load(plan.state / POSITION, Position)
        self._tail = Tail(f"{plan.tables}/facts", self._position.table_id, self._position.version)
        self._silences = SilenceFiles(plan.state)
        self.outcomes = Outcomes(plan.tables, private_folder(plan.state / "outcomes"))
        self._since = plan.now_ms()
        self._scene: Scene | None = None
        self._unsaved: str | None = None
        self._read_ts = self._saved_ts = self._said_ts = 0
        self._has_news = False
        self._lock = Lock()
        folder = private_folder(plan.state / "sinks")
        self._couriers = [Courier(one.sink, self._desk(one), folder, over) for one in plan.addressees]

    def works(self) -> list[tuple[str, Callable[[], None]]]:
        """What runs beside the watch."""
        works: list[tuple[str, Callable[[], None]]]
        works = [(f"sink-{courier.name}", partial(self._carry, courier)) for courier in self._couriers]
        works += [("facts", self._follow), ("notifications", partial(self.outcomes.run, self._over))]
        if self._plan.heartbeat is not None:
            works.append(("dead-man", partial(self._plan.heartbeat.run, self._is_well, self._over)))
        return works

    def watch(self, stop: Event) -> None:
        """See how things stand until ``stop``. It waits for nobody: a storage that hangs is a trouble, too."""
        while not stop.is_set():
            began = time.thread_time()
            self._look()
            stop.wait(self._pause(began))
        self._save()

    def _look(self) -> None:
        now, plan = self._plan.now_ms(), self._plan
        if not self._read_ts and now - self._since < STARTING_MS:
            return  # what was kept may be older than what the sinks were told
        with self._lock:
            self._position.standing.forget(now)
            standing = self._position.standing.copy()
        scene = scene_of(standing, self._silences.all(), plan.clusters, plan.limits, self._since, now)
        for trouble in set(scene.troubles) - set(standing.troubles):
            log.error("%s %s: %s", trouble.kind, trouble.cluster, trouble.detail)
        with self._lock:
            self._has_news |= scene.troubles != standing.troubles
            self._position.standing.troubles = scene.troubles
            self._scene = scene
        if self._has_news and now - self._saved_ts >= SAVE_EVERY_MS:
            self._save()

    def _save(self) -> None:
        with self._lock:
            position = Position(self._position.table_id, self._position.version, self._position.standing.copy())
            self._has_news = False
        self._saved_ts = self._plan.now_ms()
        try:
            save(self._plan.state / POSITION, position)
        except OSError as error:
            if self._unsaved is None:
                log.error("%s cannot be written: %s; facts are read again after a restart", self._plan.state, error)
            self._unsaved, self._has_news = str(error), True
            return
        self._unsaved = None
        self._silences.forget(self._saved_ts)

    def _follow(self) -> None:
        """Read the facts. While they cannot be read nothing is known, and in time that is a trouble."""
        pause = 0.0
        while not self._over.wait(pause):
            began = time.thread_time()
            try:
                self._read()
            except Exception as error:
                now = self._plan.now_ms()
                if now - self._said_ts >= REMIND_MS:
                    self._said_ts = now
                    log.error("the facts cannot be read: %s", str(error).split("\n", 1)[0])
            pause = self._pause(began)

    def _read(self) -> None:
        before = self._tail.table_id
        facts = self._tail.read()
        with self._lock:
            self._read_ts = self._plan.now_ms()
            self._has_news |= bool(facts)
            position = self._position
            if before is not None and before != self._tail.table_id:
                position.standing.clear()
            position.standing.take(facts)
            position.table_id, position.version = self._tail.table_id, self._tail.version

    def _pause(self, began: float) -> float:
        """Seconds, so that no thread keeps a processor from the job for more than a small part of the time."""
        took = time.thread_time() - began
        return max(self._plan.poll_s, min(took / MOST_OF_A_PROCESSOR, LONGEST_POLL_S))

    def _carry(self, courier: Courier) -> None:
        pause = self._plan.poll_s
        while not self._over.wait(pause):
            began = time.thread_time()
            with self._lock:
                scene = self._scene
            if scene is not None:
                courier.turn(scene)
            pause = self._pause(began)

    def _desk(self, addressee: Addressee) -> Desk:
        plan = self._plan

        def compose(notice: Notice, now: int) -> tuple[Text, str | None]:
            link = plan.link(notice)
            return write(notice, addressee.language, now, link, addressee.sink.most_bytes, plan.site), link

        return Desk(plan.manner, plan.routes, compose, self.outcomes.tell, plan.now_ms, plan.patience)

    def _is_well(self) -> bool:
        """Every cluster is seen, every sink takes pages, what is told is kept, and facts were read a moment ago."""
        with self._lock:
            scene = self._scene
        is_fresh = self._plan.now_ms() - self._read_ts < self._plan.limits.blind_ms
        takes = self._unsaved is None and all(courier.is_well for courier in self._couriers)
        return scene is not None and is_fresh and takes and not scene.unseen
