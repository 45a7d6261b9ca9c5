"""The page of a group. After a change: ``UPDATE_GOLDEN=1 python -m pytest tests/explain``, and read the difference."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path

import pytest

from schemas.facts import Fact
from schemas.observed import Stall, observed
from schemas.reasons import ReasonDetails
from streaming.cli import main
from streaming.explain.group_text import lines_of
from streaming.explain.snapshot import MonitorStatus
from streaming.explain.snapshot_from_facts import snapshot_of
from testing.golden import compare
from testing.written import commit
from tests.core.test_polled import settled
from tests.explain.facts import T0, Teller, facts_of_scenario

GOLDEN = Path(__file__).parent / "golden"
WIDTH = 100
NO_ANSWER = ReasonDetails(broker_names=("broker-b",))


def page(facts: Sequence[Fact], at: int | None = None, monitor: MonitorStatus | None = None) -> str:
    return "\n".join(row.text for row in lines_of(snapshot_of(facts, at, monitor), WIDTH, UTC))


def undecided() -> list[Fact]:
    """A group that a broker does not answer for: an alert goes stale, other queues are not judged."""
    g = Teller("orders", "prod")
    g.status(0, "unknown", UNKNOWN=3, MATCH=1, EXCLUDED=1)
    g.listed(0, "broker-a", "x", 1)
    g.listed(0, "broker-b", "x", 1)
    g.member(0, "x")
    g.alert(1, "pending", "found", (0,))
    g.alert(6, "firing", "held_long_enough", (0,))
    g.alert(40, "firing", "evidence_lost", (0,), stale=True)
    for queue_id in range(3):
        g.queue(40, queue_id, "UNKNOWN", reason="NO_ANSWER", reason_details=NO_ANSWER, owners=())
    g.queue(0, 3, "MATCH")
    g.queue(0, 0, "EXCLUDED", topic="S", reason="STATIC_TOPIC", owners=(), expected=None)
    return g.facts


def unpolled() -> list[Fact]:
    """gRPC clients behind two proxies, of which nobody polls one broker any more."""
    fleet = settled()
    fleet.silence_idle_clients("a")
    fleet.run(120)
    return fleet.facts


PAGES: dict[str, Callable[[], Sequence[Fact]]] = {
    "same_client_id": lambda: facts_of_scenario("same_client_id"),
    "brokers_list_different_members": lambda: facts_of_scenario("brokers_list_different_members"),
    "undecided": undecided,
    "unpolled": unpolled,
}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_as_expected(name: str) -> None:
    shown = page(PAGES[name]()) + "\n"
    compare(shown, GOLDEN / f"{name}.txt")


def test_times_of_a_reason_are_those_of_the_reader() -> None:
    g, details = Teller(), ReasonDetails(changed_ts=T0, counts_from_ts=T0 + 25_000)
    g.queue(0, 0, "SETTLING", reason="ROUTE_CHANGED", reason_details=details)
    g.status(0, "settling", reason="ROUTE_CHANGED", reason_details=details)
    said = "the route changed at 16:58:03; evenkeel judges by reports from 16:58:28 on"
    shown = " ".join(page(g.facts).split())
    assert f"SETTLING ({said}) since" in shown
    assert f"{said} (reported at 16:58:03)" in shown


@pytest.mark.parametrize(
    ("monitor", "said"),
    [
        (None, "the newest fact is of 16:58:03 (5 min): nothing has changed since, or nothing was seen"),
        (MonitorStatus(T0 + 299_000, "ok", T0 + 298_000), ""),
        (MonitorStatus(T0 + 60_000, "ok", T0 + 58_000), "evenkeel had seen nothing of c since 16:59:01 (4 min)"),
        (MonitorStatus(T0 + 299_000, "data_lost", T0 + 298_000), "events had been lost shortly before"),
    ],
)
def test_doubts_are_told(monitor: MonitorStatus | None, said: str) -> None:
    g = Teller()
    g.status(0, "healthy", MATCH=1)
    shown = page(g.facts, T0 + 300_000, monitor)
    assert said in shown
    assert bool(said) is any(word in shown for word in ("nothing", "lost"))


@pytest.mark.parametrize(("minutes", "is_silent"), [(64, False), (66, True)])
def test_a_group_of_which_no_round_comes_any_more_is_told_as_that(minutes: int, is_silent: bool) -> None:
    """Though evenkeel sees the rest of its cluster: what is shown is what was known then."""
    g = Teller()
    g.status(0, "healthy", MATCH=1)
    now = T0 + minutes * 60_000
    shown = page(g.facts, now, MonitorStatus(now, "ok", now))
    assert ("the last round of it that is known of was at 16:58:03" in shown) is is_silent
    assert ("nothing is known since" in shown) is is_silent


def test_a_status_that_is_told_again_after_an_hour_is_as_old_as_it_was() -> None:
    g = Teller()
    g.status(0, "healthy", MATCH=1)
    g.status(3600, "healthy", MATCH=1)
    now = T0 + 3_700_000
    assert "HEALTHY since 16:58:03" in page(g.facts, now, MonitorStatus(now, "ok", now))


def test_names_do_not_act_and_lines_fit() -> None:
    g = Teller("g\x1b[2J")
    for n in range(60):
        g.member(0, f"x{n}\n\u202e" + "y" * 200)
        g.listed(0, f"broker-{n}\x07", f"x{n}\n", 1)
        g.queue(0, n, "ORPHANED", owners=(f"x{n}\n",), topic="T\x1b")
    lines = page(g.facts).split("\n")
    assert all(line.isprintable() and len(line) <= WIDTH for line in lines)
    assert any("20 more" in line for line in lines)


@pytest.mark.slow("facts of a group are read")
def test_the_command_prints_a_page_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(tmp_path / "facts", facts_of_scenario("same_client_id"))
    group = facts_of_scenario("same_client_id")[0].group
    assert main(["explain", group, "--tables", str(tmp_path)]) == 0
    assert "SAME_CLIENT_ID" in capsys.readouterr().out
    assert main(["explain", group, "--tables", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == 1
    assert main(["explain", group, "--tables", str(tmp_path), "--at=-30m"]) == 0
    assert "the newest fact is of" in capsys.readouterr().out
    assert main(["explain", group, "--tables", str(tmp_path), "--at", "1999-12-31T00:00:00Z"]) == 2
    assert "nothing was known" in capsys.readouterr().err


def test_a_number_that_was_read_long_ago_has_the_time_of_its_reading() -> None:
    g = Teller()
    waits = {"waiting": 268, "read_ts": T0 + 20_000, "oldest_ts": T0 - 40_000, "seen_ts": T0 + 15_000}
    stall = observed(Stall(waiting=268, stalled_ms=60_000, by_pull_offset=True))
    g.alert(21, "firing", "held_long_enough", observed=stall, **waits)
    shown = " ".join(page(g.facts, T0 + 1_160_000).split())
    assert "at 16:58:18: 268 messages wait, none pulled for 60 s" in shown
    assert "at 16:58:23: 268 messages waiting in its queues, the oldest since 16:57:23 (60 s by then)" in shown


def test_news_of_how_much_waits_are_no_step_of_an_alert() -> None:
    g = Teller()
    g.alert(0, "pending", "found")
    g.alert(5, "firing", "held_long_enough", waiting=268, read_ts=T0)
    g.alert(65, "firing", "waiting_changed", waiting=3_525, read_ts=T0 + 60_000)
    (alert,) = snapshot_of(g.facts).alerts
    assert [step.reason for step in alert.transitions] == ["found", "held_long_enough"]
    assert (alert.waiting, alert.read_ts) == (3_525, T0 + 60_000)
