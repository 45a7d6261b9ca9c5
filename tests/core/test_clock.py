"""The group's clock: one late or wrong marker moves nothing, an outage costs a round, a wrong clock can be set back."""

import pytest

from schemas.events import AnyEvent, AssignmentReport, ConsumeProgress, QueueProgress, Round, TopicRoute, decode_event
from schemas.facts import AlertFact
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.intake import clock
from streaming.core.intake.clock import ClockVerdict
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import HELD_AT_MOST, Origin, Refused, take
from tests.core.fleet import T0, Fleet, running

HOUR = 3600


def refused_by(fleet: Fleet, event: AnyEvent) -> list[Refused]:
    return take(Group(fleet.state, fleet.settings), event)


@pytest.mark.parametrize(
    ("ts", "verdict"),
    [
        (100_001, ClockVerdict.ACCEPT),
        (120_000, ClockVerdict.ACCEPT),  # two rounds of 5 s and 10 s more
        (120_001, ClockVerdict.HOLD),
        (100_000, ClockVerdict.LATE),
        (90_001, ClockVerdict.LATE),
        (90_000, ClockVerdict.FAR_BEHIND),
    ],
)
def test_a_marker_is_judged_by_how_far_it_is_from_the_clock(ts: int, verdict: ClockVerdict) -> None:
    state = new_state("c", "g")
    state.now, state.interval = 100_000, 5_000
    assert clock.judge_marker(state, ts, DEFAULT_TIMING) is verdict


def test_the_first_marker_is_the_clock() -> None:
    assert clock.judge_marker(new_state("c", "g"), T0, DEFAULT_TIMING) is ClockVerdict.ACCEPT


def test_one_late_marker_moves_nothing() -> None:
    fleet = running(100)
    before = len(fleet.facts)
    fleet.mark(at=70, brokers=())
    assert fleet.state.now == T0 + 100_000
    fleet.run(60)
    assert fleet.facts[before:] == []


def test_one_marker_an_hour_ahead_moves_nothing_and_is_refused_at_the_next() -> None:
    fleet = running(100)
    before = len(fleet.facts)
    fleet.mark(at=100 + HOUR)
    assert fleet.state.now == T0 + 100_000
    assert len(fleet.state.held_events) == 1
    fleet.run(60)
    assert fleet.state.now == T0 + 160_000
    assert fleet.state.held_events == []
    assert fleet.facts[before:] == []


def test_what_is_refused_names_its_origin() -> None:
    state = new_state("c", "g")
    group = Group(state, DEFAULT_SETTINGS)
    events = running(100).events
    marks = [event for event in events if isinstance(event, Round)]
    for event in events:
        take(group, event)
    ahead = Round(**_fields(marks[-1]) | {"ts": T0 + HOUR * 1000, "seq": 10_000})
    right = Round(**_fields(marks[-1]) | {"ts": T0 + 105_000, "seq": 10_001})
    assert take(group, ahead, Origin("events", 3, 77)) == []
    (refused,) = take(group, right)
    assert refused.origin == Origin("events", 3, 77)
    assert refused.why.reason == "ahead_of_clock"
    assert decode_event(refused.event) == ahead


def _fields(event: Round) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


def test_an_outage_of_an_hour_costs_one_round() -> None:
    fleet = running(100)
    before = len(fleet.facts)
    fleet.now += HOUR
    for offsets in fleet.offsets.values():
        offsets.broker += 10
    fleet.round()
    assert fleet.state.now == T0 + 100_000
    fleet.round()
    assert fleet.state.now == T0 + (110 + HOUR) * 1000
    assert fleet.state.held_events == []
    fleet.run(60)
    assert set(fleet.findings().values()) == {"MATCH"}
    assert fleet.fired() == set()
    assert len(fleet.facts) > before


def test_a_marker_that_waits_twice_counts_once() -> None:
    fleet = running(100)
    fleet.now += HOUR
    fleet.round()
    fleet.take(fleet.events[-1])
    assert len([1 for held in fleet.state.held_events if b'"round"' in held.event[:20]]) == 2
    fleet.round()
    assert fleet.state.now == T0 + (110 + HOUR) * 1000
    assert fleet.state.held_events == []


def test_after_an_outage_reports_from_before_it_do_not_count() -> None:
    fleet = running(100, report_every=0)
    fleet.report("x")
    fleet.report("y")
    fleet.run(5)
    fleet.own("y", "a0-3 b0-3")
    fleet.now += HOUR
    fleet.run(60)
    assert set(fleet.findings().values()) == {"UNKNOWN"}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_marker_that_waits_is_believed_however_many_events_wait_before_it() -> None:
    """A large group says more in a round than may wait; after an outage its clock must go on all the same."""
    fleet = running(100)
    fleet.now += HOUR
    for _ in range(HELD_AT_MOST + 10):
        fleet.say_route()
    fleet.run(10)
    assert fleet.state.now == T0 + (110 + HOUR) * 1000
    assert fleet.state.held_events == []


def test_rounds_far_apart_still_move_the_clock() -> None:
    fleet = running(100, every=5)
    fleet.every = 600
    fleet.run(600 * 3)
    assert fleet.state.now == T0 + 1_900_000


@pytest.mark.slow("minutes and hours of a group are folded")
def test_no_more_events_wait_than_may() -> None:
    fleet = running(100)
    fleet.now += HOUR
    for _ in range(HELD_AT_MOST):
        fleet.say_route()
    fleet.say_route()
    assert len(fleet.state.held_events) == HELD_AT_MOST
    (refused,) = refused_by(fleet, fleet.events[-1])
    assert refused.why.reason == "ahead_of_clock"
    assert str(HELD_AT_MOST) in refused.why.detail


def test_the_clock_never_runs_backwards_when_a_waiting_marker_is_only_a_little_ahead() -> None:
    fleet = running(100)
    for at in (121, 113, 118, 126, 131):
        fleet.join(f"joins before {at}")
        fleet.mark(at=at)
    times = [fact.ts for fact in fleet.facts]
    assert times == sorted(times)
    assert fleet.state.now == T0 + 131_000


def test_a_report_of_a_wrong_clock_is_refused_and_freezes_nothing() -> None:
    fleet = running(100)
    (x,) = fleet.of("x")
    fleet.report(x, at=fleet.now, answered_ts=T0 + HOUR * 1000, owned=())
    assert len(fleet.state.held_events) == 1
    fleet.own("y", "a0 b0-3")
    fleet.run(120)
    assert fleet.finding("a0").owners == ("x", "y")
    assert fleet.firing() == {("T", "DUPLICATED")}


@pytest.mark.parametrize(("ahead_ms", "counts"), [(10_000, True), (10_001, False)])
def test_an_event_may_be_10_s_ahead_of_the_marker_that_follows(ahead_ms: int, counts: bool) -> None:
    fleet = running(100)
    fleet.take(
        AssignmentReport(schema=1, cluster="c", group="g", ts=T0 + 115_000 + ahead_ms, round=1, seq=fleet.seq,
                         source="test", client_id="x", answered=True, answered_ts=T0 + 115_000 + ahead_ms, start_ts=1)
    )  # fmt: skip
    fleet.seq += 1
    assert len(fleet.state.held_events) == 1
    fleet.mark(at=115)
    answered = {report.start_ts for client in fleet.state.clients for report in client.reports}
    assert (1 in answered) is counts


def test_evidence_of_a_wrong_clock_before_the_first_marker_freezes_nothing() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    (x,) = fleet.of("x")
    fleet.report(x, at=HOUR, owned=())
    fleet.say(TopicRoute, HOUR, topic="T", brokers=())
    fleet.say(ConsumeProgress, HOUR, topic="T", broker_name="a", queues=(QueueProgress(0, 9, 1, 1),))
    fleet.run(90)
    assert T0 < fleet.state.queues[0].progress_ts <= fleet.state.now
    assert set(fleet.findings().values()) == {"MATCH"}


# --- a clock that was wrong


def test_three_markers_in_order_far_behind_set_the_clock_back() -> None:
    fleet = running(100)
    fleet.mark(at=50)
    fleet.mark(at=55)
    assert fleet.state.now == T0 + 100_000
    fleet.mark(at=60)
    assert fleet.state.now == T0 + 60_000


def test_markers_far_behind_and_out_of_order_are_merely_late() -> None:
    fleet = running(100)
    for at in (50, 45, 50, 40, 50, 50):
        fleet.mark(at=at)
    assert fleet.state.now == T0 + 100_000


def test_a_marker_in_time_shows_that_those_behind_were_merely_late() -> None:
    fleet = running(100)
    fleet.mark(at=50)
    fleet.mark(at=55)
    fleet.run(5)
    fleet.mark(at=60)
    assert fleet.state.now == T0 + 105_000


def wrong_by_an_hour() -> Fleet:
    """A collector whose clock is an hour ahead says that x and y both own a0; then its clock is set right."""
    fleet = Fleet()
    fleet.now = HOUR
    fleet.join("x", "y")
    fleet.own("y", "a0 b0-3")
    fleet.run(200)
    fleet.now -= HOUR
    fleet._told_routes.clear()
    return fleet


def test_a_clock_that_was_wrong_and_is_set_back_judges_afresh() -> None:
    fleet = wrong_by_an_hour()
    assert fleet.firing() == {("T", "DUPLICATED")}
    fleet.run(15)
    assert fleet.state.now == T0 + 215_000
    assert fleet.finding("a0").finding == "UNKNOWN"
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}
    assert len([1 for _, state, _ in fleet.alerts("DUPLICATED") if state == "firing"]) >= 1
    assert {reason for _, _, reason in fleet.alerts("DUPLICATED")} >= {"evidence_lost", "evidence_back"}
    assert "resolved" not in {state for _, state, _ in fleet.alerts()}


def test_after_a_setting_back_nothing_is_from_a_time_to_come() -> None:
    fleet = wrong_by_an_hour()
    fleet.run(15)
    state = fleet.state
    told = [queue.since_ts + max(0, queue.publish_delay_ms) for queue in state.queues]
    times = [
        *(time for alert in state.alerts for time in (alert.seen_ts, alert.right_since_ts, alert.since_ts)),
        *(time for b in state.brokers for time in (b.answered_ts, b.changed_ts, b.lost_ts, b.returned_ts)),
        *(time for c in state.clients for time in (c.since_ts, c.two_addresses_since_ts, c.unanswered_since_ts)),
        *(
            time
            for t in state.topics
            for time in (t.confirmed_ts, t.changed_ts, t.hosts_changed_ts, t.has_members_since_ts)
        ),
        *(time for q in state.queues for time in (q.since_ts, q.mismatch_since_ts, q.evidence_ts, q.progress_ts)),
        *(condition.since_ts for condition in state.group_findings),
        *(change.ts for change in state.membership_changes),
        *told,
        state.empty_since,
        state.valid_from_ts,
    ]
    assert max(times) <= state.now
    assert all(
        fact.payload.ended is None or fact.payload.ended.from_ts <= fact.payload.ended.to_ts
        for fact in fleet.facts
        if fact.payload.fact == "queue" and fact.ts > T0 + 200_000
    )


TIMES_OF_A_BROKER = ("answered_ts", "changed_ts", "lost_ts", "returned_ts", "gone_ts", "back_ts")


@pytest.mark.parametrize("name", TIMES_OF_A_BROKER)
def test_a_step_back_that_is_small_leaves_what_happened_before_it(name: str) -> None:
    fleet = Fleet()
    fleet.run(60)
    broker, ts = fleet.state.brokers[0], fleet.state.now - DEFAULT_TIMING.progress_max_gap_ms
    setattr(broker, name, ts - 1)
    clock.set_back(fleet.state, ts, DEFAULT_TIMING)
    assert getattr(broker, name) == ts - 1


def test_every_time_of_a_broker_is_set_back() -> None:
    fleet = Fleet()
    fleet.run(60)
    broker, ts = fleet.state.brokers[0], fleet.state.now - HOUR * 1000
    times = [name for name in broker.__struct_fields__ if name.endswith("_ts")]
    assert sorted(times) == sorted(TIMES_OF_A_BROKER)
    for name in times:
        setattr(broker, name, fleet.state.now)
    clock.set_back(fleet.state, ts, DEFAULT_TIMING)
    assert {getattr(broker, name) for name in times} == {ts}


def test_an_alert_keeps_when_it_fired_so_that_its_page_does_not_come_again() -> None:
    fleet = wrong_by_an_hour()
    alert = fleet.alert("DUPLICATED")
    fleet.run(120)
    after = fleet.alert("DUPLICATED")
    assert after is not alert
    assert (after.active_ts, after.fired_ts) == (alert.active_ts, alert.fired_ts)
    assert {f.payload.fired_ts for f in fleet.told(AlertFact) if f.payload.state == "firing"} == {alert.fired_ts}


def test_an_alert_that_fired_in_what_is_now_the_future_still_ends() -> None:
    fleet = wrong_by_an_hour()
    fleet.run(60)
    fleet.thaw()
    fleet.run(120)
    assert fleet.firing() == set()
    ended = fleet.alert("DUPLICATED")
    assert (ended.state, ended.reason) == ("resolved", "right_again")
    assert ended.resolved_ts < ended.fired_ts


def test_what_has_not_fired_yet_waits_no_longer_for_a_clock_that_was_ahead() -> None:
    """A deploy is waited for, for ten minutes at most; not for an hour more."""
    fleet = Fleet()
    fleet.now = HOUR
    fleet.join("x", "y")
    fleet.run(60)
    fleet.own("y", "a0 b0-3")
    fleet.run(20)
    fleet.now -= HOUR
    fleet._told_routes.clear()
    fleet.run(30)
    assert all(alert.active_ts <= fleet.state.now for alert in fleet.state.alerts)
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}


def test_a_condition_and_an_empty_group_outlive_a_setting_back() -> None:
    fleet = Fleet()
    fleet.now = HOUR
    fleet.join("x", topics={"T": "a"})
    fleet.join("y", topics={"T": "b"})
    fleet.run(60)
    fleet.now -= HOUR
    fleet._told_routes.clear()
    fleet.run(90)
    assert fleet.firing() == {("", "INCONSISTENT_SUBSCRIPTION")}
    fleet.leave("x", "y")
    fleet.now += HOUR
    fleet.run(60)
    fleet.now -= HOUR
    fleet._told_routes.clear()
    fleet.run(400)
    assert ("", "NO_MEMBERS") in fleet.firing()


# --- what lasts goes on when the clock is set back


def set_clock(fleet: Fleet, ahead_s: float) -> None:
    """The collector's clock is set. What the collector remembers moves with it."""
    fleet.now += ahead_s
    fleet._told_routes.clear()
    fleet._known_lists = {
        name: (ids, since + round(ahead_s * 1000) if since else 0) for name, (ids, since) in fleet._known_lists.items()
    }
    fleet._routes_changed_ts += round(ahead_s * 1000)


@pytest.mark.parametrize(("back_s", "told_after_s"), [(60, 400), (180, 520), (200, 350), (HOUR, 350)])
def test_a_listener_that_hangs_is_told_though_the_clock_is_set_back(back_s: int, told_after_s: int) -> None:
    """Nobody is called ten minutes later because a clock was set. After a small step it is later by the step."""
    fleet = running(200)
    fleet.hang("a0")
    fleet.run(280)
    set_clock(fleet, -back_s)
    fleet.run(told_after_s - 280)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}


@pytest.mark.parametrize("back_s", [60, 200, HOUR])
def test_a_queue_that_stands_still_is_told_though_the_clock_is_set_back(back_s: int) -> None:
    fleet = running(200)
    fleet.stick("a0")
    fleet.run(60)
    set_clock(fleet, -back_s)
    fleet.run(75)
    assert fleet.firing() == {("T", "STALLED")}


@pytest.mark.parametrize("jump_s", [25, 100, 165, 185, HOUR])
@pytest.mark.parametrize("wrong_s", [20, 60, 100])
def test_a_clock_that_is_ahead_for_a_while_makes_no_batch_longer(wrong_s: int, jump_s: int) -> None:
    """A batch of 250 s in all. While the clock is ahead it may look longer, but not when the clock is right again."""
    fleet = running(300)
    fleet.hang()
    fleet.run(30)
    set_clock(fleet, jump_s)
    fleet.run(wrong_s)
    set_clock(fleet, -jump_s)
    fleet.run(250 - 30 - wrong_s)
    fleet.hang("")
    fleet.run(60)
    assert fleet.fired() == set()


def test_a_hung_listener_stays_told_while_the_clock_is_set_back() -> None:
    fleet = running(200)
    fleet.hang("a0")
    fleet.run(400)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}
    set_clock(fleet, -HOUR)
    fleet.run(100)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}
    assert "resolved" not in {state for _, state, _ in fleet.alerts()}
