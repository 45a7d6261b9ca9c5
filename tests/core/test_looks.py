"""A collector that has just started, and knows of no group whether it had members, looks at all of them."""

import pytest

from schemas.facts import AlertFact
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings
from streaming.core.shard import fold
from tests.core.fleet import Fleet, record_of, running


def left(fleet: Fleet) -> Fleet:
    """All consumers stop while nobody watches; then come the looks of another collector."""
    fleet.join("x", "y")
    fleet.run(300)
    fleet.leave("x", "y")
    fleet.now += 100
    fleet.source, fleet.every = "restarted", 50
    fleet.says_routes, fleet.progress_every = False, 0
    return fleet


def look(fleet: Fleet, times: int) -> None:
    for _ in range(times):
        fleet.round(look=True)


def test_a_group_that_was_never_heard_of_is_not_kept() -> None:
    fleet = Fleet()
    fleet.says_routes, fleet.progress_every = False, 0
    look(fleet, 4)
    assert fleet.facts == []
    records = [record_of(event, offset) for offset, event in enumerate(fleet.events)]
    folded = fold(None, records, DEFAULT_SETTINGS)
    assert folded.facts == []
    assert folded.blob == fold(None, [], DEFAULT_SETTINGS).blob


def test_one_that_must_never_be_empty_is() -> None:
    fleet = Fleet(settings=Settings(timing=DEFAULT_TIMING, groups=(GroupRule(group="g", always_on=True),)))
    fleet.says_routes, fleet.progress_every, fleet.every = False, 0, 50
    look(fleet, 5)
    assert ("", "NO_MEMBERS") in fleet.firing()


def test_members_that_are_listed_count() -> None:
    fleet = Fleet()
    fleet.join("x")
    look(fleet, 1)
    assert len(fleet.state.clients) == 1


def test_a_known_group_whose_consumers_have_stopped_calls_somebody() -> None:
    fleet = Fleet()
    left(fleet)
    fleet.state.queues[0].consumer_lag = 6000
    look(fleet, 5)
    assert ("", "NO_MEMBERS") in fleet.firing()
    assert fleet.status().status == "empty"


def test_an_alert_that_fired_is_stale_and_then_gone() -> None:
    fleet = running()
    fleet.own("y", "a0 b0-3")
    fleet.run(120)
    assert fleet.firing() == {("T", "DUPLICATED")}
    left(fleet)
    look(fleet, 4)
    assert [alert.phase == "stale" for alert in fleet.state.alerts if alert.kind == "DUPLICATED"] == [True]
    fleet.now += 4000
    look(fleet, 2)
    assert fleet.firing() == set()
    assert fleet.told(AlertFact)[-1].payload.reason == "gone"


@pytest.mark.slow("minutes and hours of a group are folded")
def test_any_cut_gives_the_same_of_groups_known_and_unknown() -> None:
    known, unknown = Fleet(group="known", rate=0), Fleet(group="unknown")
    left(known)
    look(known, 3)
    unknown.says_routes, unknown.progress_every = False, 0
    look(unknown, 3)
    unknown.join("x")
    unknown.says_routes = True
    unknown.run(60)
    records = [record_of(event, offset) for offset, event in enumerate([*known.events, *unknown.events])]
    whole = fold(None, records, DEFAULT_SETTINGS)
    for cut in range(0, len(records), 7):
        first = fold(None, records[:cut], DEFAULT_SETTINGS)
        second = fold(first.blob, records[cut:], DEFAULT_SETTINGS)
        told = [*first.facts, *second.facts]
        for group in ("known", "unknown"):
            assert [f for f in told if f.group == group] == [f for f in whole.facts if f.group == group]
