"""A sink's worker against real HTTP servers that fail in every way; the clock is the test's."""

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event

import pytest

from schemas.facts import Fact
from streaming import private_files
from streaming.loopback.ports import free_port
from streaming.notices.page_text import write
from streaming.notifier.notifications_table import Delivery
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.retries import RetryPolicy
from streaming.notifier.sink_view import CurrentState, Route
from streaming.notifier.sink_worker import SinkWorker, WorkerSettings
from streaming.sinks.alertmanager import AlertmanagerSink
from streaming.sinks.pagerduty import PagerDutySink
from streaming.sinks.sink import Message, Sink
from testing.damage import cut
from testing.http_server import Answer, Server
from tests.notifier.facts import NOW, S, alert
from tests.notifier.receiver import AT_ONCE

QUICK = RetryPolicy(attempts=3, first_s=0.001, longest_s=0.002)
MINUTE = 60


class Bench:
    """A worker, its clock, the facts that it is shown, and the rows that it leaves."""

    def __init__(self, sink: Sink, folder: Path) -> None:
        self.at = 0.0
        self.rows: list[Delivery] = []
        self._open_alerts = OpenAlerts()
        self._sink, self._folder = sink, folder
        self._settings = WorkerSettings(
            page_settings=AT_ONCE,
            routes=(Route((sink.name,)),),
            compose=lambda notice, now: (write(notice, "en", now), None),
            record=self.rows.append,
            now_ms=lambda: NOW + round(self.at * S),
            retry=QUICK,
        )
        self.restart()

    def restart(self) -> None:
        self.worker = SinkWorker(self._sink, self._settings, self._folder, Event())

    def turn(self, at: float, facts: Iterable[Fact] = ()) -> None:
        self.at = at
        self._open_alerts.take(facts)
        self.worker.send_due(CurrentState(self._open_alerts.copy(), (), ()))

    def outcomes(self) -> list[tuple[str, str, tuple[str, ...]]]:
        return [(row.outcome, row.notice.status, row.notice.groups) for row in self.rows]


Make = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path) -> Make:
    def make(url: str, timeout_s: float = 5) -> Bench:
        return Bench(PagerDutySink("pager", url, "R0", timeout_s), tmp_path)

    return make


def events(server: Server) -> list[tuple[str, str]]:
    return [(got.json["event_action"], got.json["dedup_key"]) for got in server.taken]


def resolved(at: int, group: str = "g", fired: int = 0) -> Fact:
    return alert(group, "resolved", at=at, fired=fired, seq=2)


FAILURES = {
    "silent": Answer(-1),
    "too many": Answer(429),
    "broken": Answer(500),
    "overloaded": Answer(503),
    "reset after it was read": Answer(0),
    "reset after it was taken": Answer(0, takes=True),
    "broken after it was taken": Answer(502, takes=True),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.slow("time-outs pass")
def test_failure_that_passes_loses_nothing_and_makes_no_second_incident(
    failure: Answer, times: int, bench: Make
) -> None:
    with Server(*[failure] * times) as server:
        pager = bench(server.url, 0.25 if failure.status == -1 else 5)
        pager.turn(0, [alert()])
        for at in range(100, 500, 100):
            pager.turn(at)
        pager.turn(600, [resolved(600)])
        told = events(server)
    assert {key for _, key in told} == {told[0][1]}
    assert [action for action, _ in told][-2:] == ["trigger", "resolve"]
    failed = [("failed", "firing", ("g",))] if times >= QUICK.attempts else []
    assert pager.outcomes() == [*failed, ("delivered", "firing", ("g",)), ("delivered", "resolved", ("g",))]
    assert pager.worker.failing is None


def test_sink_that_nobody_answers_for_is_told_when_it_is_there(bench: Make) -> None:
    port = free_port()
    pager = bench(f"http://127.0.0.1:{port}")
    pager.turn(0, [alert()])
    assert pager.outcomes() == [("failed", "firing", ("g",))]
    assert pager.rows[0].detail == "127.0.0.1 cannot be reached"
    with Server(port=port) as server:
        pager.turn(100)
        assert [action for action, _ in events(server)] == ["trigger"]


@pytest.mark.slow("time-outs pass")
def test_hour_away_loses_nothing_that_still_matters(bench: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with Server(always=Answer(503)) as server:
        pager = bench(server.url)
        pager.turn(-60, [alert("before", at=-60)])
        server.always = Answer(503)
        facts = {
            0: [alert("stays", at=0), alert("ends", at=0)],
            20 * MINUTE: [resolved(20 * MINUTE, "ends"), alert("comes late", at=20 * MINUTE)],
        }
        for at in range(0, 60 * MINUTE, 20):
            pager.turn(at, facts.get(at, []))
        tries = len(server.got)
        server.always = Answer(202)
        pager.turn(61 * MINUTE)
        told = events(server)
    update_pages = [key for action, key in told if action == "trigger"]
    assert len(update_pages) == len(set(update_pages)) == 3
    delivered = [groups for outcome, status, groups in pager.outcomes() if (outcome, status) == ("delivered", "firing")]
    assert sorted(delivered) == [("before",), ("comes late",), ("stays",)]
    assert [row.notice.groups for row in pager.rows if row.outcome in ("failed", "missed")].count(("stays",)) == 1
    assert ("missed", "resolved", ("ends",)) in pager.outcomes()
    assert tries <= QUICK.attempts * 61 * MINUTE / (0.8 * QUICK.pause_s) + 1
    reports = [record.message for record in caplog.records if "has accepted nothing for" in record.message]
    assert len(reports) == 6
    assert "3 wait" in reports[-1]
    assert caplog.messages[-1] == "sink pager accepts pages again"


def test_what_was_over_before_it_was_delivered_is_a_row(bench: Make) -> None:
    """Nobody was there: the sink cannot have taken it, so there is nothing to resolve."""
    port = free_port()
    pager = bench(f"http://127.0.0.1:{port}")
    pager.turn(0, [alert()])
    with Server(port=port) as server:
        pager.turn(100, [resolved(50)])
        assert server.got == []
    assert [(row.outcome, row.detail) for row in pager.rows] == [
        ("failed", "127.0.0.1 cannot be reached"),
        ("missed", "over before it was delivered: 127.0.0.1 cannot be reached"),
    ]


def test_what_may_have_been_taken_is_resolved(bench: Make) -> None:
    with Server(*[Answer(0, takes=True)] * 3) as server:
        pager = bench(server.url)
        pager.turn(0, [alert()])
        pager.restart()
        pager.turn(100, [resolved(50)])
        assert [action for action, _ in events(server)] == ["trigger"] * 3 + ["resolve"]
        assert len(set(events(server))) == 2


def test_sink_is_left_alone_for_as_long_as_it_asks(bench: Make) -> None:
    with Server(Answer(429, headers=(("Retry-After", "500"),))) as server:
        pager = bench(server.url)
        pager.turn(0, [alert()])
        for at in range(10, 500, 10):
            pager.turn(at)
        assert len(server.got) == 1
        pager.turn(501)
        assert len(server.taken) == 1


def test_sink_that_asks_for_days_is_tried_after_a_quarter_of_an_hour(bench: Make) -> None:
    with Server(Answer(503, headers=(("Retry-After", "86400"),))) as server:
        pager = bench(server.url)
        pager.turn(0, [alert()])
        pager.turn(899)
        assert len(server.got) == 1
        pager.turn(901)
        assert len(server.taken) == 1


def test_sink_with_nothing_to_take_is_not_failing_any_more(bench: Make) -> None:
    pager = bench(f"http://127.0.0.1:{free_port()}")
    pager.turn(0, [alert()])
    assert pager.worker.failing is not None
    pager.turn(100, [resolved(50)])
    assert pager.worker.failing is None


def test_page_that_is_refused_holds_up_no_other(bench: Make) -> None:
    with Server(Answer(400, b"invalid event")) as server:
        pager = bench(server.url)
        pager.turn(0, [alert("bad"), alert("good", severity="warning")])
        assert len(server.got) == 2
        assert pager.outcomes() == [("failed", "firing", ("bad",)), ("delivered", "firing", ("good",))]
        pager.turn(299)
        assert len(server.got) == 2
        pager.turn(301)
        assert len(server.taken) == 2


def test_worst_is_told_first(bench: Make) -> None:
    with Server() as server:
        pager = bench(server.url)
        pager.turn(0, [alert("a", severity="warning"), alert("b")])
        assert [got.json["payload"]["component"] for got in server.got] == ["b", "a"]


def test_restart_repeats_nothing_that_was_told(bench: Make) -> None:
    with Server() as server:
        pager = bench(server.url)
        pager.turn(0, [alert()])
        pager.restart()
        pager.turn(10)
        assert len(server.got) == 1
        pager.turn(20, [resolved(20)])
        assert [action for action, _ in events(server)] == ["trigger", "resolve"]


def test_a_damaged_state_file_is_put_aside_and_its_copy_is_used(
    bench: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Server() as server:
        pager = bench(server.url)
        for at, group in enumerate("abc"):
            pager.turn(at, [alert(group)])
        cut(tmp_path / "pager.json")
        pager.restart()
        pager.turn(10, [resolved(10, "a")])
        pager.turn(20, [resolved(20, "b"), resolved(20, "c")])
        sent = events(server)
    a, b, c = (key for _, key in sent[:3])
    assert sent[3] == ("resolve", a)
    assert sorted(sent[4:]) == sorted([("resolve", b), ("resolve", c)])
    assert "renamed to .damaged; its copy is used" in caplog.text
    assert (tmp_path / "pager.damaged").exists()


def test_if_the_copy_is_damaged_as_well_what_fires_is_sent_again_under_its_key(
    bench: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Server() as server:
        pager = bench(server.url)
        pager.turn(0, [alert()])
        for name in ("pager.json", "pager.copy"):
            cut(tmp_path / name)
        pager.restart()
        pager.turn(10)
        assert len(server.got) == 2
        assert len(set(events(server))) == 1
    assert "renamed to .damaged; firing alerts are sent again" in caplog.text


def test_a_state_file_that_a_person_deletes_is_not_brought_back(bench: Make, tmp_path: Path) -> None:
    with Server() as server:
        pager = bench(server.url)
        pager.turn(0, [alert()])
        (tmp_path / "pager.json").unlink()
        pager.restart()
        pager.turn(10)
        assert len(server.got) == 2


def test_alertmanager_is_told_every_minute_and_no_row_is_left_for_it(tmp_path: Path) -> None:
    with Server() as server:
        manager = Bench(AlertmanagerSink("am", server.url, "", 5), tmp_path)
        manager.turn(0, [alert()])
        for at in range(1, 150):
            manager.turn(at)
        manager.turn(150, [resolved(150)])
        ends = [got.json[0]["endsAt"][14:19] for got in server.got]
    assert ends == ["17:20", "18:20", "19:20", "15:50"]
    assert [outcome for outcome, _, _ in manager.outcomes()] == ["delivered", "delivered"]


class Moody:
    """A sink that raises what no sink should, as a library's fault does."""

    name, resend_ms, most_bytes = "moody", None, None

    def __init__(self) -> None:
        self.tries, self.taken, self.error = 0, 0, ValueError("a fault of some library")

    def send(self, message: Message) -> None:
        self.tries += 1
        if self.error is not None:
            raise self.error
        self.taken += 1


def test_error_of_any_kind_counts_as_failing_and_is_followed_by_a_rest(tmp_path: Path) -> None:
    sink = Moody()
    bench = Bench(sink, tmp_path)
    bench.turn(0, [alert()])
    assert not bench.worker.is_healthy
    assert bench.outcomes() == [("failed", "firing", ("g",))]
    assert bench.rows[0].detail == "ValueError: a fault of some library"
    for at in range(6, 48, 6):
        bench.turn(at)
    assert sink.tries == QUICK.attempts, "it rests for a minute, as after any failure that passes"
    sink.error = None
    bench.turn(80)
    assert sink.taken == 1
    assert bench.worker.is_healthy


def test_fault_of_our_own_counts_as_failing_and_is_not_repeated_at_every_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(Moody(), tmp_path)
    broken = CurrentState(None, (), ())  # type: ignore[arg-type]
    for at in range(60):
        bench.at = at
        bench.worker.send_due(broken)
    assert not bench.worker.is_healthy
    assert len([record for record in caplog.records if record.exc_info]) == 1
    assert caplog.text.count("evenkeel's own fault") == 1


def test_full_disk_keeps_nobody_from_being_told(
    bench: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """``/dev/full`` answers every write as a full disk does."""
    with Server() as server, monkeypatch.context() as full:
        pager = bench(server.url)
        full.setattr(private_files, "opened", lambda *_: os.open("/dev/full", os.O_WRONLY))
        pager.turn(0, [alert()])
        pager.turn(10)
        pager.turn(20, [alert("h", at=20)])
        assert [action for action, _ in events(server)] == ["trigger", "trigger"]
        assert "No space left on device" in str(pager.worker.unsaved)
        assert not pager.worker.is_healthy, "the dead-man switch must tell of it"
        assert caplog.text.count("cannot be written") == 1
        full.undo()
        pager.turn(30)
        assert pager.worker.is_healthy
        pager.restart()
        pager.turn(40)
        assert len(server.taken) == 2
