"""Evidence that is lost: events on the way, brokers, routes. Nothing is alarmed by it, and nothing is resolved."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events import AnyEvent, AssignmentReport, Heartbeat, Round, TopicRoute
from schemas.facts import AlertFact, EventsLostFact, Fact, QueueFact
from streaming.core.alerts.phases import AlertReason
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import fold
from tests.core.fleet import T0, Fleet, record_of, running
from tests.said import why

pytestmark = pytest.mark.slow("minutes and hours of a group are folded")


def lose_events(fleet: Fleet, count: int = 1) -> None:
    fleet.seq += count


def resolved(fleet: Fleet) -> list[str]:
    return [fact.payload.kind for fact in fleet.told(AlertFact) if fact.payload.state == "resolved"]


def states(fleet: Fleet, kind: str) -> list[tuple[str, str]]:
    return [(state, reason) for _, state, reason in fleet.alerts(kind)]


# --- events lost on the way


def test_a_gap_in_a_producers_numbers_is_told() -> None:
    fleet = running()
    expected = fleet.seq
    lose_events(fleet, 3)
    fleet.run(10)
    (lost,) = fleet.told(EventsLostFact)
    assert lost.payload == EventsLostFact(source="test", expected_seq=expected, received_seq=expected + 3)


def test_after_a_loss_what_a_producer_that_tells_no_changes_said_is_unknown_until_it_is_said_again() -> None:
    fleet = running()
    fleet.tells_changes = False
    fleet.run(5)
    lose_events(fleet)
    fleet.run(5)
    assert set(fleet.findings().values()) == {"UNKNOWN"}
    assert fleet.status().status == "unknown"
    fleet.run(65)  # reports every 20 s, routes every 60 s
    assert set(fleet.findings().values()) == {"MATCH"}
    assert fleet.alerts() == []


def test_a_duplicate_and_an_old_event_are_no_loss() -> None:
    fleet = running()
    before = len(fleet.facts)
    for event in fleet.events[-20:]:
        fleet.take(event)
    fleet.run(30)
    assert fleet.facts[before:] == []


def test_a_producer_that_restarts_counts_from_anywhere() -> None:
    fleet = running()
    fleet.source, fleet.seq = "another life", 7
    fleet.run(30)
    fleet.source, fleet.seq = "a third", 0
    fleet.run(30)
    assert fleet.told(EventsLostFact) == []


def test_two_producers_count_each_for_itself() -> None:
    fleet = running()
    for life in range(5):
        fleet.source, fleet.seq, kept = "tap", life * 1000, fleet.seq
        fleet.run(5)
        fleet.source, fleet.seq = "test", kept
        fleet.run(5)
    assert [fact.payload.source for fact in fleet.told(EventsLostFact)] == ["tap"] * 4


def test_the_number_of_producers_that_are_remembered_is_bounded() -> None:
    fleet = running()
    for number in range(50):
        fleet.source, fleet.seq = f"life {number}", 0
        fleet.run(5)
    assert len(fleet.state.sources) == 8
    assert "life 49" in fleet.state.sources


def test_a_producer_that_goes_on_is_not_forgotten_for_others_that_come_and_go() -> None:
    fleet = running()
    for number in range(50):
        kept = fleet.seq
        fleet.source, fleet.seq = f"life {number}", 0
        fleet.say_progress()
        fleet.source, fleet.seq = "test", kept
        fleet.run(5)
    assert fleet.told(EventsLostFact) == []
    lose_events(fleet)
    fleet.run(10)
    assert len(fleet.told(EventsLostFact)) == 1


def test_an_open_alert_outlives_a_loss_of_events() -> None:
    fleet = running(rate=0)
    fleet.tells_changes = False
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    lose_events(fleet)
    fleet.run(5)
    assert fleet.alert("DUPLICATED").stale
    fleet.run(120)
    assert not fleet.alert("DUPLICATED").stale
    assert states(fleet, "DUPLICATED")[2:] == [("firing", "evidence_lost"), ("firing", "evidence_back")]


def test_a_stall_outlives_a_loss_of_events() -> None:
    """Its clock starts afresh, but until the queue is seen to move nobody says that it does."""
    fleet = running()
    fleet.stick()
    fleet.run(100)
    assert fleet.firing() == {("T", "STALLED")}
    lose_events(fleet)
    fleet.run(200)
    assert resolved(fleet) == []
    assert not fleet.alert("STALLED").stale
    fleet.stick("")
    fleet.run(30)
    assert resolved(fleet) == ["STALLED"]


def test_an_inconsistent_subscription_outlives_a_loss_of_events() -> None:
    fleet = running()
    fleet.of("x")[0].topics = {"T": "a"}
    fleet.run(60)
    assert fleet.firing() == {("", "INCONSISTENT_SUBSCRIPTION")}
    lose_events(fleet)
    fleet.run(120)
    assert resolved(fleet) == []
    assert fleet.alert("INCONSISTENT_SUBSCRIPTION", None).stale is False


# --- what a loss can hide, and what it cannot


def arriving(events: list[AnyEvent], lost: set[int]) -> list[Fact]:
    """What is made of a fleet's events when those at some places never arrive."""
    kept = [record_of(event, index) for index, event in enumerate(events) if index not in lost]
    return fold(None, kept, DEFAULT_SETTINGS).facts


def one_every(events: list[AnyEvent], seconds: int, seed: int) -> set[int]:
    """The place of some event in each such stretch of time."""
    random, stretches = Random(seed), {}
    for index, event in enumerate(events):
        stretches.setdefault((event.ts - T0) // (seconds * 1000), []).append(index)
    return {random.choice(indices) for indices in stretches.values()}


def fired_at(facts: list[Fact]) -> dict[str, float]:
    fired = [fact for fact in facts if isinstance(fact.payload, AlertFact) and fact.payload.state == "firing"]
    return {fact.payload.kind: (fact.ts - T0) / 1000 for fact in reversed(fired)}


def in_trouble(kind: str) -> Fleet:
    """From second 60 on, for ten minutes."""
    fleet = running(rate=0 if kind in ("DUPLICATED", "ORPHANED") else 4)
    if kind == "STALLED":
        fleet.stick("a1")
    else:
        fleet.own("y", "a0 b0-3" if kind == "DUPLICATED" else "b0-2")
    return fleet.run(600)


KINDS = ["DUPLICATED", "ORPHANED", "STALLED"]


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("kind", KINDS)
def test_with_an_event_lost_every_20_s_faults_are_found(kind: str) -> None:
    events = in_trouble(kind).events
    for seed in range(20):
        assert fired_at(arriving(events, one_every(events, 20, seed))).get(kind, 999) <= 60 + 180


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize("kind", KINDS)
def test_with_one_event_in_a_hundred_lost_faults_are_found(kind: str) -> None:
    events = in_trouble(kind).events
    for seed in range(20):
        random = Random(seed)
        lost = {index for index in range(len(events)) if random.random() < 0.01}
        assert fired_at(arriving(events, lost)).get(kind, 999) <= 60 + 180


def test_with_an_event_lost_every_20_s_a_healthy_group_pages_nobody() -> None:
    fleet = running().run(600)
    for seed in range(20):
        facts = arriving(fleet.events, one_every(fleet.events, 20, seed))
        assert fired_at(facts) == {}
        assert any(isinstance(fact.payload, EventsLostFact) for fact in facts)


def test_a_loss_leaves_alone_what_it_cannot_hide() -> None:
    fleet = running()
    told = len(fleet.facts)
    lose_events(fleet)
    fleet.run(120)
    (lost,) = fleet.facts[told:]
    assert isinstance(lost.payload, EventsLostFact)


def test_losses_do_not_stop_the_clock_of_a_stall() -> None:
    fleet = running()
    fleet.stick()
    for _ in range(16):
        lose_events(fleet)
        fleet.run(5)
    assert fleet.firing() == {("T", "STALLED")}


def test_a_copy_of_a_route_that_got_lost_with_a_change_is_missed_at_the_next_marker() -> None:
    fleet = running()
    fleet.route("T", a=4, b=3)
    fleet.round()
    events = [event for event in fleet.events[-40:] if isinstance(event, TopicRoute) and event.ts == T0 + 65_000]
    lost = {index for index, event in enumerate(fleet.events) if event in events}
    assert len(lost) == 1
    fleet.run(40)
    facts = arriving(fleet.events, lost)
    (reason,) = {
        why(fact.payload) for fact in facts if fact.ts > T0 + 60_000 and isinstance(fact.payload, QueueFact)
    } - {None}
    assert reason == "the topic's route is not known"
    assert fired_at(facts) == {}


def test_a_copy_that_repeats_the_route_may_get_lost() -> None:
    fleet = running().run(200)
    copies = [index for index, event in enumerate(fleet.events) if isinstance(event, TopicRoute)]
    (lost,) = [fact for fact in arriving(fleet.events, {copies[2]}) if fact.ts > T0 + 60_000]
    assert isinstance(lost.payload, EventsLostFact)


def test_a_list_that_was_another_in_a_marker_that_got_lost_gives_its_grace() -> None:
    """x gives half of its queues to one that comes and goes between two markers that arrive."""
    fleet = running(100, clients=("x",))
    fleet.join("y")
    first = len(fleet.events)
    fleet.round()
    fleet.report("x")
    fleet.leave("y")
    lost = {index for index, event in enumerate(fleet.events) if index >= first and isinstance(event, Round)}
    seen = len(fleet.events)
    fleet.round()
    lost |= {index for index, event in enumerate(fleet.events) if index >= seen and isinstance(event, AssignmentReport)}
    fleet.report_every = 0
    fleet.run(20)
    facts = arriving(fleet.events, lost)
    findings = {f.payload.finding for f in facts if isinstance(f.payload, QueueFact) and f.ts > T0 + 105_000}
    assert findings == {"UNKNOWN"}


# --- another order is no loss


def test_what_comes_late_and_fills_the_gap_is_no_loss() -> None:
    fleet = running()
    told = len(fleet.facts)
    left = len(fleet.events)
    fleet.run(60)
    late = [index for index in range(left, len(fleet.events)) if isinstance(fleet.events[index], Heartbeat)]
    events = list(fleet.events)
    for index in reversed(late):
        events.insert(index + 3, events.pop(index))
    assert arriving(events, set())[told:] == []


def test_a_gap_that_is_filled_in_part_tells_what_is_still_missing() -> None:
    fleet = running()
    first = fleet.seq
    lose_events(fleet, 5)
    fleet.round()
    kept, fleet.seq = fleet.seq, first + 2
    fleet.say_progress(at=fleet.now - 1)
    fleet.seq = kept
    fleet.round()
    gaps = [(fact.payload.expected_seq, fact.payload.received_seq) for fact in fleet.told(EventsLostFact)]
    assert gaps == [(first, first + 2), (first + 4, first + 5)]


def test_the_number_of_gaps_that_are_remembered_is_bounded() -> None:
    fleet = running()
    for _ in range(100):
        lose_events(fleet)
        fleet.say_progress()
    assert len(fleet.state.missing_events) == 16
    fleet.round().round()
    assert fleet.state.missing_events == []
    assert len(fleet.told(EventsLostFact)) == 100


MOVES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 12)), max_size=40)


@pytest.mark.slow("minutes and hours of a group are folded")
@settings(max_examples=25)
@given(MOVES)
def test_events_in_another_order_make_no_fault_and_hide_none(moves: list[tuple[int, int]]) -> None:
    fleet = in_trouble("DUPLICATED")
    events = list(fleet.events)
    for number, later in moves:
        index = number % len(events)
        events.insert(index + later, events.pop(index))
    facts = arriving(events, set())
    assert {kind: ts for kind, ts in fired_at(facts).items() if ts <= 210}.keys() == {"DUPLICATED"}


@pytest.mark.slow("minutes and hours of a group are folded")
@settings(max_examples=25)
@given(st.sets(st.integers(0, 1000), max_size=30), st.booleans())
def test_whatever_gets_lost_a_healthy_group_that_restarts_its_clients_pages_nobody(
    lost: set[int], tells_changes: bool
) -> None:
    fleet = Fleet()
    fleet.tells_changes = tells_changes
    fleet.join("x", "y")
    for client_id in ("x", "y", "x"):
        fleet.run(40)
        fleet.leave(client_id)
        fleet.run(5)
        fleet.join(client_id)
    fleet.run(120)
    assert fired_at(arriving(fleet.events, {index % len(fleet.events) for index in lost})) == {}


# --- a broker away


def test_a_broker_that_is_lost_and_comes_back_alarms_nobody() -> None:
    fleet = running()
    fleet.down.add("b")
    fleet.run(60)
    assert set(fleet.findings().values()) == {"UNKNOWN"}
    fleet.route("T", a=4)  # the name server drops it, and clients share out what is left
    fleet.run(60)
    fleet.down.clear()
    fleet.route("T", a=4, b=4)
    fleet.run(300)
    assert fleet.fired() == set()
    assert set(fleet.findings().values()) == {"MATCH"}


def test_a_broker_that_comes_back_has_175_s_for_its_members_to_come_back_to_it() -> None:
    fleet = running()
    fleet.down.add("b")
    fleet.run(60)
    fleet.restart_brokers("b")
    fleet.own("y", "a0 b0-3")
    fleet.run(165)
    assert fleet.alerts("DUPLICATED") == []
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}


def test_what_clients_do_when_a_broker_is_gone_is_judged_only_once_the_loss_is_known() -> None:
    """The name server drops a broker that dies at once: clients share out the rest before a round notices."""
    fleet = running()
    fleet.own("y", "b0-2")
    fleet.run(60)
    assert [queue.queue_id for queue in fleet.alert("ORPHANED").queues] == [3]
    fleet.down.add("b")
    fleet.own("x", "a0-1")
    fleet.own("y", "a3")
    fleet.run(5)
    for one in fleet.instances:
        fleet.report(one)
    fleet.run(15)
    assert {why(fleet.finding(queue)) for queue in ("a2", "b0")} == {"no answer from b"}
    assert {queue.queue_id for queue in fleet.alert("ORPHANED").queues} == {3}
    fleet.route("T", a=4)
    fleet.run(300)
    assert [(q.broker_name, q.queue_id) for q in fleet.alert("ORPHANED").queues] == [("a", 2), ("b", 3)]


def test_a_missed_poll_does_not_end_what_is_found() -> None:
    fleet = running()
    fleet.own("y", "b0-2")
    fleet.run(60)
    told = len(fleet.facts)
    for _ in range(10):
        fleet.down.add("a")
        fleet.run(5)
        fleet.down.clear()
        fleet.run(5)
    new = [fact.payload for fact in fleet.facts[told:]]
    assert {getattr(payload, "reason", None) for payload in new} <= {AlertReason.WAITING_CHANGED}


def test_the_clock_of_a_stall_starts_afresh_when_a_broker_was_restarted() -> None:
    fleet = running()
    fleet.stick()
    fleet.run(50)
    fleet.down.update("ab")
    fleet.run(60)
    fleet.restart_brokers("a", "b")
    fleet.run(165)
    assert fleet.alerts("STALLED") == [], "its members may still be on their way back to it"
    fleet.run(30)
    assert fleet.firing() == {("T", "STALLED")}


def test_a_missed_poll_does_not_stop_the_clock_of_a_stall() -> None:
    fleet = running()
    fleet.stick()
    fleet.run(30)
    fleet.down.update("ab")
    fleet.run(10)
    fleet.down.clear()
    fleet.run(50)
    assert fleet.firing() == {("T", "STALLED")}


def test_a_stall_outlives_its_broker_being_away() -> None:
    fleet = running()
    fleet.stick()
    fleet.run(100)
    assert fleet.firing() == {("T", "STALLED")}
    fleet.down.add("b")
    fleet.run(60)
    fleet.down.clear()
    fleet.run(250)
    assert resolved(fleet) == []
    assert len(fleet.alert("STALLED").queues) == 8


def test_offsets_that_have_not_been_heard_for_3_minutes_prove_nothing() -> None:
    fleet = running()
    fleet.stick()
    fleet.run(50)
    fleet.progress_every = 0
    fleet.run(250)
    fleet.progress_every = 10
    fleet.run(50)
    assert fleet.alerts("STALLED") == []
    fleet.run(40)
    assert fleet.firing() == {("T", "STALLED")}


def test_a_stall_without_news_of_offsets_is_stale_not_over() -> None:
    fleet = running()
    fleet.stick()
    fleet.run(100)
    fleet.progress_every = 0
    fleet.run(300)
    assert fleet.alert("STALLED").stale
    assert resolved(fleet) == []


def test_a_broker_that_no_route_names_any_more_is_given_up() -> None:
    fleet = running()
    fleet.route("T", a=4)
    fleet.down.add("b")
    fleet.run(400)
    assert fleet.status().status == "healthy"
    assert set(fleet.findings().values()) == {"MATCH"}


# --- no route at all


def test_a_route_that_is_gone_with_its_brokers_resolves_nothing() -> None:
    fleet = running(rate=0)
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}
    fleet.down.update("ab")
    fleet.run(30)
    fleet.route("T")
    fleet.run(300)
    assert resolved(fleet) == []
    assert set(fleet.findings().values()) == {"UNKNOWN"}


def test_a_topic_that_was_deleted_takes_its_queues_along() -> None:
    fleet = running(rate=0)
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    fleet.route("U", a=1, b=1)  # keeps the brokers in the fleet
    fleet.route("T")
    for one in fleet.instances:
        one.owned = set()
        one.topics = {"U": "*"}
        one.is_pinned = False
    fleet.balance()
    fleet.run(120)
    assert fleet.findings("T") == {}
    assert "DUPLICATED" in resolved(fleet)
    assert fleet.firing() == set()
