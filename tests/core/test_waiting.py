"""How much waits in the queues of an open alert: told again as it changes, with the time at which it was read."""

from itertools import pairwise

import pytest

from schemas.facts import AlertFact
from streaming.core.alerts.phases import AlertReason
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.waiting import REPEAT_WAITING_MS, TELL_WAITING_MS
from tests.core.fleet import T0, Fleet, not_taken_over, running


def of(fleet: Fleet, kind: str, topic: str | None = "T") -> list[tuple[int, AlertFact]]:
    return [(f.ts, f.payload) for f in fleet.told(AlertFact) if (f.payload.kind, f.topic) == (kind, topic)]


def waiting_now(fleet: Fleet, alert: AlertFact) -> int:
    names = {(queue.broker_name, queue.queue_id) for queue in alert.queues}
    return sum(o.broker - o.consumer for q, o in fleet.offsets.items() if (q.broker_name, q.queue_id) in names)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_the_number_of_an_open_alert_is_right_to_a_tenth_or_a_minute_old() -> None:
    """4 messages a second and queue arrive: without news the alert would go on saying what waited when it fired."""
    fleet = not_taken_over().run(90)
    for _ in range(60):
        fleet.run(20)
        alert = fleet.alert("ORPHANED")
        arrive_in_a_minute = 4 * 75 * len(alert.queues)
        true = waiting_now(fleet, alert)
        assert alert.waiting is not None
        assert true - alert.waiting <= max(0.1 * alert.waiting + 4 * 15 * len(alert.queues), arrive_in_a_minute)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_news_of_it_come_at_most_once_a_minute_and_more_rarely_as_the_number_grows() -> None:
    fleet = not_taken_over().run(3_600)
    told = [ts for ts, alert in of(fleet, "ORPHANED") if alert.reason == AlertReason.WAITING_CHANGED]
    steps = [later - earlier for earlier, later in pairwise(told)]
    assert min(steps) >= TELL_WAITING_MS
    assert steps[-1] > 3 * steps[0]
    assert len(told) <= 32


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_number_that_stays_is_said_again_after_ten_minutes() -> None:
    fleet = not_taken_over().run(90)
    fleet.rate = 0
    fleet.run(1_500)
    told = [(ts, alert) for ts, alert in of(fleet, "ORPHANED") if alert.reason == AlertReason.WAITING_CHANGED]
    assert told[-1][0] - told[-2][0] == REPEAT_WAITING_MS
    assert told[-1][1].waiting == told[-2][1].waiting


@pytest.mark.slow("minutes and hours of a group are folded")
def test_without_new_offsets_nothing_is_said_anew_and_the_old_time_stays() -> None:
    fleet = not_taken_over().run(90)
    fleet.no_offsets = {"a", "b"}
    fleet.run(1_500)
    last = fleet.alert("ORPHANED")
    assert last.read_ts is not None
    assert last.read_ts <= T0 + 155_000
    assert not [ts for ts, a in of(fleet, "ORPHANED") if a.reason == AlertReason.WAITING_CHANGED and ts > T0 + 215_000]


def test_a_number_has_the_time_of_the_oldest_offsets_in_it_and_each_queue_its_own() -> None:
    fleet = not_taken_over().run(90)
    fleet.no_offsets = {"a"}
    fleet.run(300)
    alert = fleet.alert("ORPHANED")
    by_broker = {queue.broker_name: queue.read_ts or 0 for queue in alert.queues}
    if "a" in by_broker and "b" in by_broker:
        assert by_broker["a"] < by_broker["b"]
    assert alert.read_ts == min(by_broker.values())


def test_evidence_has_the_time_at_which_it_was_seen_last() -> None:
    fleet = not_taken_over().run(90)
    fleet.down = {"a", "b"}
    fleet.run(60)
    alert = fleet.alert("ORPHANED")
    assert alert.stale
    assert alert.seen_ts is not None
    assert alert.seen_ts <= T0 + 150_000 + DEFAULT_TIMING.view_max_age_ms
    assert fleet.state.now == T0 + 210_000


def test_what_keeps_an_alert_open_stays_said_beside_newer_numbers() -> None:
    """Broker b does not list y, so x takes y's queues besides until it happens to ask a."""
    fleet = running()
    fleet.of("y")[0].brokers = ("a",)
    fleet.own("x", "a0-3 b0-3")
    fleet.run(100)
    fleet.own("x", "a0-3")
    fleet.run(60)
    right_since_ts = fleet.alert("DUPLICATED").right_since_ts
    assert fleet.alert("DUPLICATED").reason == AlertReason.LISTS_DIFFER
    fleet.run(900)
    newest = fleet.alert("DUPLICATED")
    assert newest.reason == AlertReason.WAITING_CHANGED
    assert (newest.kept_open, newest.right_since_ts) == (AlertReason.LISTS_DIFFER, right_since_ts)


def test_an_alert_of_a_group_at_rest_follows_the_offsets_too() -> None:
    """Of these queues none is wrong, so that the group need not be evaluated for anything else."""
    fleet = running()
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.run(600)
    alert = fleet.alert("UNREADABLE_QUEUES")
    assert alert.reason == AlertReason.WAITING_CHANGED
    assert alert.read_ts is not None
    assert fleet.state.now - alert.read_ts <= 3 * TELL_WAITING_MS
