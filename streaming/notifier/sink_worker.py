"""The worker of one sink: sends due notices, retries, and pauses while the sink fails. No other sink waits for it."""

import logging
import random
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import NamedTuple

from streaming.errors import DeliveryError
from streaming.notices.notice import Notice, Text
from streaming.notifier.grouping import update_pages
from streaming.notifier.notifications_table import Delivery
from streaming.notifier.pages import DueNotice, Page, PageSettings, SendReason, due_notices, ended_unsent, notice_of
from streaming.notifier.retries import RetryPolicy, describe, send_with_retries
from streaming.notifier.sink_view import CurrentState, Route, view_of
from streaming.notifier.state_files import SinkState, load, save_twice
from streaming.sinks.sink import Message, Sink

log = logging.getLogger(__name__)

REMIND_MS = 600_000
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0  # after an error of evenkeel itself
ROUND_MS = 30_000  # due notices are computed again after this time


class WorkerSettings(NamedTuple):
    """The settings of a worker.

    ``compose`` makes a notice's text in the sink's language, and its link. ``record`` gets the outcome of a notice;
    if a notice was only repeated, ``repeated`` gets the sink's name instead.
    """

    page_settings: PageSettings
    routes: tuple[Route, ...]
    compose: Callable[[Notice, int], tuple[Text, str | None]]
    record: Callable[[Delivery], None]
    now_ms: Callable[[], int]
    retry: RetryPolicy = RetryPolicy()
    repeated: Callable[[str], None] = lambda sink: None


class SinkStatus(NamedTuple):
    """The status of a sink. ``failing`` and ``unsaved``: the reasons; ``taken_ts``: when it last accepted a notice."""

    name: str
    failing: str | None
    unsaved: str | None
    open_pages: int
    waiting: int
    taken_ts: int | None


class SinkWorker:
    """A worker. ``failing``: since when (epoch ms) and why the sink accepts nothing; None: it accepts notices.

    ``unsaved``: why the state file cannot be written; None: it can. Pages are still sent, but may be sent again after a
    restart.
    """

    def __init__(self, sink: Sink, settings: WorkerSettings, folder: Path, stop: Event) -> None:
        self.name = sink.name
        self.failing: tuple[int, str] | None = None
        self.unsaved: str | None = None
        self._sink = sink
        self._settings = settings
        self._page_settings = settings.page_settings._replace(resend_ms=sink.resend_ms)
        self._stop = stop
        self._path = folder / f"{sink.name}.json"
        self._pages = load(self._path, SinkState).pages
        self._saved = dict(self._pages)
        self._paused_until = 0
        self._not_before: dict[str, int] = {}
        self._recorded_as_failed: set[tuple[str, str]] = set()
        self._reminded = 0
        self._waiting = 0
        self._taken_ts: int | None = None
        self._faulty_until = 0
        self._fault_pause_s = FIRST_PAUSE_S

    @property
    def is_healthy(self) -> bool:
        return self.failing is None and self.unsaved is None

    def status(self) -> SinkStatus:
        failing = self.failing
        why = None if failing is None else failing[1]
        return SinkStatus(self.name, why, self.unsaved, len(self._pages), self._waiting, self._taken_ts)

    def send_due(self, state: CurrentState) -> None:
        """Send due notices. An error of evenkeel itself counts as a failing sink, and is followed by a pause."""
        now = self._settings.now_ms()
        if now < self._faulty_until:
            return
        try:
            self._send_due(state, now)
            self._fault_pause_s = FIRST_PAUSE_S
        except Exception as error:
            self._set_failing(now, f"evenkeel's own fault: {describe(error)}", error)
            self._faulty_until = now + round(self._fault_pause_s * 1000)
            self._fault_pause_s = min(2 * self._fault_pause_s, LONGEST_PAUSE_S)

    def _send_due(self, state: CurrentState, now: int) -> None:
        view = view_of(self.name, state, self._settings.routes, now)
        pages = update_pages(self._pages.values(), view, now, self._page_settings)
        unsent = [page for page in pages if ended_unsent(page, view)]
        for page in unsent:
            self._record_missed(notice_of(page, view), now)
        self._pages = {page.key: page for page in pages if page not in unsent}
        self._save()
        waiting = due_notices(self._pages.values(), view, now, self._page_settings)
        self._waiting = len(waiting)
        for one in (one for one in waiting if now >= self._not_before.get(one.notice.key, 0)):
            began = self._settings.now_ms()
            if self._stop.is_set() or began - now > ROUND_MS:
                return
            if began < self._paused_until:
                self._record_failed(one.notice, began)
            else:
                self._deliver(one)
        self._remind(len(waiting))

    def _deliver(self, one: DueNotice) -> None:
        """Send a notice. The page is marked as tried first: if this process dies during that, its end is still sent."""
        key = one.notice.key
        before = self._pages[key]
        self._update(key, one.page)
        try:
            send_with_retries(lambda: self._send(one.notice), self._settings.retry, self._stop)
        except DeliveryError as error:
            if not error.may_have_arrived:
                self._update(key, before)
            self._fail(one.notice, error)
        else:
            self._succeed(one)
            self._update(key, one.after)

    def _send(self, notice: Notice) -> None:
        now = self._settings.now_ms()
        text, link = self._settings.compose(notice, now)
        self._sink.send(Message(notice, text, link, now))

    def _succeed(self, one: DueNotice) -> None:
        key, now = one.notice.key, self._settings.now_ms()
        self._taken_ts = now
        self._waiting -= 1
        if self.failing is not None:
            log.info("sink %s accepts pages again", self.name)
            self.failing = None
        self._not_before.pop(key, None)
        self._recorded_as_failed -= {(key, "firing"), (key, "resolved")}
        if one.why is SendReason.REPEATED:
            self._settings.repeated(self.name)
        else:
            self._record("delivered", None, one.notice, now)

    def _fail(self, notice: Notice, error: DeliveryError) -> None:
        now, retry = self._settings.now_ms(), self._settings.retry
        if error.is_temporary:
            asked_s = min(error.retry_after_s or 0, retry.longest_asked_s)
            self._paused_until = now + round(1000 * max(retry.pause_s * random.uniform(0.8, 1.2), asked_s))
        else:
            self._not_before[notice.key] = now + round(retry.refused_s * 1000)
        self._set_failing(now, str(error))
        self._record_failed(notice, now)

    def _set_failing(self, now: int, why: str, error: Exception | None = None) -> None:
        if self.failing is None:
            self._reminded = now
            log.error("sink %s does not accept pages: %s; firing alerts are sent again", self.name, why, exc_info=error)
        self.failing = (now if self.failing is None else self.failing[0], why)

    def _record_failed(self, notice: Notice, now: int) -> None:
        """Record a failed notice: one row for each notice, also after many attempts."""
        name = (notice.key, notice.status)
        if name not in self._recorded_as_failed and self.failing is not None:
            self._recorded_as_failed.add(name)
            self._record("failed", self.failing[1], notice, now)

    def _record_missed(self, notice: Notice, now: int) -> None:
        why = f": {self.failing[1]}" if self.failing else ""
        self._recorded_as_failed.discard((notice.key, "firing"))
        self._record("missed", f"over before it was delivered{why}", notice, now)

    def _record(self, outcome: str, detail: str | None, notice: Notice, now: int) -> None:
        text, _ = self._settings.compose(notice, now)
        self._settings.record(Delivery(self.name, outcome, detail, notice, text, now))

    def _remind(self, waiting: int) -> None:
        now = self._settings.now_ms()
        if self.failing is None:
            return
        if not waiting and now >= self._paused_until:
            log.info("sink %s: no page is left to send", self.name)
            self.failing = None
        elif now - self._reminded >= REMIND_MS:
            self._reminded = now
            minutes = (now - self.failing[0]) // 60_000
            log.error(
                "sink %s has accepted nothing for %d min, %d wait: %s", self.name, minutes, waiting, self.failing[1]
            )

    def _update(self, key: str, page: Page | None) -> None:
        if page is None:
            self._pages.pop(key, None)
        else:
            self._pages[key] = page
        self._save()

    def _save(self) -> None:
        """Save the pages. If the state file cannot be written, pages are still sent."""
        if self._pages == self._saved:
            return
        try:
            save_twice(self._path, SinkState(self._pages))
        except OSError as error:
            if self.unsaved is None:
                log.error(
                    "%s cannot be written: %s; pages are sent, but may be sent again after a restart", self._path, error
                )
            self.unsaved = str(error)
            return
        if self.unsaved is not None:
            log.info("%s is written again", self._path)
        self.unsaved = None
        self._saved = dict(self._pages)
