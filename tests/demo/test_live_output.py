"""What the demo tells of facts."""

import io
import itertools
from itertools import takewhile

import pytest
from rich.console import Console

from schemas.facts import AlertFact, Fact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.demo.live_output import LiveOutput
from streaming.demo.recording_schedule import CLUSTER, Scenario, load_scenarios, schedule
from streaming.demo.terminal import Terminal
from streaming.replay.core_engine import core_facts
from tests.demo.values import values

START = 1_800_000_000_000


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return load_scenarios(pytest.fail)


@pytest.fixture(scope="module")
def facts(scenarios: list[Scenario]) -> list[Fact]:
    """What the core says of the first 150 s of the show."""
    found = []
    for scenario in scenarios:
        played = takewhile(lambda one: one.due_ms <= START + 150_000, schedule([scenario], START))
        found += core_facts(values(played), DEFAULT_SETTINGS)
    return sorted(found, key=lambda fact: fact.ts)


@pytest.mark.slow("a recording is folded")
def test_the_account_names_healthy_groups_and_alerts_with_their_cause(
    scenarios: list[Scenario], facts: list[Fact]
) -> None:
    output = LiveOutput(scenarios, START)
    told = [line.text for line in output.lines_for(facts)]
    firing = next(n for n, text in enumerate(told) if "FIRING" in text and "DUPLICATED" in text)
    assert "demo/G_d_sameid_50573  topic T_d_sameid_50573" in told[firing]
    assert told[firing + 1].strip() == "broker-a 0-3: owned by 127.0.0.1@same (2 instances)"
    assert told[firing + 2].strip().startswith("SAME_CLIENT_ID: client id 127.0.0.1@same")
    assert any("PENDING" in text for text in told)
    assert any("RESOLVED" in text for text in told)
    healthy = {text.split()[3] for text in told if " healthy " in text}
    assert {"G_a_scaleout_50402", "G_b_kill9_50499", "G_h_expand_50414", "G_j_more_50810"} <= healthy


@pytest.mark.slow("a recording is folded")
def test_an_alert_that_fires_has_a_link_to_its_page(scenarios: list[Scenario], facts: list[Fact]) -> None:
    told = [line.text for line in LiveOutput(scenarios, START, pages="http://host:1/").lines_for(facts)]
    links = [line.strip() for line in told if "http" in line]
    fired = {
        fact.payload.fingerprint
        for fact in facts
        if isinstance(fact.payload, AlertFact) and fact.payload.state == "firing"
    }
    assert set(links) == {f"http://host:1/alert?id={fingerprint}" for fingerprint in fired}
    assert len(fired) == 5


@pytest.mark.slow("a recording is folded")
def test_the_summary_says_how_every_group_stands(scenarios: list[Scenario], facts: list[Fact]) -> None:
    output = LiveOutput(scenarios, START)
    assert {row[2:] for row in output.summary()} == {("not seen", "-")}
    list(output.lines_for(facts))
    stands = {group: (status, alerts) for group, _, status, alerts in output.summary()}
    assert stands["G_a_scaleout_50402"] == ("healthy", "-")
    assert stands["G_e_subscriptions_50526"][0] == "findings"
    assert "ORPHANED firing" in stands["G_e_subscriptions_50526"][1]
    assert "firing" not in stands["G_d_sameid_50573"][1], "its consumers have gone and come back alone"
    assert output.alerts_fired == 5


def test_a_group_is_told_of_only_when_its_status_changes(scenarios: list[Scenario], facts: list[Fact]) -> None:
    output = LiveOutput(scenarios, START)
    told = [line.text for line in output.lines_for(facts) if "G_j_more_50810" in line.text]
    status = [text.split()[2] for text in told]
    assert all(a != b for a, b in itertools.pairwise(status))


def test_deeds_are_told_at_their_time(scenarios: list[Scenario]) -> None:
    line = LiveOutput(scenarios, START).action(START + 33_885, "G", "kill -9")
    assert line.text == "   33.9 s  (done)    G: kill -9"


def test_plain_output_has_no_control_characters() -> None:
    out = io.StringIO()
    terminal = Terminal(Console(file=out, highlight=False, soft_wrap=True, force_terminal=False))
    with terminal.step("Starting something"):
        pass
    terminal.say("x" * 300, "bold red")
    terminal.table(["a", "b"], [["1", "[red]2"]])
    lines = out.getvalue().splitlines()
    assert lines[0] == "Starting something ..."
    assert lines[1].startswith("Starting something: 0.")
    assert lines[2] == "x" * 300
    assert "[red]2" in lines[4]
    assert "\x1b" not in out.getvalue()


def test_a_long_line_goes_on_indented_in_a_terminal() -> None:
    out = io.StringIO()
    terminal = Terminal(Console(file=out, highlight=False, soft_wrap=True, force_terminal=True, width=40))
    terminal.say_wrapped("   12.0 s  FIRING  one two three four five six seven eight")
    first, second = (line.rstrip() for line in out.getvalue().splitlines())
    assert first.startswith("   12.0 s  FIRING  one two")
    assert len(first) <= 40
    assert second.startswith(" " * 13)
    assert second.endswith("eight")


def test_a_step_that_fails_is_not_told_as_done() -> None:
    out = io.StringIO()
    terminal = Terminal(Console(file=out, force_terminal=False))
    with pytest.raises(ValueError, match="no"), terminal.step("Starting something"):
        raise ValueError("no")
    assert out.getvalue() == "Starting something ...\n"


def test_the_cluster_has_the_name_that_the_account_tells(facts: list[Fact]) -> None:
    assert {fact.cluster for fact in facts} == {CLUSTER}
