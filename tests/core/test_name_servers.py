"""Name servers that do not hold the same: their routes are not proof of what clients should own."""

import pytest

from schemas.facts import AlertFact, GroupFact
from streaming.core.intake.topic_routes import KEEP_ROUTE_COPY_MS
from streaming.core.state.packing import pack, unpack
from tests.core.fleet import Fleet, running, said
from tests.said import why

MORE, LESS = {"a": 4, "b": 4}, {"a": 2, "b": 2}
PARTIAL = {"a": 4}


def lags(fleet: Fleet, *others: dict[str, int], **ours: int) -> Fleet:
    """From now on the first name server has ``ours`` and the others have these."""
    routes = fleet.routes["T"]
    fleet.other_copies["T"] = list(others)
    fleet.routes["T"] = {name: (n, n, 6) for name, n in ours.items()}
    fleet.say_route()
    fleet.routes["T"] = routes if not ours else fleet.routes["T"]
    return fleet


def shrunk(fleet: Fleet) -> Fleet:
    """The topic has two queues a broker, and every client knows it; the offsets of the others are still told."""
    fleet.own("x", "a0-1")
    fleet.own("y", "b0-1")
    return fleet


def reasons(fleet: Fleet) -> set[str | None]:
    return {why(fact.payload) for fact in fleet.told(GroupFact)}


@pytest.mark.parametrize("lag", [30, 60, 90, 120])
@pytest.mark.parametrize("ours", [True, False], ids=["ours lags", "another lags"])
def test_a_shrink_that_a_name_server_learns_late_calls_nobody(lag: int, ours: bool) -> None:
    fleet = running(300)
    fleet.rate = 0  # nobody may write to what nobody can read
    lags(fleet, LESS if ours else MORE, **(MORE if ours else LESS))
    shrunk(fleet).run(lag)
    assert "name servers differ on the route" in reasons(fleet) or lag <= 30
    fleet.other_copies.clear()
    fleet.route("T", **LESS)
    fleet.run(400)
    assert fleet.fired() == set()
    assert set(fleet.findings().values()) == {"MATCH"}
    assert fleet.status().status == "healthy"


@pytest.mark.parametrize("lag", [30, 60, 90, 120])
def test_an_expansion_that_a_name_server_learns_late_calls_nobody(lag: int) -> None:
    """Though messages wait in the new queues until the clients that go by the old copy learn of them."""
    fleet = running(300)
    for one in fleet.instances:
        one.knows_route = False
    lags(fleet, MORE, a=6, b=6)
    fleet.run(lag)
    fleet.other_copies.clear()
    fleet.say_route()
    fleet.run(50)
    for one in fleet.instances:
        one.knows_route = True
    fleet.balance()
    fleet.run(300)
    assert fleet.fired() == set()
    assert fleet.status().status == "healthy"


def test_queues_that_some_copy_lacks_are_unknown_and_the_group_is_not_healthy() -> None:
    fleet = running(300)
    fleet.rate = 0
    lags(fleet, LESS, **MORE)
    shrunk(fleet).run(400)
    found = fleet.findings()
    assert {queue for queue, kind in found.items() if kind == "UNKNOWN"} == {"a2", "a3", "b2", "b3"}
    assert {queue for queue, kind in found.items() if kind == "MATCH"} == {"a0", "a1", "b0", "b1"}
    assert fleet.status().status == "unknown"
    assert why(fleet.status()) == "name servers differ on the route"
    assert fleet.fired() == set()


def test_messages_that_wait_while_name_servers_go_on_to_differ_are_told_with_who_has_what() -> None:
    fleet = running(300)
    lags(fleet, LESS, **MORE)
    shrunk(fleet).run(600)
    assert fleet.firing() == {("T", "STALLED")}
    alert = fleet.told(AlertFact)[-1].payload
    assert alert.cause == "ROUTE_LAG"
    assert "n1 has 4 queues on a, 4 queues on b" in said(alert)
    assert "n2 has 2 queues on a, 2 queues on b" in said(alert)


def test_a_queue_that_two_own_is_told_though_name_servers_differ() -> None:
    fleet = running(300)
    lags(fleet, LESS, **MORE)
    fleet.own("x", "a0-3 b3")
    fleet.run(400)
    assert ("T", "DUPLICATED") in fleet.firing()


def test_a_queue_of_every_copy_that_nobody_owns_is_told() -> None:
    fleet = running(300)
    fleet.rate = 0
    lags(fleet, LESS, **MORE)
    fleet.own("x", "a0")
    fleet.own("y", "b0-1")
    fleet.run(400)
    assert ("T", "ORPHANED") in fleet.firing()


def test_a_copy_that_lacks_a_broker_says_nothing_of_its_queues() -> None:
    fleet = running(300)
    lags(fleet, PARTIAL, **MORE)
    fleet.run(400)
    assert fleet.fired() == set()
    assert {queue[0] for queue, kind in fleet.findings().items() if kind == "UNKNOWN"} == {"b"}
    fleet.other_copies.clear()
    fleet.run(400)
    assert fleet.fired() == set()
    assert fleet.status().status == "healthy"


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("other", [LESS, PARTIAL], ids=["fewer queues", "a broker less"])
@pytest.mark.parametrize("every", [10, 30, 50])
def test_copies_that_take_turns_call_nobody_and_hide_no_fault_for_ever(other: dict[str, int], every: int) -> None:
    fleet = running(300)
    known = dict(fleet.routes)
    for turn in range(700 // every):
        fleet.routes["T"] = {name: (n, n, 6) for name, n in (other if turn % 2 else MORE).items()}
        fleet.say_route()
        fleet.routes = {"T": dict.fromkeys("ab", (4, 4, 6))}
        fleet.says_routes = False
        fleet.run(every)
        if turn * every == 350 // every * every:
            assert fleet.fired() == set()
            fleet.own("y", "b0 a0")
    assert {("T", "DUPLICATED"), ("T", "STALLED")} <= fleet.fired()
    fleet.routes, fleet.says_routes = known, True


def test_copies_that_took_turns_are_forgotten_once_one_is_given_for_long() -> None:
    fleet = running(300)
    for copy in (LESS, MORE, LESS, MORE):
        lags(fleet, **copy)
        fleet.run(10)
    assert fleet.state.topics[0].copies is not None
    fleet.run(KEEP_ROUTE_COPY_MS / 1000 + 300)
    assert fleet.state.topics[0].copies is None
    assert fleet.status().status == "healthy"


def test_a_broker_that_restarts_again_and_again_is_no_disagreement() -> None:
    fleet = running(300)
    for _ in range(3):
        fleet.down = {"b"}
        lags(fleet, **PARTIAL)
        fleet.run(60)
        fleet.down = set()
        lags(fleet, **MORE)
        fleet.run(60)
    assert "name servers differ on the route" not in reasons(fleet)


def test_copies_outlive_a_checkpoint() -> None:
    fleet = running(300)
    lags(fleet, LESS, **MORE)
    fleet.restart()
    copies = unpack(pack(fleet.state)).topics[0].copies
    assert copies is not None
    assert [copy.name_servers for copy in copies.given] == [["n1"], ["n2"]]


# --- a producer that asks one of several


def asks_one() -> Fleet:
    fleet = Fleet()
    fleet.asks_all_name_servers = False
    fleet.join("x", "y")
    return fleet.run(300)


@pytest.mark.parametrize("lag", [60, 120, 150])
def test_members_that_all_share_out_a_smaller_route_may_know_a_newer_one(lag: int) -> None:
    fleet = asks_one()
    fleet.rate = 0
    shrunk(fleet).run(lag)
    assert "SETTLING" in fleet.findings().values()
    fleet.route("T", **LESS)
    fleet.run(300)
    assert fleet.fired() == set()


@pytest.mark.parametrize("lag", [60, 120, 150])
def test_members_that_all_share_out_a_larger_route_may_know_a_newer_one(lag: int) -> None:
    fleet = asks_one()
    fleet.own("x", "a0-5")
    fleet.own("y", "b0-5")
    fleet.run(lag)
    fleet.route("T", a=6, b=6)
    fleet.run(300)
    assert fleet.fired() == set()


def test_if_the_route_stays_as_it_is_nobody_owns_those_queues() -> None:
    fleet = asks_one()
    shrunk(fleet).run(400)
    assert ("T", "ORPHANED") in fleet.firing()


def test_members_that_cling_to_the_route_before_are_told_as_ever() -> None:
    fleet = asks_one()
    for one in fleet.instances:
        one.knows_route = False
    fleet.route("T", a=6, b=6)
    fleet.run(120)
    assert ("T", "ORPHANED") in fleet.firing()
    assert fleet.told(AlertFact)[-1].payload.cause == "ROUTE_LAG"
