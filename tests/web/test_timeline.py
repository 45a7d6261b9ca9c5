"""What happened, in lanes: nothing is drawn of what was not seen."""

import pytest

from schemas.facts import Fact
from streaming.web.views.timeline import MINUTES, Bar, span_of, timeline
from tests.explain.facts import T0, Teller, facts_of_scenario

MINUTE = 60_000


def bars(facts: list[Fact], lane: str, end_s: int = 600, seen_s: int = 600, minutes: int = 30) -> list[Bar]:
    drawn = timeline(facts, T0 + end_s * 1000, minutes, T0 + seen_s * 1000)
    return [bar for one in drawn.lanes if one.name == lane for bar in one.bars]


def spans(drawn: list[Bar]) -> list[tuple[str, int, int]]:
    return [(bar.look, (bar.ts - T0) // 1000, (bar.to_ts - T0) // 1000) for bar in drawn]


def test_a_status_holds_until_the_next_or_until_nothing_is_seen() -> None:
    g = Teller()
    g.status(0, "healthy")
    g.status(60, "healthy")
    g.status(120, "findings")
    assert spans(bars(g.facts, "lane_status", seen_s=300)) == [
        ("state-healthy", 0, 120), ("state-findings", 120, 300),
    ]  # fmt: skip
    assert timeline(g.facts, T0 + 600_000, 30, T0 + 300_000).unseen is not None
    assert timeline(g.facts, T0 + 600_000, 30, T0 + 500_000).unseen is None


def test_an_alert_is_pending_then_firing_then_over() -> None:
    g = Teller()
    g.alert(10, "pending", "found")
    g.alert(30, "firing", "held_long_enough")
    g.alert(50, "firing", "evidence_lost", stale=True)
    g.alert(90, "resolved", "right_again")
    assert spans(bars(g.facts, "ORPHANED")) == [
        ("alert-pending", 10, 30), ("alert-critical", 30, 50), ("alert-critical-stale", 50, 90),
    ]  # fmt: skip


def test_members_that_replace_one_another_are_a_deploy() -> None:
    g = Teller()
    g.listed(0, "a", "old", 1, first_seen=True)
    for number in range(3):
        g.listed(100 + number * 60, "a", f"old-{number}", 0)
        g.listed(110 + number * 60, "a", f"new-{number}", 1)
        g.listed(110 + number * 60, "b", f"new-{number}", 1)
    drawn = bars(g.facts, "lane_members")
    assert spans([bar for bar in drawn if bar.look == "deploy"]) == [("deploy", 100, 230)]
    assert len([bar for bar in drawn if bar.look == "joined"]) == 3
    assert not any(bar.values.get("client") == "old" for bar in drawn)


def test_one_that_comes_is_no_deploy() -> None:
    g = Teller()
    g.listed(100, "a", "x", 1)
    assert [bar.look for bar in bars(g.facts, "lane_members")] == ["joined"]


def test_everything_lies_within_the_picture() -> None:
    facts = list(facts_of_scenario("rolling_deploy"))
    for minutes in (30, 1440):
        drawn = timeline(facts, facts[-1].ts, minutes, facts[-1].ts)
        for lane in drawn.lanes:
            assert lane.y < drawn.height
            assert all(bar.x >= 0 and bar.x + bar.width <= 100 for bar in lane.bars)
        assert drawn.ticks
        assert all(drawn.begin <= tick.ts <= drawn.end for tick in drawn.ticks)


def test_what_is_before_or_after_is_left_out() -> None:
    g = Teller()
    g.listed(0, "a", "early", 1)
    assert bars(g.facts, "lane_members", end_s=3600, minutes=30) == []


@pytest.mark.parametrize(
    ("ages_s", "minutes"),
    [((), 180), ((60,), 30), ((60, 20 * 60), 30), ((25 * 60,), 60), ((60, 5 * 3600), 720), ((9 * 86_400,), 1440)],
)
def test_the_span_shows_how_the_open_alerts_began(ages_s: tuple[int, ...], minutes: int) -> None:
    assert span_of((T0 - age * 1000 for age in ages_s), T0) == minutes
    assert minutes in MINUTES


def test_no_tick_is_cut_at_an_end() -> None:
    ticks = timeline([], T0, 30, T0).ticks
    assert {tick.anchor for tick in ticks if 4 <= tick.x <= 96} == {"middle"}
    at_the_ends = timeline([], 600_000_000, 30, 600_000_000).ticks
    assert [(tick.x, tick.anchor) for tick in (at_the_ends[0], at_the_ends[-1])] == [(0, "start"), (100, "end")]
