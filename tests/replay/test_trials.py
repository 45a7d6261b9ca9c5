"""Groups of real clusters, recorded by ``evenkeel collect --record`` during what was once told wrongly, late or never.

``trials``: ``tests/real/trials.py`` says what was done; the collector was killed once and started again.
``mismatches``: for five minutes two processes of one client id, and two applications in one group of which each
subscribes to a topic of its own. ``divided``: as ``cut`` of the trials; the other client happened to ask each broker in
turn, so that queues never had two owners for long.
"""

from pathlib import Path

import pytest

from schemas.facts import AlertFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.replay.core_engine import core_facts
from streaming.replay.input_file import open_input

FOLDER = Path(__file__).parent / "clusters"
QUIET = {
    ("trials-5.3.3", "crowd"),
    ("trials-5.3.3", "batch"),
    ("trials-5.3.3", "slow"),
    ("trials-4.9.7", "batch"),
    ("trials-4.9.7", "slow"),
}
TRIALS = ("trials-4.9.7", "trials-5.3.3")
CUT_FOR_MS = 160_000  # after it is first told

Alerts = dict[tuple[str, str], list[AlertFact]]


@pytest.fixture(scope="module")
def fired() -> Alerts:
    """Everything that was told of alerts which fired, by recording and group, in order."""
    found: Alerts = {}
    for path in sorted([*FOLDER.glob("trials-*"), *FOLDER.glob("mismatches-*"), *FOLDER.glob("divided-*")]):
        source = open_input(path, pytest.fail)
        for fact in core_facts(list(source.records), DEFAULT_SETTINGS):
            told = found.setdefault((path.name.removesuffix(".jsonl.gz"), fact.group), [])
            if isinstance(fact.payload, AlertFact) and fact.payload.fired_ts:
                told.append(fact.payload)
    return found


@pytest.mark.slow("a recording is folded many times")
@pytest.mark.parametrize("one", sorted(QUIET))
def test_what_is_well_calls_nobody(one: tuple[str, str], fired: Alerts) -> None:
    """Listeners that take three minutes, or always two and a half; eight clients of one address that stop at once."""
    assert fired[one] == []


@pytest.mark.slow("a recording is folded")
@pytest.mark.parametrize("trial", TRIALS)
def test_a_client_that_cannot_reach_one_broker_is_told_once_until_it_can(trial: str, fired: Alerts) -> None:
    """Its queues change hands meanwhile, and look right in between. Those that it cannot pull may stand still, too."""
    told = [alert for alert in fired[trial, "cut"] if alert.kind != "STALLED"]
    assert {(alert.kind, alert.cause, alert.fired_ts) for alert in told} == {
        ("DUPLICATED", "VIEW_DIVERGENCE", told[0].fired_ts)
    }
    stalled = {(one.cause, one.fired_ts) for one in fired[trial, "cut"] if one.kind == "STALLED"}
    assert len(stalled) <= 1
    assert {cause for cause, _ in stalled} <= {"VIEW_DIVERGENCE", "CLIENT_STALLED"}
    assert [alert.state for alert in told[-2:]] == ["firing", "resolved"]
    assert (told[-1].resolved_ts or 0) - (told[0].fired_ts or 0) > CUT_FOR_MS


def test_and_is_told_when_its_queues_change_hands_before_their_owners_can_be_asked_twice(fired: Alerts) -> None:
    told = fired["divided-4.9.7", "cut"]
    assert {(alert.kind, alert.cause, alert.fired_ts) for alert in told} == {
        ("DUPLICATED", "VIEW_DIVERGENCE", told[0].fired_ts)
    }


@pytest.mark.parametrize("trial", TRIALS)
def test_a_batch_that_ends_after_three_minutes_is_never_critical(trial: str, fired: Alerts) -> None:
    """Its owner says that it has nothing in hand any more, before the offsets are read that show what it has done."""
    assert [alert.kind for alert in fired[trial, "batch"] if alert.severity == "critical"] == []


@pytest.mark.parametrize("trial", ["trials-4.9.7", "trials-5.3.3"])
def test_listeners_that_hang_are_told_whatever_brokers_know_of_pulls(trial: str, fired: Alerts) -> None:
    told = fired[trial, "stuck"]
    assert {(alert.kind, alert.severity) for alert in told} == {("SLOW_CONSUMER", "warning")}
    assert {(q.broker_name, q.queue_id) for q in told[-1].queues} == {(f"broker-{b}", n) for b in "ab" for n in (0, 1)}


@pytest.mark.parametrize(("group", "cause"), [("same", "SAME_CLIENT_ID"), ("subs", "SUBSCRIPTION_MISMATCH")])
def test_a_mismatch_is_told_with_its_cause_from_the_first_page_on(group: str, cause: str, fired: Alerts) -> None:
    told = fired["mismatches-5.3.3", group]
    assert told
    assert {alert.cause for alert in told} == {cause}
