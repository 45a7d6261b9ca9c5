"""One sink's own pace: what is due is sent, tried again, and put off while the sink is away. Nobody waits for it."""

import logging
import random
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import NamedTuple

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_after_attempt,
    stop_when_event_set,
    wait_exponential,
    wait_random,
)

from streaming.errors import DeliveryError
from streaming.notices import Notice, Text
from streaming.notifier.grouping import opened
from streaming.notifier.notifications_table import Outcome
from streaming.notifier.pages import Due, Manner, Page, View, Why, due, is_unheard, notice_of
from streaming.notifier.routes import Route
from streaming.notifier.sink_view import Scene, view_of
from streaming.notifier.state_files import Cursor, load, save
from streaming.sinks import Message, Sink

log = logging.getLogger(__name__)

REMIND_MS = 600_000
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0  # after a fault of ours
TURN_MS = 30_000  # after so long what is due is judged anew


class Patience(NamedTuple):
    """Seconds. ``attempts`` in a row, first ``first_s`` apart, then more, up to ``longest_s``; then the sink rests for
    ``rest_s``, or for as long as it asks, up to ``most_asked_s``. A page that it refuses as such is tried again after
    ``refused_s``.
    """

    attempts: int = 5
    first_s: float = 1
    longest_s: float = 30
    rest_s: float = 60
    most_asked_s: float = 900
    refused_s: float = 300


class Desk(NamedTuple):
    """What a courier needs besides its sink. ``compose`` makes a notice's text in the sink's language, and its link."""

    manner: Manner
    routes: tuple[Route, ...]
    compose: Callable[[Notice, int], tuple[Text, str | None]]
    tell: Callable[[Outcome], None]
    now_ms: Callable[[], int]
    patience: Patience = Patience()


class Courier:
    """``failing``: since when (epoch ms) and why the sink takes nothing, None while it does.

    ``unsaved``: why its cursor cannot be written, None while it can. Pages go out all the same, but what was told is
    not known after a restart.
    """

    def __init__(self, sink: Sink, desk: Desk, folder: Path, stop: Event) -> None:
        self.name = sink.name
        self.failing: tuple[int, str] | None = None
        self.unsaved: str | None = None
        self._sink = sink
        self._desk = desk
        self._manner = desk.manner._replace(resend_ms=sink.resend_ms)
        self._stop = stop
        self._path = folder / f"{sink.name}.json"
        self._pages = load(self._path, Cursor).pages
        self._saved = dict(self._pages)
        self._rest_until = 0
        self._not_before: dict[str, int] = {}
        self._told_failed: set[tuple[str, str]] = set()
        self._reminded = 0
        self._broken_until = 0
        self._broken_for_s = FIRST_PAUSE_S

    @property
    def is_well(self) -> bool:
        return self.failing is None and self.unsaved is None

    def turn(self, scene: Scene) -> None:
        """Send what is due now. A fault of ours counts as a sink that fails, and is followed by a rest as well."""
        now = self._desk.now_ms()
        if now < self._broken_until:
            return
        try:
            self._turn(scene, now)
            self._broken_for_s = FIRST_PAUSE_S
        except Exception as error:
            self._note_failure(now, f"evenkeel's own fault: {_named(error)}", error)
            self._broken_until = now + round(self._broken_for_s * 1000)
            self._broken_for_s = min(2 * self._broken_for_s, LONGEST_PAUSE_S)

    def _turn(self, scene: Scene, now: int) -> None:
        view = view_of(self.name, scene, self._desk.routes, now)
        pages = opened(self._pages.values(), view, now, self._manner)
        for page in pages:
            if is_unheard(page, view):
                self._miss(page, view, now)
        self._pages = {page.key: page for page in pages if not is_unheard(page, view)}
        self._save()
        waiting = due(self._pages.values(), view, now, self._manner)
        for one in (one for one in waiting if now >= self._not_before.get(one.notice.key, 0)):
            began = self._desk.now_ms()
            if self._stop.is_set() or began - now > TURN_MS:
                return
            if began < self._rest_until:
                self._say_failed(one, began)
            else:
                self._deliver(one)
        self._remind(len(waiting))

    def _deliver(self, one: Due) -> None:
        """The cursor says that it is on its way before it is, so that its end is told even if we die meanwhile."""
        key = one.notice.key
        before = self._pages[key]
        self._keep(key, one.page)
        doubts: list[DeliveryError] = []
        try:
            self._send(one, doubts)
        except DeliveryError as error:
            if not any(doubt.may_be_taken for doubt in doubts):
                self._keep(key, before)
            self._fail(one, error)
        else:
            self._succeed(one)
            self._keep(key, one.after)

    def _send(self, one: Due, doubts: list[DeliveryError]) -> None:
        patience = self._desk.patience
        grows = wait_exponential(patience.first_s, patience.longest_s) + wait_random(0, patience.first_s)

        def may_pass(error: BaseException) -> bool:
            return isinstance(error, DeliveryError) and error.is_passing and (error.after_s or 0) <= patience.longest_s

        def wait(state: RetryCallState) -> float:
            return max(grows(state), doubts[-1].after_s or 0)

        def attempt() -> None:
            now = self._desk.now_ms()
            text, link = self._desk.compose(one.notice, now)
            try:
                self._sink.send(Message(one.notice, text, link, now))
            except DeliveryError as error:
                doubts.append(error)
                raise
            except Exception as error:  # of a library that does not know our errors
                log.exception("sink %s: an error that is not known", self.name)
                doubts.append(DeliveryError(_named(error), is_passing=True, may_be_taken=True))
                raise doubts[-1] from None

        Retrying(
            retry=retry_if_exception(may_pass),
            stop=stop_after_attempt(patience.attempts) | stop_when_event_set(self._stop),
            wait=wait,
            sleep=sleep_using_event(self._stop),
            reraise=True,
        )(attempt)

    def _succeed(self, one: Due) -> None:
        key, now = one.notice.key, self._desk.now_ms()
        if self.failing is not None:
            log.info("sink %s takes pages again", self.name)
            self.failing = None
        self._not_before.pop(key, None)
        self._told_failed -= {(key, "firing"), (key, "resolved")}
        if one.why is not Why.KEPT_ALIVE:
            self._tell("delivered", None, one.notice, now)

    def _fail(self, one: Due, error: DeliveryError) -> None:
        now, patience = self._desk.now_ms(), self._desk.patience
        if error.is_passing:
            asked_s = min(error.after_s or 0, patience.most_asked_s)
            self._rest_until = now + round(1000 * max(patience.rest_s * random.uniform(0.8, 1.2), asked_s))
        else:
            self._not_before[one.notice.key] = now + round(patience.refused_s * 1000)
        self._note_failure(now, str(error))
        self._say_failed(one, now)

    def _note_failure(self, now: int, why: str, error: Exception | None = None) -> None:
        if self.failing is None:
            self._reminded = now
            log.error("sink %s does not take pages: %s; what fires is tried again", self.name, why, exc_info=error)
        self.failing = (now if self.failing is None else self.failing[0], why)

    def _say_failed(self, one: Due, now: int) -> None:
        """One row for each notice, however often it is tried."""
        name = (one.notice.key, one.notice.status)
        if name not in self._told_failed and self.failing is not None:
            self._told_failed.add(name)
            self._tell("failed", self.failing[1], one.notice, now)

    def _miss(self, page: Page, view: View, now: int) -> None:
        why = f": {self.failing[1]}" if self.failing else ""
        self._told_failed.discard((page.key, "firing"))
        self._tell("missed", f"over before it was delivered{why}", notice_of(page, view), now)

    def _tell(self, outcome: str, detail: str | None, notice: Notice, now: int) -> None:
        text, _ = self._desk.compose(notice, now)
        self._desk.tell(Outcome(self.name, outcome, detail, notice, text, now))

    def _remind(self, waiting: int) -> None:
        now = self._desk.now_ms()
        if self.failing is None:
            return
        if not waiting and now >= self._rest_until:
            log.info("sink %s: nothing is left that it would have to take", self.name)
            self.failing = None
        elif now - self._reminded >= REMIND_MS:
            self._reminded = now
            minutes = (now - self.failing[0]) // 60_000
            log.error("sink %s has taken nothing for %d min, %d wait: %s", self.name, minutes, waiting, self.failing[1])

    def _keep(self, key: str, page: Page | None) -> None:
        if page is None:
            self._pages.pop(key, None)
        else:
            self._pages[key] = page
        self._save()

    def _save(self) -> None:
        """What cannot be kept must not keep anybody from being told."""
        if self._pages == self._saved:
            return
        try:
            save(self._path, Cursor(self._pages))
        except OSError as error:
            if self.unsaved is None:
                log.error(
                    "%s cannot be written: %s; pages go out, but may be sent again after a restart", self._path, error
                )
            self.unsaved = str(error)
            return
        if self.unsaved is not None:
            log.info("%s is written again", self._path)
        self.unsaved = None
        self._saved = dict(self._pages)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
