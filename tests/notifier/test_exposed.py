"""What a notifier exposes: a facts table on one side, sinks on the other; and the command over HTTP."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from streaming.errors import DeliveryError
from streaming.loopback.ports import free_port
from streaming.metrics.exposition import Exposed, Exposition
from streaming.newest_facts import ClusterHealth
from streaming.notices.notice import MonitorTrouble
from streaming.notifier.exposed import NotifierCounts, NotifierStatus
from streaming.notifier.retries import RetryPolicy
from streaming.notifier.sink_view import Route
from streaming.notifier.sink_worker import SinkStatus
from streaming.notifier.threads import Destination, NotifierSettings, SettingsInForce, deliver
from streaming.sinks.sink import Message, Sink
from testing.waiting import until
from testing.written import commit
from tests.metrics.scraping import Scrape, get, of_process, scrape
from tests.notifier.facts import NOW, alert, health
from tests.notifier.receiver import AT_ONCE, LIMITS

WELL = SinkStatus("pager", None, None, 1, 0, NOW)


def scraped(counts: NotifierCounts) -> Scrape:
    return Scrape(Exposition(Exposed("notify", [counts.series], list)).text().decode())


class FakeSink(Sink):
    """Fails while it is told to."""

    resend_ms = 10

    def __init__(self) -> None:
        self.name = "pager"
        self.is_broken = True

    def send(self, message: Message) -> str:
        if self.is_broken:
            raise DeliveryError("503", is_temporary=True, may_have_arrived=False)
        return "taken"


@contextmanager
def delivering(folder: Path, sink: Sink) -> Iterator[NotifierCounts]:
    stop, counts, passed = Event(), NotifierCounts(), [NOW]

    def now() -> int:
        passed[0] += 5
        return passed[0]

    settings = NotifierSettings(
        str(folder / "tables"), folder / "state", [Destination(sink, "en")], (Route((sink.name,)),),
        page_settings=AT_ONCE, limits=LIMITS, retry=RetryPolicy(attempts=1, pause_s=0.001), poll_s=0.005, now_ms=now,
    )  # fmt: skip
    thread = Thread(target=deliver, args=(SettingsInForce(settings), stop, counts))
    thread.start()
    try:
        yield counts
    finally:
        stop.set()
        thread.join(30)


def until_sink(counts: NotifierCounts, failing: int) -> None:
    """The thread of a sink counts at once; what it says of itself is read by the notifier's next turn."""
    until(lambda: list(scraped(counts).of("evenkeel_sink_failing", sink="pager").values()) == [failing])


def test_what_becomes_of_notices_is_counted(tmp_path: Path) -> None:
    commit(tmp_path / "tables" / "facts", [alert(), health()])
    sink = FakeSink()
    with delivering(tmp_path, sink) as counts:
        until(lambda: sum(scraped(counts).of("evenkeel_notices_total", outcome="failed").values()) > 0)
        until_sink(counts, failing=1)
        found = scraped(counts)
        assert found.one("evenkeel_notifier_delivering") == 1
        assert found.one("evenkeel_notices_total", outcome="failed") == 1  # once a notice, however often it is tried
        assert found.of("evenkeel_sink_last_delivery_timestamp_seconds") == {}
        assert found.one("evenkeel_sink_notices_waiting") == 1
        status = counts.status
        assert status is not None
        assert counts.troubles(LIMITS, status.read_ts) == ["sink pager accepts no pages: 503"]
        sink.is_broken = False
        until(lambda: scraped(counts).one("evenkeel_notices_total", outcome="repeated") >= 2)
        until_sink(counts, failing=0)
        found = scraped(counts)
        assert found.one("evenkeel_notices_total", outcome="delivered") == 1
        assert found.one("evenkeel_sink_open_pages") == 1
        assert found.one("evenkeel_sink_last_delivery_timestamp_seconds") > NOW / 1000
        assert found["evenkeel_notifier_facts_read_timestamp_seconds"] > NOW / 1000
        assert found.of("evenkeel_notifier_health_timestamp_seconds")
    assert scraped(counts).one("evenkeel_notifier_delivering") == 0
    assert scraped(counts).one("evenkeel_notices_total", outcome="delivered") == 1


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (NotifierStatus(NOW, None, (WELL,)), []),
        (NotifierStatus(0, None, (WELL,)), ["the facts have not been read yet"]),
        (NotifierStatus(NOW - LIMITS.blind_ms, None, (WELL,)), []),
        (NotifierStatus(NOW - LIMITS.blind_ms - 1, None, (WELL,)), ["the facts have not been read for 35 s"]),
        (NotifierStatus(NOW, "full", (WELL,)), ["the notifier's state cannot be written: full"]),
        (
            NotifierStatus(NOW, None, (WELL._replace(failing="503", unsaved="full"),)),
            ["sink pager accepts no pages: 503", "the state of sink pager cannot be written: full"],
        ),
        (NotifierStatus(NOW, None, (), (), {"prod"}), ["cluster prod: no facts, no rounds, or old ones"]),
        (None, ["this notifier does not deliver: another one does, or it has failed (its log says which)"]),
    ],
)
def test_why_it_does_not_work(status: NotifierStatus | None, said: list[str]) -> None:
    counts = NotifierCounts()
    counts.status = status
    assert counts.troubles(LIMITS, NOW) == said


def test_troubles_and_health_of_clusters() -> None:
    counts = NotifierCounts()
    troubles = (
        MonitorTrouble("monitor_late", "prod", NOW),
        *(MonitorTrouble("group_blind", "prod", NOW, group=f"g{number}") for number in range(3)),
    )
    counts.status = NotifierStatus(NOW, None, (), troubles, (), {"prod": ClusterHealth(NOW)})
    found = scraped(counts)
    assert found.one("evenkeel_monitor_troubles", kind="monitor_late", cluster="prod") == 1
    assert found.one("evenkeel_monitor_troubles", kind="group_blind", cluster="prod") == 3
    assert found.one("evenkeel_notifier_health_timestamp_seconds", cluster="prod") == NOW / 1000


@pytest.mark.slow("time-outs pass")
def test_the_command_serves_its_metrics(tmp_path: Path) -> None:
    commit(tmp_path / "tables" / "facts", [health()])
    port = free_port()
    config = tmp_path / "evenkeel.toml"
    config.write_text(
        f'[tables]\npath = "{tmp_path}/tables"\n[notify]\nstate = "{tmp_path}/state"\n'
        f'[metrics]\nlisten = "127.0.0.1:{port}"\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "streaming", "notify", "--config", str(config)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    address = f"http://127.0.0.1:{port}"

    def has_read() -> bool:
        try:
            return bool(scrape(address).of("evenkeel_notifier_facts_read_timestamp_seconds"))
        except OSError:
            return False

    try:
        until(has_read)
        found = scrape(address)
        assert found.one("evenkeel_build_info", process="notify") == 1
        assert found.one("evenkeel_notifier_delivering") == 1
        assert found.names <= of_process("notify")
        assert get(f"{address}/healthz")[0] == 200
        assert get(f"{address}/readyz")[:2] == (503, "the job: no facts, no rounds, or old ones\n")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
