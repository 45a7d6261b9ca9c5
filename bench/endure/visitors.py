"""Who asks evenkeel's servers: a browser with a page open, and something that scrapes as Prometheus does."""

import html
import re
import time
from threading import Event, Lock, Thread

import requests

from bench.endure.hotspot import MB
from bench.endure.samples import Figures, series, total
from streaming.notifier.sink_view import PAGED
from streaming.simulation.load.event_template import CLUSTER

SCRAPE_S = 15.0
WITHIN_S = 60.0
AGAIN_S = 1.0
BATCHES = "evenkeel_job_batch_duration_seconds"
LIVE = re.compile(r'data-live="([^"]*)" data-number="(\d+)"')


def of_pages(text: str) -> Figures:
    """The open pages, the firing alerts that pages are sent of, and the pages beyond these, whose alerts have ended.

    All are of the same moment. A page of a storm has many alerts, so in a storm this hides pages that never ended.
    """
    alerts = sum(total(text, "evenkeel_alerts", f'severity="{one}",state="firing"') or 0 for one in PAGED)
    pages = total(text, "evenkeel_sink_open_pages")
    over = None if pages is None else max(0, pages - alerts)
    return {"notifier.alerts": alerts, "notifier.open_pages": pages, "notifier.pages_without_alert": over}


class Browser:
    """A page that stays open: it waits for changes as live.js does, and loads the page again at each."""

    def __init__(self, address: str, page: str, stop: Event) -> None:
        self._address, self._page, self._stop = address, page, stop
        self._took_ms: list[float] = []
        self._requests = self._errors = 0
        self._lock = Lock()
        Thread(target=self._browse, name=f"browser {page}", daemon=True).start()

    def figures(self) -> tuple[int, int, list[float]]:
        """Requests and errors so far, and how long the pages since the last look took."""
        with self._lock:
            took, self._took_ms = self._took_ms, []
            return self._requests, self._errors, took

    def _browse(self) -> None:
        while not self._stop.is_set():
            try:
                with requests.Session() as session:
                    self._watch(session)
            except requests.RequestException:
                with self._lock:
                    self._errors += not self._stop.is_set()
            self._stop.wait(AGAIN_S)

    def _watch(self, session: requests.Session) -> None:
        found = LIVE.search(self._load(session))
        if found is None:
            return
        live, number = html.unescape(found[1]), found[2]
        address = f"{self._address}{live}{'&' if '?' in live else '?'}after={number}"
        with session.get(address, stream=True, timeout=WITHIN_S) as events:
            events.raise_for_status()
            for line in events.iter_lines():
                if self._stop.is_set():
                    return
                if line.startswith(b"event: changed"):
                    self._load(session)

    def _load(self, session: requests.Session) -> str:
        began = time.monotonic()
        answer = session.get(self._address + self._page, headers={"X-Live": "1"}, timeout=WITHIN_S)
        answer.raise_for_status()
        with self._lock:
            self._requests += 1
            self._took_ms.append((time.monotonic() - began) * 1000)
        return answer.text


class Scraper:
    """Asks each process for its metrics every 15 s, or as often as lines are written, and keeps what they were."""

    def __init__(self, addresses: dict[str, str], line_s: float, stop: Event) -> None:
        self._addresses, self._every_s, self._stop = addresses, min(SCRAPE_S, line_s), stop
        self._texts: dict[str, str] = {}
        self._figures: Figures = {f"{name}.errors": 0 for name in addresses}
        self._batches = (0.0, 0.0)  # their number and seconds at the last look
        self._lock = Lock()
        Thread(target=self._scrape, name="scraper", daemon=True).start()

    def figures(self) -> Figures:
        with self._lock:
            text, found = self._texts.get("run", ""), dict(self._figures)
        number, seconds = (total(text, f"{BATCHES}_{name}") or 0.0 for name in ("count", "sum"))
        before, self._batches = self._batches, (number, seconds)
        if number > before[0]:
            found["run.batch_s"] = (seconds - before[1]) / (number - before[0])
        state = total(text, "evenkeel_job_state_bytes")
        found |= {
            "run.batches": number,
            "run.rounds": total(text, "evenkeel_job_rounds_total"),
            "run.state_mb": None if state is None else state / MB,
            "notifier.waiting": total(text, "evenkeel_sink_notices_waiting"),
        }
        return found | of_pages(text)

    def _scrape(self) -> None:
        while not self._stop.is_set():
            for name, address in self._addresses.items():
                self._scrape_one(name, address)
            self._stop.wait(self._every_s)

    def _scrape_one(self, name: str, address: str) -> None:
        began = time.monotonic()
        try:
            answer = requests.get(f"{address}/metrics", timeout=WITHIN_S)
            answer.raise_for_status()
        except requests.RequestException:
            with self._lock:
                self._figures[f"{name}.errors"] = (self._figures[f"{name}.errors"] or 0) + 1
            return
        with self._lock:
            self._texts[name] = answer.text
            self._figures |= {f"{name}.series": series(answer.text), f"{name}.scrape_s": time.monotonic() - began}
            newest = total(answer.text, f'evenkeel_job_newest_round_timestamp_seconds{{cluster="{CLUSTER}"}}')
            if newest is not None:
                self._figures["run.lag_s"] = time.time() - newest
