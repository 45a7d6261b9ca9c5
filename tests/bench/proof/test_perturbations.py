"""Perturbations: each does what it says, is drawn by seed, and the judge of what lasts can fail on both sides."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TypeVar

import pytest

from bench.proof import incidents, lasting_faults, operations
from bench.proof.deadlines import Deadlines
from bench.proof.detector import Detector
from bench.proof.groups import RemotingGroup
from bench.proof.incidents import Run, play_incident
from bench.proof.lasting_faults import LASTING_MS, LastingFaults
from bench.proof.more_faults import ANY_FAULT_NAMED, MORE_FAULTS, OF_WAITING
from bench.proof.operations import play_healthy
from bench.proof.pages import read_pages
from bench.proof.perturbations import catalog, clients, starts_and_stops
from bench.proof.perturbations.catalog import PERTURBATIONS, draw, fit
from bench.proof.perturbations.context import PerturbationContext
from bench.proof.report import Report
from bench.proof.results import ActiveFault, Page
from schemas.events import AnyEvent, AssignmentReport, ConsumerChange, Heartbeat, Round
from schemas.facts import AlertFact, Fact, Kind, QueueFact
from schemas.identity import MessageQueue
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.findings import queue_rules as findings
from streaming.simulation.consumer import Consumer
from streaming.simulation.faults import FAULT_NAMED, Fault
from streaming.simulation.ground_truth import Window
from streaming.simulation.simulated_group import TOPIC, Shape
from tests.simulation.alerts_fired import alerts_fired

SHAPE = Shape(clients=3, brokers=2, queues=2, strategy="AVG", orderly=False, version=5, rate=3)
DEFAULT = DEFAULT_SETTINGS
PERTURBATION_NAMED = {one.name: one for one in PERTURBATIONS}
Told = TypeVar("Told", bound=AnyEvent)


class Played:
    """A small healthy group with one perturbation: what the collectors told, and what arrived."""

    def __init__(self, name: str, seconds: float, seed: str = "p", is_healthy: bool = True) -> None:
        self.events: list[AnyEvent] = []
        self.group = RemotingGroup(SHAPE, seed)
        self.detector = Detector(self.group.fleet, DEFAULT, self.events.append)
        drawn = [PERTURBATION_NAMED[name]] if name else []
        self.known_findings = catalog.begin(seed, drawn, self.group, self.detector, is_healthy)
        self.group.warm_up()
        self.group.fleet.run(seconds)

    def of(self, kind: type[Told]) -> list[Told]:
        return [event for event in self.events if isinstance(event, kind)]

    def numbers(self, source: str = "simulation") -> list[int]:
        return [event.seq for event in self.events if event.source == source]


def gaps(numbers: Iterable[int]) -> int:
    ordered = sorted(numbers)
    return sum(after - before - 1 for before, after in pairwise(ordered))


def test_without_a_perturbation_nothing_is_lost_and_everybody_answers() -> None:
    played = Played("", 60)
    assert played.numbers() == sorted(played.numbers())
    assert not gaps(played.numbers())
    assert all(report.answered for report in played.of(AssignmentReport))


@pytest.mark.parametrize("name", ["lagging_name_server", "alternating_name_servers"])
def test_a_name_server_is_behind(name: str) -> None:
    played = Played(name, 0, seed="n")
    fleet = played.group.fleet
    fleet.put_topic(TOPIC, dict.fromkeys(played.group.brokers, 5))
    told = set()
    for _ in range(150):
        fleet.run(1)
        asked = [fleet.route(asker, TOPIC) for asker in ("a", "b", "c", "d", "e")]
        told.add(frozenset(len(route.subscribe_info) for route in asked if route is not None))
    assert frozenset({4, 10}) in told  # some are behind
    assert frozenset({10}) in told  # and not for ever
    assert not (frozenset({4}) in told and name == "lagging_name_server")


@pytest.mark.deep("a short measurement")
def test_a_list_lacks_somebody_for_half_a_minute_at_most() -> None:
    played = Played("list_lacks_someone", 900)
    gone = {(c.broker_name, c.client_id, c.ts) for c in played.of(ConsumerChange) if c.change == "disappeared"}
    back = {(c.broker_name, c.client_id, c.ts) for c in played.of(ConsumerChange) if c.change == "appeared"}
    assert len(gone) >= 3
    for broker_name, client_id, ts in gone:
        assert any(one[:2] == (broker_name, client_id) and 0 < one[2] - ts <= 40_000 for one in back)


def test_lists_time_out_for_25_s() -> None:
    played = Played("list_times_out", 600)
    silent = [r.ts for r in played.of(Round) if any(not answer.answered for answer in r.brokers)]
    assert 2 <= len(silent) / 5 <= 16  # five rounds each time
    assert len(silent) < len(played.of(Round)) * 0.7


def test_a_mute_sdk_never_answers() -> None:
    played = Played("mute_sdk", 60, seed="m1")
    assert {report.reason for report in played.of(AssignmentReport) if not report.answered} == {"timeout"}


def test_go_names_neither_strategy_nor_model() -> None:
    played = Played("foreign_sdk", 60, seed="g")
    reports = [r for r in played.of(AssignmentReport) if r.answered and r.strategy is None]
    assert reports
    assert all(report.message_model is None and report.owned for report in reports)


def test_refused_connections_tell_nothing_of_clients() -> None:
    played = Played("", 0)
    for broker in played.group.fleet.brokers.values():
        broker.answers_connections = False
    told = len(played.events)
    played.group.start()
    played.group.fleet.run(40)
    new = [event for event in played.events[told:] if isinstance(event, Heartbeat)]
    assert any(heartbeat.language is None and not heartbeat.addresses for heartbeat in new)


def test_pull_consumers_tell_what_they_subscribe_to_and_not_what_they_own() -> None:
    played = Played("pull_consumers", 60)
    reports = played.of(AssignmentReport)
    assert all(report.subscriptions and not report.owned for report in reports)
    assert {h.consume_type for h in played.of(Heartbeat)} == {"CONSUME_ACTIVELY"}


def test_old_brokers_do_not_tell_pull_offsets() -> None:
    played = Played("old_brokers", 60)
    offsets = [offsets for event in played.of(Round) for offsets in event.offsets]
    assert {queue.pull_offset for one in offsets for queue in one.queues} == {-1}


def test_two_collectors_stand_between_each_other() -> None:
    played = Played("second_collector", 30)
    sources = [event.source for event in played.of(Round)]
    assert set(sources) == {"simulation", "simulation-2"}
    assert sources[-2:] in (["simulation", "simulation-2"], ["simulation-2", "simulation"])


def test_a_collector_that_was_killed_comes_back_as_another() -> None:
    played = Played("collector_restarted", 600)
    sources = [event.source for event in played.of(Round)]
    first = sources.index("simulation-again")
    assert set(sources[:first]) == {"simulation"}
    assert set(sources[first:]) == {"simulation-again"}


def test_some_events_are_lost() -> None:
    played = Played("events_lost", 600)
    assert 0 < gaps(played.numbers()) < 0.03 * len(played.events)


def test_one_event_is_lost_every_20_s() -> None:
    assert 25 <= gaps(Played("event_lost_every_20s", 450).numbers()) <= 31


def test_some_events_are_overtaken() -> None:
    played = Played("events_reordered", 600)
    assert played.numbers() != sorted(played.numbers())
    assert not gaps(played.numbers())


def test_the_clock_is_set_back_once() -> None:
    played = Played("clock_set_back", 600)
    times = [event.ts for event in played.of(Round)]
    back = [before - after for before, after in pairwise(times) if after < before]
    assert len(back) == 1


def test_batches_last_and_are_committed_at_their_end() -> None:
    played = Played("batches", 900)
    windows = [window for window in played.group.fleet.truth.windows if window.kind is Kind.SLOW_CONSUMER]
    lasted = [(window.lasted_until(played.group.fleet.now) - window.from_ts) / 1_000 for window in windows]
    assert 20 <= max(lasted) <= 180


def test_each_client_works_in_batches_also_where_another_has_long_been_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client was taken for one that was there before, if it had the same place in memory as one that is gone."""
    set_speed, slowed = Consumer.set_speed, []

    def note(client: Consumer, speed: float) -> None:
        if speed == 0:
            slowed.append(client.client_id)
        set_speed(client, speed)

    monkeypatch.setattr(Consumer, "set_speed", note)
    monkeypatch.setattr(clients, "id", lambda _: 0, raising=False)
    played = Played("batches", 300)
    played.group.fleet.leave(played.group.clients[0])
    started = played.group.start()
    played.group.fleet.run(300)
    assert started.client_id in slowed


@pytest.mark.deep("a short measurement")
def test_a_slow_deploy_replaces_everybody() -> None:
    played = Played("slow_deploy", 0, seed="d")
    before = set(played.group.clients)
    played.group.fleet.run(starts_and_stops.DEPLOY_S + 200)
    assert len(played.group.clients) == 3
    assert not before & set(played.group.clients)
    assert len({client.config for client in played.group.clients}) == 1


@pytest.mark.deep("a short measurement")
def test_a_pod_crashes_under_new_ids() -> None:
    played = Played("crash_loop", 600, is_healthy=False)
    changes = played.group.fleet.truth.changes
    crashed = {change.subject for change in changes if change.what == "left"}
    assert len(crashed) > 6
    assert len({client_id.partition("@")[0] for client_id in crashed}) == 1
    assert [one.kind for one in played.known_findings] == [Kind.REBALANCE_STORM]


@pytest.mark.deep("a short measurement")
def test_clients_of_one_address_stop_together() -> None:
    played = Played("shut_down_together", 900)
    left = [c for c in played.group.fleet.truth.changes if c.what == "left"]
    assert len({change.subject.partition("@")[0] for change in left}) == 1
    assert len(left) >= 4
    assert len(played.group.clients) == 3


def test_filters_are_written_in_another_way_by_each_client_and_are_alike() -> None:
    played = Played("filters_in_another_order", 60)
    said = {report.subscriptions for report in played.of(AssignmentReport)}
    assert len({one.expression for those in said for one in those if one.topic == TOPIC}) > 1
    assert played.group.fleet.truth.subscription_mismatches == []
    assert alerts_fired(played.detector) == []


def test_a_dead_connection_beside_a_change_pages_nobody() -> None:
    played = Played("half_open_after_a_change", 600, seed="half-open/0")
    twice = [
        marker
        for marker in played.of(Round)
        for broker in marker.brokers
        if len(set(broker.client_ids)) < len(broker.client_ids)
    ]
    assert twice
    assert alerts_fired(played.detector) == []


@pytest.mark.deep("a short measurement")
def test_who_comes_back_after_a_deploy_runs_as_all_do_by_then() -> None:
    played = Played("half_open_after_a_change", 200, seed="half-open/1")
    group = played.group
    known = set(group.clients)
    group.config = replace(group.config, topics=((TOPIC, "TagA"),))
    group.fleet.run(3_000)
    came = [client for client in group.clients if client not in known]
    assert came
    assert {client.config.topics for client in came} == {group.config.topics}


def test_a_slow_deploy_replaces_a_pod_that_was_started_again_meanwhile() -> None:
    played = Played("", 10)
    group, client = played.group, played.group.clients[0]
    context = PerturbationContext(group.fleet.clock, played.detector, Random("pod"), group, True, [])
    group.fleet.leave(client)
    group.start(client.client_id)
    starts_and_stops._replace(context, client.client_id, True)
    group.fleet.run(30)
    happened = [c.what for c in group.fleet.truth.changes if c.subject == client.client_id]
    assert happened[-4:] == ["left", "joined", "left", "joined"]


OF_OFFSETS = (operations.broker_crash, operations.reset_offsets)


@pytest.mark.slow("a short measurement")
def test_the_share_of_a_dead_connection_is_not_paged_whatever_else_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """All clients were restarted shortly before. The seed was found before offsets were put back in healthy runs."""
    before = [(one, weight) for one, weight in operations.OPERATIONS if one not in OF_OFFSETS]
    monkeypatch.setattr(operations, "OPERATIONS", tuple(before))
    monkeypatch.setattr(operations, "draw", lambda *_, **__: [PERTURBATION_NAMED["half_open_after_a_change"]])
    assert play_healthy("forced/9", DEFAULT, is_perturbed=True).pages == []


# --- drawing


@pytest.mark.deep("a short measurement")
def test_each_is_drawn_and_the_same_seed_draws_the_same() -> None:
    for is_healthy in (True, False):
        drawn = [draw(str(n), SHAPE, is_healthy) for n in range(400)]
        assert drawn == [draw(str(n), SHAPE, is_healthy) for n in range(400)]
        names = {one.name for run in drawn for one in run}
        fitting = {one.name for one in PERTURBATIONS if (one.when_healthy if is_healthy else one.in_incidents)}
        assert names == fitting
        assert all(len(run) == 1 for run in drawn if any(one.comes_alone for one in run))
        against = [[one for one in run if one.weight] for run in drawn if not run[0].comes_alone]
        assert all(1 <= len({one.family for one in run}) == len(run) <= 3 for run in against)


def test_what_does_not_fit_is_not_drawn() -> None:
    shape = Shape(3, 1, 2, "CONFIG", False, 5, 3)
    names = {one.name for n in range(300) for one in draw(str(n), shape, True)}
    assert not names & {"list_lacks_someone", "slow_deploy", "shut_down_together"}
    assert fit(Shape(80, 1, 2, "AVG", False, 5, 3), [PERTURBATION_NAMED["slow_deploy"]]).clients == 12


def test_half_of_a_group_runs_another_sdk_the_same_after_a_restart() -> None:
    played = Played("foreign_sdk", 0, seed="half")
    group = played.group
    assert group.sdk_of is not None
    ids = [f"10.0.0.{n}@1" for n in range(200)]
    share = sum(group.sdk_of(client_id) is clients.GO for client_id in ids)
    assert share == 200 or 70 < share < 130
    assert [group.sdk_of(client_id) for client_id in ids] == [group.sdk_of(client_id) for client_id in ids]


# --- faults that come with them alone


OF_QUEUES_ALONE = [fault for fault in MORE_FAULTS if not (fault.group_findings or fault.consumes_nothing)]


@pytest.mark.parametrize("fault", OF_QUEUES_ALONE, ids=lambda fault: fault.name)
def test_a_fault_leaves_queues_unconsumed_and_is_mended(fault: object) -> None:
    group = RemotingGroup(SHAPE, "odd")
    group.warm_up()
    began_ts = group.fleet.now
    undo = ANY_FAULT_NAMED[fault.name].inject(group)  # type: ignore[attr-defined]
    group.fleet.run(650)
    windows = [w for w in group.fleet.truth.windows if w.from_ts >= began_ts]
    assert any(w.lasted_until(group.fleet.now) - w.from_ts >= LASTING_MS for w in windows)
    undo()
    group.fleet.run(120)
    assert all(window.to_ts is not None for window in group.fleet.truth.windows)


@pytest.mark.deep("a short measurement")
@pytest.mark.parametrize("fault", [f for f in MORE_FAULTS if f.consumes_nothing], ids=lambda fault: fault.name)
def test_a_group_that_consumes_nothing_is_told_within_ten_minutes_and_a_reading(fault: Fault) -> None:
    group = RemotingGroup(SHAPE, f"nothing/{fault.name}/a")
    detector = Detector(group.fleet, DEFAULT)
    group.warm_up()
    began_ts = group.fleet.now
    undo = fault.inject(group)
    group.fleet.run(700)
    active = [ActiveFault(fault, began_ts, group.fleet.now)]
    pages = read_pages(detector, group.fleet, active, Deadlines(group, detector, active, DEFAULT.timing))
    (unread,) = [one for one in LastingFaults(group, active, []).expected(pages) if one.faults == (fault.name,)][-1:]
    assert unread.found is not None
    assert unread.found.fired_ts <= unread.due_ts
    assert all(page.is_true for page in pages)
    undo()
    group.fleet.run(400)
    open_alerts = {
        fact.payload.fingerprint: fact.payload.state for fact in detector.facts if _is_alert_of_waiting(fact)
    }
    assert "firing" not in open_alerts.values()


def _is_alert_of_waiting(fact: Fact) -> bool:
    return isinstance(fact.payload, AlertFact) and fact.payload.kind in (*OF_WAITING, Kind.NO_MEMBERS)


@pytest.mark.deep("a short measurement")
def test_maintenance_pages_nobody() -> None:
    played = Played("maintenance", 2_300, "c")
    assert alerts_fired(played.detector) == []
    told = {fact.payload.finding for fact in played.detector.facts if isinstance(fact.payload, QueueFact)}
    assert "CONSUME_DISABLED" in told
    still = [w for w in played.group.fleet.truth.windows if w.kind is Kind.STALLED]
    assert all(w.lasted_until(played.group.fleet.now) - w.from_ts < 30_000 for w in still)  # it is so on purpose


@pytest.mark.slow("a short measurement")
def test_a_broadcasting_client_in_a_clustering_group_is_told() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incidents, "draw", lambda *_, **__: [])
        run = play_incident("model/3", ANY_FAULT_NAMED["broadcasting_client"], DEFAULT, is_perturbed=True)
    assert [page for page in run.pages if not page.is_true] == []
    assert {page.cause for page in run.pages} == {"MESSAGE_MODEL_MISMATCH"}
    assert [one for one in run.expected if one.found is None] == []


# --- the judge of what lasts


def lasts(name: str, *perturbations: str) -> Run:
    """A fault of ten minutes and more, with these perturbations."""
    with pytest.MonkeyPatch.context() as patch:
        drawn = [PERTURBATION_NAMED[perturbation] for perturbation in perturbations]
        patch.setattr(incidents, "draw", lambda *_, **__: drawn)
        patch.setattr(incidents, "shape_for", lambda *_: SHAPE)
        for share in ("IS_SHORT", "IS_DOUBLE", "HAS_CHURN"):
            patch.setattr(incidents, share, 0.0)
        return play_incident("lasts", FAULT_NAMED[name], DEFAULT, is_perturbed=True)


@pytest.mark.slow("a short measurement")
def test_the_same_seed_is_the_same_perturbed_incident() -> None:
    assert play_incident("q", FAULT_NAMED["clings"], DEFAULT, is_perturbed=True) == play_incident(
        "q", FAULT_NAMED["clings"], DEFAULT, is_perturbed=True
    )


@pytest.mark.slow("a short measurement")
def test_what_lasts_is_told() -> None:
    run = lasts("not_taken_over", "second_collector")
    assert [one.kind for one in run.lasting] == [Kind.ORPHANED]
    assert all(one.found is not None for one in run.lasting)
    assert run.perturbations == ("second_collector",)


@pytest.mark.slow("a short measurement")
def test_what_lasts_and_is_never_told_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "PROVEN_BY_REPORTS", ())
    monkeypatch.setattr(findings, "PROVEN_BY_OFFSETS", ())
    run = lasts("not_taken_over", "second_collector")
    figures = Report(perturbed=Report([run])).as_json()["perturbed"]
    assert figures["all"]["lasting_without_page"] == figures["all"]["lasting"] == 1
    assert figures["perturbations"]["second_collector"]["lasting_without_page"] == 1
    assert [one["perturbations"] for one in figures["lasting_without_page"]] == [("second_collector",)]
    assert Report(perturbed=Report([run])).is_bad


def page(kind: Kind, fired_ts: int) -> Page:
    return Page(kind, TOPIC, None, "critical", fired_ts, frozenset(), False)


def judge_of(*windows: Window) -> LastingFaults:
    group = RemotingGroup(SHAPE, "judge")
    group.fleet.run(3_000)
    group.fleet.truth.windows = list(windows)
    return LastingFaults(group, (), ())


def test_only_ten_minutes_of_truth_bear_out_a_page_of_a_healthy_group() -> None:
    queue, other = MessageQueue(TOPIC, "broker-0", 0), MessageQueue(TOPIC, "broker-0", 1)
    t0 = RemotingGroup(SHAPE, "j").began_ts
    long = Window(Kind.ORPHANED, queue, t0, t0 + LASTING_MS)
    assert judge_of(long).confirms(page(Kind.ORPHANED, t0 + 300_000))
    assert not judge_of(long).confirms(page(Kind.DUPLICATED, t0 + 300_000))
    assert not judge_of(long).confirms(page(Kind.ORPHANED, t0 + LASTING_MS + 61_000))
    short = Window(Kind.ORPHANED, queue, t0, t0 + LASTING_MS - 1)
    assert not judge_of(short).confirms(page(Kind.ORPHANED, t0 + 300_000))
    first = Window(Kind.ORPHANED, queue, t0, t0 + 300_000)
    then = Window(Kind.ORPHANED, other, t0 + 310_000, t0 + 700_000)  # a deploy that moves the shares on
    assert judge_of(first, then).confirms(page(Kind.ORPHANED, t0 + 500_000))


def test_two_owners_that_do_not_say_so_are_not_wanted() -> None:
    group = RemotingGroup(SHAPE, "mute")
    group.warm_up()
    group.sdk_of = lambda client_id: clients.MUTE
    group.start("0.0.0.0@a")
    group.fleet.run(60)
    queue, t0 = MessageQueue(TOPIC, "broker-0", 0), group.fleet.now - LASTING_MS
    group.fleet.truth.windows = [Window(Kind.DUPLICATED, queue, t0)]
    assert not LastingFaults(group, (), ()).expected([])
    group.sdk_of = None
    assert [one.kind for one in LastingFaults(group, (), ()).expected([])] == [Kind.DUPLICATED]


@pytest.mark.slow("a short measurement")
def test_a_page_of_a_perturbed_healthy_group_is_false_unless_it_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting_faults.LastingFaults, "confirms", lambda *_: False)
    monkeypatch.setattr(operations, "healthy_shape", lambda _: SHAPE)
    run = play_healthy("x", DEFAULT_SETTINGS, is_perturbed=True)
    assert run.perturbations
    assert all(not told.is_true for told in run.pages)
    assert Report(perturbed=Report(healthy=[run])).as_json()["perturbed"]["all"]["healthy_pages"] == len(run.pages)


def perturbed(seed: str, fault: str) -> Run:
    """As the proof plays it, whichever faults there are beside it."""
    return play_incident(seed, ANY_FAULT_NAMED[fault], DEFAULT, is_perturbed=True)


@pytest.mark.slow("a short measurement")
def test_deploys_long_after_others_page_nobody() -> None:
    """Restarts at odd hours had kept what was known of an earlier deploy, so that this one was taken for none."""
    assert play_healthy("1/perturbed/healthy/4", DEFAULT_SETTINGS, is_perturbed=True).pages == []


@pytest.mark.slow("a short measurement")
def test_queues_that_were_nobodys_are_no_slow_consumer_once_they_are_taken_over() -> None:
    run = perturbed("1/perturbed/123", "machine_lost")
    assert [page.kind for page in run.pages if page.kind == Kind.SLOW_CONSUMER] == []


@pytest.mark.deep("a short measurement")
def test_a_listener_that_hangs_is_told_though_the_clock_is_set_back() -> None:
    run = perturbed("99/perturbed/77", "stuck_code")
    assert [(one.kind, one.found is not None, one.is_late) for one in run.lasting] == [
        (Kind.SLOW_CONSUMER, True, False)
    ]
    assert [page.is_true for page in run.pages] == [True]


@pytest.mark.slow("a short measurement")
def test_who_owns_what_is_known_again_soon_after_the_clock_was_set_back() -> None:
    """Clients confirm what they said before, so queues without an owner are not taken for those of a slow listener."""
    run = perturbed("99/perturbed/14", "lock_stuck")
    assert [page.kind for page in run.pages if not page.is_true] == []
    assert (Kind.ORPHANED, "LOCK_STUCK") in {(page.kind, page.cause) for page in run.pages}


def test_a_fault_waits_until_the_clients_that_the_one_before_stopped_are_back() -> None:
    group = RemotingGroup(SHAPE, "back")
    group.warm_up()
    for client in list(group.clients):
        group.fleet.leave(client)
        group.restart(client, 50_000)
    active = incidents._inject(group, FAULT_NAMED["stopped"], Random(1), False)
    assert active.from_ts >= group.warm_ts + 50_000


# --- queues that nobody can read


@pytest.mark.deep_rows("a short measurement")
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("no_read_permission_anywhere", "NO_READ_PERM"),
        ("fewer_to_read_and_a_broker_lost", "READ_LT_WRITE"),
        ("shrunk_with_messages", "LEFT_ROUTE"),
    ],
)
def test_what_nobody_can_read_is_one_page(name: str, cause: str) -> None:
    """While it lasts, and though a broker is lost. It is no PHANTOM, and is not over for that."""
    group = RemotingGroup(SHAPE, "unreadable")
    detector = Detector(group.fleet, DEFAULT, lambda _: None)
    group.warm_up()
    ANY_FAULT_NAMED[name].inject(group)
    group.fleet.run(600)
    alerts = [fact.payload for fact in detector.facts if isinstance(fact.payload, AlertFact) and fact.payload.fired_ts]
    assert {(alert.kind, alert.cause, alert.fired_ts) for alert in alerts} == {
        ("UNREADABLE_QUEUES", cause, alerts[0].fired_ts)
    }
    assert {alert.state for alert in alerts} == {"firing"}
    unreadable = alerts[0].observed.unreadable
    assert unreadable is not None
    assert all(one.waiting and one.read_ts and not one.at_least for one in unreadable.causes)
