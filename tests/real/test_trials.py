"""What was once told wrongly, late or never, played again on a real RocketMQ: collector, Kafka and core.

All groups live side by side on one cluster, and the collector is killed once and started again. ``pytest -rP`` prints
what was done, what fired, when and why.
"""

import pytest

from streaming.loopback import LoopbackKafka
from testing.rocketmq.jars import NEWEST, OLD_LINE
from testing.rocketmq.loopback import LoopbackRocketMQ
from tests.real.outcome import Firing
from tests.real.played import Played, play
from tests.real.trials import (
    BRIEF_STOPS_S,
    CROWD_STOPS_S,
    CUT_FROM_S,
    CUT_UNTIL_S,
    GONE_S,
    STUCK_FROM_S,
    UNTIL_S,
    trials,
)

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.kafka,
    pytest.mark.deep("a real RocketMQ, for minutes"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module", params=[NEWEST, OLD_LINE])
def tried(request: pytest.FixtureRequest, kafka: LoopbackKafka, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """All trials on a cluster of that version, and what came of it."""
    name = f"trials-of-{request.param}"
    return play(LoopbackRocketMQ(request.param), kafka, name, tmp_path_factory.mktemp(name), trials, UNTIL_S)


def test_nothing_is_refused_or_fails(tried: Played) -> None:
    """Not even when the collector is killed."""
    tried.assert_all_is_well()


@pytest.mark.parametrize("group", ["pull", "lite", "batch", "slow"])
def test_nobody_is_called_for_clients_that_pull_or_take_their_time(group: str, tried: Played) -> None:
    assert tried.of(group).firings == []


@pytest.mark.parametrize(("group", "stopped_s"), [("crowd", CROWD_STOPS_S), ("brief", BRIEF_STOPS_S)])
def test_a_shutdown_is_no_storm(group: str, stopped_s: float, tried: Played) -> None:
    """All that can be said of it is that nobody consumes any more."""
    firings = tried.of(group).firings
    assert {firing.kind for firing in firings} <= {"NO_MEMBERS"}
    assert all(firing.fired_s > stopped_s + 100 for firing in firings)


def test_listeners_that_hang_are_told_though_pulls_go_on(tried: Played) -> None:
    outcome = tried.of("stuck")
    (firing,) = outcome.firings
    assert (firing.kind, firing.severity, firing.topic) == ("SLOW_CONSUMER", "warning", "stuck-T")
    assert firing.fired_s > STUCK_FROM_S + 180
    assert firing.resolved_s is None
    assert len(outcome.pages()) == 1


def test_a_group_that_was_stopped_is_missed_though_the_collector_was_killed(tried: Played) -> None:
    outcome = tried.of("gone")
    (firing,) = outcome.firings
    assert (firing.kind, firing.severity) == ("NO_MEMBERS", "warning")
    assert GONE_S + 115 < firing.fired_s < GONE_S + 240
    assert firing.resolved_s is None


def test_brokers_that_list_different_members_are_told_until_they_agree(tried: Played) -> None:
    outcome = tried.of("cut")
    assert {firing.causes[0] for firing in outcome.firings} == {"VIEW_DIVERGENCE"}
    assert CUT_FROM_S < min(firing.fired_s for firing in outcome.firings) < CUT_UNTIL_S
    assert CUT_UNTIL_S < max(ended(firing) for firing in outcome.firings) < CUT_UNTIL_S + 90
    assert len(outcome.pages()) == 1


def ended(firing: Firing) -> float:
    return float("inf") if firing.resolved_s is None else firing.resolved_s
