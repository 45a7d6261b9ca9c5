"""Whole clusters, recorded by ``evenkeel collect --record`` while ``tests/real`` played its scenarios.

Eleven groups at once on RocketMQ 5.3.3 and 4.9.7: faults in four of them; in the others what RocketMQ does by itself,
and the loss of a broker for a minute, which is no fault of any group.
"""

from pathlib import Path

import pytest

from schemas.facts import AlertFact
from schemas.identity import is_retry_topic
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.replay.core_engine import core_facts
from streaming.replay.input_file import open_input

FOLDER = Path(__file__).parent / "clusters"
ILL = {"same", "subs", "mixed", "pause"}
REPAIRED_MS = 180_000  # after all had joined; that is some 40 s after the first line

Alerts = list[tuple[str, str, AlertFact]]


@pytest.fixture(scope="module", params=sorted(path.name for path in FOLDER.glob("rocketmq-*")))
def alerts(request: pytest.FixtureRequest) -> Alerts:
    """Group, topic and alert, in order; but for retry topics."""
    source = open_input(FOLDER / request.param, pytest.fail)
    facts = core_facts(list(source.records), DEFAULT_SETTINGS)
    found = [(f.group, f.topic or "", f.payload) for f in facts if isinstance(f.payload, AlertFact)]
    return [one for one in found if not is_retry_topic(one[1])]


@pytest.mark.slow("a recording is folded")
def test_only_what_is_ill_fires(alerts: Alerts) -> None:
    assert {group for group, _, alert in alerts if alert.fired_ts} == ILL


@pytest.mark.slow("a recording is folded")
def test_a_repair_fires_nothing(alerts: Alerts) -> None:
    fired = [alert.fired_ts or 0 for group, _, alert in alerts if group == "subs" and alert.fired_ts]
    assert max(fired) - min(fired) < REPAIRED_MS / 2


def test_what_was_wrong_outlives_the_loss_of_a_broker(alerts: Alerts) -> None:
    """Told until the end, as the same alert that it was: by when it fired, never resolved."""
    for kind in ("DUPLICATED", "ORPHANED"):
        told = [alert for group, _, alert in alerts if group == "mixed" and alert.kind == kind]
        assert len({alert.fired_ts for alert in told if alert.fired_ts}) == 1
        assert told[-1].state == "firing"
        assert told[-1].cause == "STRATEGY_MISMATCH"


def test_a_lost_broker_adds_no_queues_of_its_own_to_an_alert_and_fires_none(alerts: Alerts) -> None:
    """broker-c is away for a minute; clients of ``mixed`` share out the rest by then, and wrongly."""
    told = [alert for group, _, alert in alerts if group == "mixed"]
    lost = {(a.kind, q.queue_id) for a in told for q in a.queues if q.broker_name == "broker-c"}
    assert lost == {("ORPHANED", 0), ("ORPHANED", 2)}
    fired = {alert.kind: alert.cause for alert in told if alert.reason == "held_long_enough"}
    assert set(fired.values()) == {"STRATEGY_MISMATCH"}


def test_what_an_id_listed_twice_leaves_to_nobody_is_named_once_it_is_proven(alerts: Alerts) -> None:
    """Its queues stand still from the beginning. That may be a dead connection, so no alert says more before."""
    found = [alert for group, _, alert in alerts if group == "same"]
    assert {alert.kind for alert in found} == {"DUPLICATED", "ORPHANED"}
    assert {alert.cause for alert in found} == {"SAME_CLIENT_ID"}
