"""The whole notifier: a facts table on one side, real servers on the other. The clock is the test's."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas.tables import NOTIFICATIONS
from streaming.loopback.ports import free_port
from streaming.notifier import heartbeat, notifications_table, threads
from streaming.notifier.exposed import NotifierCounts
from streaming.notifier.heartbeat import Heartbeat
from streaming.notifier.retries import RetryPolicy
from streaming.notifier.silence_files import SilenceFiles, new_id
from streaming.notifier.silences import Silence
from streaming.notifier.sink_view import STARTING_MS, Route
from streaming.notifier.state_files import StateInUse, locked_folder
from streaming.notifier.threads import Destination, NotifierSettings, SettingsInForce, deliver, keep_delivering
from streaming.sinks.pagerduty import PagerDutySink
from streaming.sinks.sink import Sink
from streaming.sinks.webhook import WebhookSink
from streaming.standby import Standby
from testing.http_server import Answer, Server
from testing.waiting import until
from testing.written import commit
from tests.notifier.facts import NOW, S, alert, health
from tests.notifier.receiver import AT_ONCE, LIMITS

QUICK = RetryPolicy(attempts=2, first_s=0.001, longest_s=0.002)


@pytest.fixture(autouse=True)
def _quick_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications_table, "GATHER_S", 0.02)


class Clock:
    at = 0.0

    def __call__(self) -> int:
        return NOW + round(self.at * S)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def plan(tmp_path: Path, clock: Clock) -> Callable[..., NotifierSettings]:
    def plan(*sinks: Sink, **options: Any) -> NotifierSettings:
        values: dict[str, Any] = {
            "tables": str(tmp_path / "tables"), "state": tmp_path / "state", "page_settings": AT_ONCE, "limits": LIMITS,
            "destinations": [Destination(sink, "en") for sink in sinks],
            "routes": (Route(tuple(s.name for s in sinks)),), "retry": QUICK, "poll_s": 0.005, "now_ms": clock,
        }  # fmt: skip
        return NotifierSettings(**values | options)

    return plan


@contextmanager
def serving(plan: NotifierSettings) -> Iterator[SettingsInForce]:
    """It has begun in the block, so the clock may be moved there."""
    stop, counts, in_force = Event(), NotifierCounts(), SettingsInForce(plan)
    thread = Thread(target=deliver, args=(in_force, stop, counts))
    thread.start()
    until(lambda: counts.status is not None)
    try:
        yield in_force
    finally:
        stop.set()
        thread.join()


def hook(server: Server, name: str = "hook", timeout_s: float = 5) -> WebhookSink:
    return WebhookSink(name, server.url, "", timeout_s)


def said(server: Server) -> list[tuple[str, list[str]]]:
    return [(got.json["status"], got.json["groups"]) for got in server.taken]


@pytest.mark.slow("hours of pages")
def test_incident_is_delivered_over_a_restart_and_leaves_rows(plan: Any, clock: Clock, tmp_path: Path) -> None:
    facts = tmp_path / "tables" / "facts"
    with Server() as server:
        whole = plan(hook(server), link=lambda notice: f"https://x/{notice.cluster}")
        with serving(whole):
            commit(facts, [health(), alert()])
            until(lambda: len(server.taken) == 1)
        clock.at = 30
        commit(facts, [health(at=30), alert(at=30, state="resolved", fired=0, seq=2)])
        with serving(whole):
            until(lambda: len(server.taken) == 2)
            until((tmp_path / "tables" / "notifications").exists)
        assert said(server) == [("firing", ["g"]), ("resolved", ["g"])]
        assert server.taken[0].json["link"] == "https://x/c"
        assert "ORPHANED" in server.taken[0].json["body"] or server.taken[0].json["title"]
    table = DeltaTable(tmp_path / "tables" / "notifications")
    rows = sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["ts"])
    assert [(row["sink"], row["outcome"], row["status"]) for row in rows] == [
        ("hook", "delivered", "firing"), ("hook", "delivered", "resolved"),
    ]  # fmt: skip
    assert rows[0]["key"] == rows[1]["key"] == server.taken[0].json["key"]
    assert rows[0]["fingerprints"] == [alert().payload.fingerprint]  # type: ignore[attr-defined]
    assert {field.name: field.metadata["comment"] for field in table.schema().fields} == {
        column.name: column.comment for column in NOTIFICATIONS.columns
    }
    assert table.metadata().configuration["delta.enableDeletionVectors"] == "false"


def test_facts_that_are_not_there_yet_are_waited_for(plan: Any, tmp_path: Path) -> None:
    with Server() as server:
        with serving(plan(hook(server), went_on=(steps := list[str]()).append)):
            until(lambda: threads.FACTS in steps)
            commit(tmp_path / "tables" / "facts", [health(), alert()])
            until(lambda: server.taken)
        assert said(server) == [("firing", ["g"])]


@pytest.mark.slow("time-outs pass")
def test_position_older_than_what_was_told_ends_nothing(plan: Any, clock: Clock, tmp_path: Path) -> None:
    """As after a crash: facts are read again, and until then nothing is known."""
    facts, position = tmp_path / "tables" / "facts", tmp_path / "state" / "position.json"
    commit(facts, [health()])
    with Server() as server:
        whole = plan(hook(server))
        with serving(whole):
            until(position.exists)
        before = position.read_bytes()
        commit(facts, [alert()])
        with serving(whole):
            until(lambda: len(server.taken) == 1)
        position.write_bytes(before)
        clock.at = 1
        with serving(whole):
            commit(facts, [health(at=1), alert("h", at=1)])
            until(lambda: len(server.taken) == 2)
        assert said(server) == [("firing", ["g"]), ("firing", ["h"])]


@pytest.mark.slow("hours of pages")
def test_silent_sink_and_dead_sink_delay_no_other(plan: Any, tmp_path: Path) -> None:
    with Server(always=Answer(-1)) as silent, Server() as well:
        dead = PagerDutySink("dead", f"http://127.0.0.1:{free_port()}", "R0", 5)
        with serving(plan(hook(silent, "silent", 60), dead, hook(well, "well"))):
            for number in range(3):
                commit(tmp_path / "tables" / "facts", [health(), alert(f"g{number}")])
                until(lambda count=number + 1: len(well.taken) == count)
            assert len(silent.got) == 1
            silent.over.set()
    rows = DeltaTable(tmp_path / "tables" / "notifications").to_pyarrow_table().to_pylist()
    assert sorted({row["sink"] for row in rows if row["outcome"] == "failed"} - {"silent"}) == ["dead"]


def test_silenced_groups_are_delivered_once_the_silence_is_ended(plan: Any, clock: Clock, tmp_path: Path) -> None:
    whole = plan(hook(server := Server()))
    silences = SilenceFiles(whole.state)
    name = new_id()
    silences.add(Silence(id=name, group="g*", from_ts=NOW, until_ts=NOW + 3600 * S, by="me", why="deploy"))
    commit(tmp_path / "tables" / "facts", [health(), alert("g1"), alert("other")])
    with server, serving(whole):
        until(lambda: len(server.taken) == 1)
        assert silences.end(name, clock()) is not None
        until(lambda: len(server.taken) == 2)
        assert said(server) == [("firing", ["other"]), ("firing", ["g1"])]
    assert silences.end(name, clock()) is None


@pytest.mark.slow("hours of pages")
def test_blind_and_late_are_told_and_then_what_still_fires(plan: Any, clock: Clock, tmp_path: Path) -> None:
    facts = tmp_path / "tables" / "facts"
    with Server() as server, serving(plan(hook(server))):
        commit(facts, [health(), alert("first")])
        until(lambda: len(server.taken) == 1)
        clock.at = STARTING_MS / S + 1
        until(lambda: len(server.taken) == 2)
        clock.at += 61
        commit(facts, [health(at=150, lag=80, status="late"), alert(at=60), alert("h", at=61)])
        until(lambda: len(server.taken) == 3)
        commit(facts, [health(at=151), alert("h", "resolved", at=90, fired=61, seq=2)])
        until(lambda: len(server.taken) == 5)
        told = [(got.json["status"], (got.json["trouble"] or {}).get("kind", "g")) for got in server.taken]
    assert told[1:3] == [("firing", "monitor_blind"), ("firing", "monitor_late")]
    assert sorted(told[3:]) == [("firing", "g"), ("resolved", "monitor_late")]


def test_facts_that_cannot_be_read_make_everything_blind(plan: Any, clock: Clock, tmp_path: Path) -> None:
    with Server() as server, serving(plan(hook(server), clusters=("c", "d"))):
        assert server.taken == []
        clock.at = STARTING_MS / S + 1
        until(lambda: len(server.taken) == 2)
        assert sorted(got.json["cluster"] for got in server.taken) == ["c", "d"]


@contextmanager
def hanging_read(tables: Path) -> Iterator[None]:
    """The thread that reads facts hangs in its next read, until the block ends."""
    commit_file, read = tables / "facts" / "_delta_log" / f"{1:020}.json", threads.FactsFollower.read
    begins, may_read = Event(), Event()

    def read_later(follower: threads.FactsFollower) -> Any:
        begins.set()
        may_read.wait()
        return read(follower)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threads.FactsFollower, "read", read_later)
        until(begins.is_set)
        os.mkfifo(commit_file)
        may_read.set()
        try:
            yield
        finally:
            with commit_file.open("wb"):
                commit_file.unlink()


def test_storage_that_hangs_is_noticed_too(plan: Any, clock: Clock, tmp_path: Path) -> None:
    commit(tmp_path / "tables" / "facts", [health(), alert()])
    with Server() as server, serving(plan(hook(server))):
        until(lambda: server.taken)
        with hanging_read(tmp_path / "tables"):
            clock.at = STARTING_MS / S + 1
            until(lambda: len(server.taken) == 2)
            assert server.taken[1].json["trouble"]["kind"] == "monitor_blind"


def test_storage_that_hangs_stops_no_reload(
    plan: Any, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that reads facts hangs on beside the new one, and makes no step of it later."""
    monkeypatch.setattr(threads, "STOP_WITHIN_S", 0.05)
    commit(tmp_path / "tables" / "facts", [health(), alert()])
    old, new = list[str](), list[str]()
    with Server() as server, serving(plan(hook(server), went_on=old.append)) as in_force:
        until(lambda: server.taken)
        (reader,) = (thread for thread in enumerate_threads() if thread.name == threads.FACTS)
        with hanging_read(tmp_path / "tables"):
            in_force.settings = plan(hook(server), went_on=new.append)
            until(lambda: threads.STATE in new)
            steps = len(old)
            clock.at = STARTING_MS / S + 1
            until(lambda: len(server.taken) == 2)
            assert server.taken[1].json["trouble"]["kind"] == "monitor_blind"
            assert reader.is_alive()
        reader.join(60)
        assert not reader.is_alive()
        assert len(old) == steps


class Looks(Heartbeat):
    """It keeps what it found at each look: whether all was well."""

    def run(self, is_well: Callable[[], bool], stop: Event) -> None:
        self.found: list[bool] = []

        def look() -> bool:
            self.found.append(is_well())
            return self.found[-1]

        super().run(look, stop)


@pytest.mark.slow("time-outs pass")
def test_heartbeat_goes_on_only_while_all_is_well(plan: Any, clock: Clock, tmp_path: Path) -> None:
    with Server() as pulse, Server() as server:
        commit(tmp_path / "tables" / "facts", [health()])
        looks = Looks(f"{pulse.url}/ping/token", 0.01)

        def is_silent() -> bool:
            return looks.found[-3:] == [False] * 3 and len(pulse.got) == looks.found.count(True)

        with serving(plan(hook(server), heartbeat=looks)):
            until(lambda: len(pulse.got) >= 2)
            assert pulse.got[0].path == "/ping/token"
            clock.at = 36
            until(is_silent)
            before = len(pulse.got)
            commit(tmp_path / "tables" / "facts", [health(at=36)])
            until(lambda: len(pulse.got) > before)
            server.always = Answer(400)
            commit(tmp_path / "tables" / "facts", [alert(at=36)])
            until(is_silent)  # a sink that fails is not well
            assert server.got


class Waits(Event):
    """It keeps how long each wait would be, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(round(timeout or 0))
        return len(self.waits) > 5


def test_a_reload_delays_no_heartbeat(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With reloads more often than the interval no call would come."""
    clock = SimpleNamespace(monotonic=lambda: 0)
    monkeypatch.setattr(heartbeat, "time", clock)
    in_force, stop = SettingsInForce(plan(heartbeat=Heartbeat("http://x", 60))), Waits()
    for at in (20, 40):
        clock.monotonic = lambda at=at: at
        in_force.take(plan(heartbeat=Heartbeat("http://x", 60)), NotifierCounts())
    assert in_force.settings.heartbeat is not None
    in_force.settings.heartbeat.run(lambda: False, stop)
    assert stop.waits[0] == 20


def test_a_heartbeat_that_was_due_comes_when_all_is_well_again() -> None:
    """Also at once after a reload, when the facts are not read yet."""
    answers, stop = iter([True, False, False, True, True]), Waits()
    with Server() as pulse:
        Heartbeat(f"{pulse.url}/ping", 3600).run(lambda: next(answers), stop)
        assert len(pulse.got) == 3
    again = heartbeat.AGAIN_S
    assert stop.waits == [3600, 3600, again, again, 3600, 3600]


@pytest.mark.slow("time-outs pass")
def test_folder_belongs_to_one_notifier_at_a_time(plan: Any) -> None:
    whole = plan()
    with locked_folder(whole.state):
        with pytest.raises(StateInUse, match="another notifier delivers"):
            deliver(SettingsInForce(whole), Event())
        with pytest.raises(StateInUse):
            keep_delivering(SettingsInForce(whole), Event())
        stop = Event()
        waiting = Thread(target=keep_delivering, args=(SettingsInForce(whole), stop, None, Standby("the notifier")))
        waiting.start()
        stop.set()
        waiting.join(60)
        assert not waiting.is_alive()


def test_notifier_that_fails_is_begun_again(plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [OSError("disk full")]

    def save(path: Path, value: Any, save: Any = threads.save_twice) -> None:
        if failures:
            raise failures.pop()
        save(path, value)

    monkeypatch.setattr(threads, "save_twice", save)
    monkeypatch.setattr(threads, "FIRST_PAUSE_S", 0.01)
    commit(tmp_path / "tables" / "facts", [health(), alert()])
    stop = Event()
    with Server() as server:
        thread = Thread(target=keep_delivering, args=(SettingsInForce(plan(hook(server))), stop))
        thread.start()
        until(lambda: server.taken)
        stop.set()
        thread.join()
    assert failures == []
    assert len(server.taken) == 1


@pytest.mark.slow("time-outs pass")
def test_other_sinks_take_over_while_it_runs_and_no_page_is_lost_or_repeated(
    plan: Any, clock: Clock, tmp_path: Path
) -> None:
    """One sink stays, one goes, one comes. A page that is being sent is sent to its end first."""
    facts = tmp_path / "tables" / "facts"
    slow = Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", pause_s=0.02, takes=True)
    with Server(slow) as stays, Server() as goes, Server() as comes:
        before, after = plan(hook(stays, "a"), hook(goes, "b")), plan(hook(stays, "a"), hook(comes, "c"))
        with serving(before) as in_force:
            commit(facts, [health(), alert()])
            until(lambda: stays.got and goes.taken)
            in_force.settings = after
            until(lambda: comes.taken)
            with pytest.raises(StateInUse), locked_folder(before.state):
                pass
            commit(facts, [alert(group="h", seq=3)])
            until(lambda: len(stays.taken) == 2 and len(comes.taken) == 2)
            clock.at = 30
            commit(facts, [health(at=30), alert(at=30, state="resolved", fired=0, seq=4)])
            until(lambda: len(stays.taken) == 3 and len(comes.taken) == 3)
            commit(facts, [alert("last", at=30, seq=5)])
            until(lambda: ("firing", ["last"]) in said(stays) and ("firing", ["last"]) in said(comes))
        assert said(stays) == [("firing", ["g"]), ("firing", ["h"]), ("resolved", ["g"]), ("firing", ["last"])]
        assert said(goes) == [("firing", ["g"])]
        assert sorted(said(comes)[:2]) == [("firing", ["g"]), ("firing", ["h"])]
        assert said(comes)[2:] == [("resolved", ["g"]), ("firing", ["last"])]


def test_a_notifier_that_fails_and_starts_again_makes_steps_for_the_watchdog(
    plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, steps = Event(), set[str]()

    def fail(*arguments: object) -> None:
        if steps:
            stop.set()
        raise OSError("disk full")

    monkeypatch.setattr(threads, "deliver", fail)
    monkeypatch.setattr(threads, "FIRST_PAUSE_S", 0.01)
    keep_delivering(SettingsInForce(plan(went_on=steps.add)), stop)
    assert steps == set(threads.PARTS)


def test_page_has_the_words_of_its_sink(plan: Any, tmp_path: Path) -> None:
    with Server() as english, Server() as chinese:
        both = [Destination(hook(english, "en"), "en"), Destination(hook(chinese, "zh"), "zh")]
        whole = plan(destinations=both, routes=(Route(("en", "zh")),))
        commit(tmp_path / "tables" / "facts", [health(), alert()])
        with serving(whole):
            until(lambda: english.taken and chinese.taken)
    titles = [server.taken[0].json["title"] for server in (english, chinese)]
    assert titles[0].isascii()
    assert not titles[1].isascii()
