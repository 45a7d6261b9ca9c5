"""Groups of gRPC clients behind proxies: what proxies and brokers say of them, and what is found."""

from itertools import pairwise

import pytest

from bench.proof.detector import Detector
from bench.proof.operations import play_pop_healthy, proxy_restart
from bench.proof.pop_faults import POP_FAULT_NAMED
from bench.proof.pop_group import PopGroup, PopShape
from bench.proof.pop_incidents import play_pop_incident
from bench.proof.results import Run
from schemas.events import AnyEvent, Round
from schemas.facts import Cause, Kind
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.findings import polled
from streaming.simulation.proxy import Proxy
from tests.simulation.alerts_fired import alerts_fired

SMALL = PopShape(clients=3, brokers=2, queues=2, rate=2, kind="push", sdk="Java", is_balanced=False)


def group_of(**fields: object) -> PopGroup:
    shape = {name: getattr(SMALL, name) for name in PopShape.__dataclass_fields__} | fields
    return PopGroup(PopShape(**shape), "pop")


def running(**fields: object) -> PopGroup:
    group = group_of(**fields)
    group.warm_up()
    return group


def listed(group: PopGroup, proxy: Proxy) -> list[str]:
    return sorted(proxy.client_ids(group.fleet.now))


def waiting(group: PopGroup) -> list[int]:
    """Polls at each broker."""
    return [popping.waiting_polls() for popping in group.fleet.poppings.values()]


def lag(group: PopGroup) -> int:
    return sum(one.log.max_offset(group.fleet.now) - max(0, one.committed) for one in group.fleet.progresses())


def play(name: str, seed: str) -> Run:
    return play_pop_incident(seed, POP_FAULT_NAMED[name], DEFAULT_SETTINGS)


# --- proxies


def test_each_proxy_lists_the_clients_of_all() -> None:
    group = running()
    ids = sorted(client.client_id for client in group.clients)
    assert [listed(group, proxy) for proxy in group.proxies] == [ids, ids]


def test_the_clients_of_a_proxy_that_was_killed_stay_listed_at_the_other_for_two_minutes() -> None:
    group = running(sdk="Go")
    gone, other = group.proxies
    gone_ids = {client.client_id for client in group.clients if client.proxy is gone}
    group.fleet.stop_proxy(gone, is_clean=False)
    group.fleet.run(105)
    assert gone_ids <= set(listed(group, other))
    group.fleet.run(30)
    assert gone_ids.isdisjoint(listed(group, other))
    assert listed(group, other)


def test_a_proxy_that_knows_nobody_says_that_the_group_is_not_online() -> None:
    assert Proxy("10.1.0.1").body(0) is None


@pytest.mark.parametrize(("sdk", "least_s", "most_s"), [("Java", 0, 5), ("Go", 5, 300), ("Python", 300, 600)])
def test_clients_come_back_to_their_proxy_as_their_sdk_does(sdk: str, least_s: int, most_s: int) -> None:
    group = running(sdk=sdk)
    for proxy in group.proxies:
        group.fleet.stop_proxy(proxy, is_clean=True)
    group.fleet.run(20)
    for proxy in group.proxies:
        group.fleet.start_proxy(proxy)
    group.fleet.run(least_s)
    assert all(client.connection is None for client in group.clients)
    group.fleet.run(most_s - least_s)
    assert all(client.connection is not None for client in group.clients)


def test_a_client_that_reaches_all_proxies_is_served_by_another_at_once() -> None:
    group = running(sdk="Python", is_balanced=True)
    group.fleet.stop_proxy(group.proxies[0], is_clean=True)
    group.fleet.run(5)
    assert {client.proxy for client in group.clients} == {group.proxies[1]}


# --- polls and offsets


@pytest.mark.parametrize(("kind", "polls"), [("push", [3, 3]), ("fifo", [6, 6])])
def test_idle_push_consumers_poll_each_broker(kind: str, polls: list[int]) -> None:
    """In a FIFO group for each of its queues."""
    group = running(kind=kind)
    group.write(0)
    group.fleet.run(60)
    assert waiting(group) == polls


def test_simple_consumers_wait_at_one_broker_each() -> None:
    group = running(kind="simple")
    group.write(0)
    group.fleet.run(60)
    assert sum(waiting(group)) == 3


@pytest.mark.parametrize("kind", ["push", "simple", "fifo"])
def test_what_is_written_is_taken(kind: str) -> None:
    group = running(kind=kind)
    assert lag(group) <= 10 * len(group.clients)


def test_an_offset_moves_when_messages_are_taken_and_not_when_they_are_acknowledged() -> None:
    """In a FIFO group when they are acknowledged."""
    lags = {}
    for kind in ("push", "fifo"):
        group = running(kind=kind)
        group.set_work_ms(600_000)
        group.fleet.run(60)
        lags[kind] = lag(group)
    assert lags["push"] == 0
    assert lags["fifo"] >= 60 * 2 * 4 - 16


def test_a_client_that_is_full_takes_nothing_more() -> None:
    group = running(rate=20)
    group.set_work_ms(1 << 40)
    group.fleet.run(120)
    assert waiting(group) == [0, 0]
    assert lag(group) > 0


def test_what_a_killed_client_had_in_hand_comes_again_after_its_invisible_time() -> None:
    group = running(clients=1)
    group.set_work_ms(600_000)
    group.fleet.run(10)
    group.fleet.kill(group.clients[0])
    retries = [queue for popping in group.fleet.poppings.values() for queue in popping.queues[:1]]
    group.fleet.run(55)
    assert not any(queue.log.max_offset(group.fleet.now) for queue in retries)
    group.fleet.run(10)
    assert all(queue.log.max_offset(group.fleet.now) for queue in retries)


def test_simple_consumers_whose_invisible_time_is_too_short_get_messages_again() -> None:
    group = PopGroup(PopShape(2, 1, 2, 2, "simple", "Java", False), "short", invisible_ms=10_000)
    group.warm_up()
    group.set_work_ms(30_000)
    group.fleet.run(200)
    retry = group.fleet.poppings["broker-0"].queues[0]
    assert retry.log.max_offset(group.fleet.now) > 100


# --- end to end


def test_a_healthy_group_is_found_polled_and_calls_nobody() -> None:
    group = group_of()
    detector = Detector(group.fleet, DEFAULT_SETTINGS)
    group.warm_up()
    proxy_restart(group)
    group.fleet.run(300)
    kinds = {fact.payload.finding for fact in detector.facts if hasattr(fact.payload, "finding")}
    assert Kind.POLLED.value in kinds
    assert not alerts_fired(detector)


def test_a_broker_of_which_nothing_was_ever_taken_is_not_at_rest() -> None:
    """Its offsets are read as often as where messages are known to wait."""
    group = group_of()
    broker = group.fleet.brokers["broker-1"]
    broker.knows_group = broker.makes_groups = False
    events: list[AnyEvent] = []
    Detector(group.fleet, DEFAULT_SETTINGS, events.append)
    group.warm_up()
    group.fleet.run(300)
    rounds = [event for event in events if isinstance(event, Round)]
    times = [one.ts for marker in rounds for one in marker.offsets if (one.broker_name, one.topic) == ("broker-1", "T")]
    assert len(times) > 10
    assert max(later - ts for ts, later in pairwise(times)) <= 26_000


@pytest.mark.deep("a short measurement")
def test_a_broker_that_simple_consumers_have_not_come_to_yet_calls_nobody() -> None:
    """It makes the group when they do. Until then its messages wait."""
    group = group_of(kind="simple")
    detector = Detector(group.fleet, DEFAULT_SETTINGS)
    group.warm_up()
    later = group.fleet.brokers["broker-1"]
    later.knows_group = False
    for client in group.clients:
        client.cannot_reach.add(later.name)
    group.fleet.stop_polls_at(later.name)
    group.fleet.run(400)
    assert not later.knows_group
    for client in group.clients:
        client.cannot_reach.clear()
    group.fleet.begin_polls_at(later.name)
    group.fleet.run(120)
    assert later.knows_group
    assert not alerts_fired(detector)


def test_a_broker_that_is_not_reached_is_found() -> None:
    run = play("broker_not_reached", "s1")
    (expected,) = run.expected
    assert expected.found is not None
    assert expected.cause_is_right
    assert {page.kind for page in run.pages} == {Kind.UNPOLLED}
    assert all(page.is_true for page in run.pages)


@pytest.mark.parametrize("name", ["refused_by_a_broker", "unknown_to_a_broker"])
def test_a_broker_that_refuses_the_group_is_found_with_the_cause_as_soon_as_nobody_has_polled_for_long(
    name: str,
) -> None:
    (expected,) = play(name, "s1").expected
    assert expected.found is not None
    assert (expected.found.kind, expected.cause) == (Kind.UNPOLLED, Cause.BROKER_REFUSES_GROUP.value)
    assert expected.found.fired_ts - expected.from_ts < 80_000


def test_without_the_rule_that_finds_it_it_is_found_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polled, "RULES", tuple(rule for rule in polled.RULES if rule is not polled.unpolled))
    (expected,) = play("broker_not_reached", "s1").expected
    assert expected.found is None


@pytest.mark.deep_rows("a short measurement")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("head_blocked", Kind.HEAD_BLOCKED),
        ("listeners_hang", Kind.HEAD_BLOCKED),
        ("not_acknowledged", Kind.CONSUMED_AGAIN),
    ],
)
def test_messages_that_are_not_acknowledged_are_found(name: str, kind: Kind) -> None:
    run = play(name, "x3")
    (expected,) = run.expected
    assert expected.found is not None
    assert expected.found.kind is kind
    assert [page.kind for page in run.pages if not page.is_true] == []


def test_clients_that_are_silent_since_their_proxies_restarted_are_found_with_the_cause() -> None:
    (expected,) = play("silent_since_a_restart", "s1").expected
    assert expected.found is not None
    assert (expected.found.kind, expected.cause) == (Kind.UNPOLLED, Cause.PROXY_AWAY.value)


@pytest.mark.deep("a short measurement")
@pytest.mark.parametrize("seed", ["s1", "s2"])
def test_healthy_operation_calls_nobody(seed: str) -> None:
    run = play_pop_healthy(seed, DEFAULT_SETTINGS)
    assert run.rebalances > 0
    assert not run.pages


@pytest.mark.deep("a short measurement")
def test_the_same_seed_is_the_same_run() -> None:
    assert play_pop_healthy("s3", DEFAULT_SETTINGS) == play_pop_healthy("s3", DEFAULT_SETTINGS)
