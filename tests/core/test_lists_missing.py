"""A broker that gives no list of members now and then was not restarted: what it lists afterwards says so."""

import pytest

from schemas.facts import GroupFact
from tests.core.fleet import T0, Fleet, running

GAP = 25


def with_gaps(fleet: Fleet, period: float, seconds: float, offsets: bool = True) -> Fleet:
    """Every ``period`` seconds, broker b gives no list for 25 s; nor offsets, unless ``offsets``."""
    until = fleet.now + seconds
    while fleet.now < until:
        fleet.no_lists = {"b"}
        fleet.no_offsets = set() if offsets else {"b"}
        fleet.run(GAP)
        assert fleet.status().status in ("unknown", "findings"), "a list is missing"
        fleet.no_lists, fleet.no_offsets = set(), set()
        fleet.run(period - GAP)
    return fleet


def first_fired(fleet: Fleet, kind: str) -> float:
    return min((at for at, state, _ in fleet.alerts(kind) if state == "firing"), default=float("inf"))


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("offsets", [True, False], ids=["offsets are told", "nor offsets"])
@pytest.mark.parametrize("period", [40, 60, 85, 120, 175])
@pytest.mark.parametrize("fault", ["STALLED", "DUPLICATED", "ORPHANED"])
def test_faults_are_told_while_lists_are_missing_now_and_then(fault: str, period: float, offsets: bool) -> None:
    fleet = running()
    if fault == "STALLED":
        fleet.stick("b1")
    else:
        fleet.own("y", "a0 b0-3" if fault == "DUPLICATED" else "b0-2")
    with_gaps(fleet, period, 300, offsets)
    assert first_fired(fleet, fault) <= 60 + 130


@pytest.mark.parametrize("offsets", [True, False], ids=["offsets are told", "nor offsets"])
@pytest.mark.parametrize("period", [40, 85, 175])
def test_a_healthy_group_is_healthy_or_unknown_and_alerts_nothing(period: float, offsets: bool) -> None:
    fleet = with_gaps(running(), period, 600, offsets)
    told = {fact.payload.status for fact in fleet.told(GroupFact) if fact.ts > T0 + 60_000}
    assert told == {"healthy", "unknown"}
    assert fleet.alerts() == []


@pytest.mark.parametrize("gap", [30, 100, 170])
def test_a_stall_neither_goes_on_nor_begins_again_while_the_list_is_missing(gap: float) -> None:
    """40 s before and 20 s that the last list is believed for make 60; the time in which nothing is known does not."""
    fleet = running()
    fleet.stick("b1")
    fleet.run(30)
    fleet.no_lists = {"b"}
    fleet.run(gap)
    assert fleet.alerts("STALLED") == []
    fleet.no_lists = set()
    fleet.run(40)
    assert first_fired(fleet, "STALLED") >= 90 + gap
    (queue,) = fleet.alert("STALLED").queues
    assert queue.queue_id == 1
    assert fleet.alert("STALLED").since_ts >= T0 + 1000 * (60 + gap - 30)


def test_what_moves_while_the_list_is_missing_does_not_stand_still() -> None:
    fleet = running()
    fleet.stick("b1")
    fleet.run(40)
    fleet.no_lists = {"b"}
    fleet.run(30)
    fleet.stick("")
    fleet.run(10)
    fleet.stick("b1")
    fleet.no_lists = set()
    fleet.run(50)
    assert fleet.alerts("STALLED") == []


@pytest.mark.parametrize("gap", [25, 60, 150])
def test_messages_that_come_while_nothing_is_known_have_not_waited_all_that_time(gap: float) -> None:
    fleet = running(rate=0)
    fleet.no_lists = fleet.no_offsets = {"b"}
    fleet.run(gap)
    fleet.no_lists = fleet.no_offsets = set()
    fleet.rate = 2
    fleet.stick("b1")
    fleet.run(40)
    fleet.stick("")
    fleet.run(60)
    assert fleet.alerts() == []


@pytest.mark.parametrize("gap", [30, 60, 120])
def test_a_broker_that_nobody_reaches_for_a_time_gives_its_clients_time_to_come_back(gap: float) -> None:
    """Their pulls time out after 30 s, and begin again 3 s later (pullTimeDelayMillsWhenException)."""
    fleet = running()
    fleet.no_lists = fleet.no_offsets = {"b"}
    fleet.stick("b0-3")
    fleet.run(gap)
    fleet.no_lists = fleet.no_offsets = set()
    fleet.run(30)
    fleet.stick("")
    fleet.run(120)
    assert fleet.alerts() == []


@pytest.mark.parametrize("late", [0, 5, 20])
@pytest.mark.parametrize("gap", [30, 60, 90, 120, 150])
def test_messages_that_waited_before_such_a_time_do_not_count_it_as_a_stall(gap: float, late: float) -> None:
    """Offsets come ``late`` s after the list: a broker reads its disk for them."""
    fleet = Fleet(progress_every=5)
    fleet.behind = 50
    fleet.join("x", "y")
    fleet.run(60)
    fleet.no_lists = fleet.no_offsets = {"b"}
    fleet.stick("b0-3")
    fleet.run(gap)
    fleet.no_lists = set()
    fleet.run(late)
    fleet.no_offsets = set()
    fleet.run(30 - late)
    fleet.stick("")
    fleet.run(120)
    assert fleet.alerts() == []


# --- who was restarted


def test_one_that_lists_others_as_those_that_answered_all_along_do_was_not_restarted() -> None:
    fleet = running()
    fleet.join("z")
    fleet.run(60)
    fleet.no_lists = {"b"}
    fleet.run(10)
    fleet.leave("z")
    fleet.run(20)
    fleet.join("w")
    fleet.run(20)
    fleet.no_lists = set()
    fleet.run(30)
    assert fleet.state.brokers[1].returned_ts == 0
    assert set(fleet.findings().values()) == {"MATCH"}


@pytest.mark.parametrize("heard", [(), ("x",)], ids=["nobody", "one of two"])
def test_one_that_lists_fewer_than_before_was_restarted(heard: tuple[str, ...]) -> None:
    fleet = running()
    fleet.down = {"b"}
    fleet.run(60)
    fleet.down = set()
    for one in fleet.instances:
        one.brokers = ("a", "b") if one.client_id in heard else ("a",)
    fleet.run(15)
    for one in fleet.instances:
        one.brokers = None
    fleet.run(30)
    assert fleet.state.brokers[1].returned_ts == T0 + 125_000


def test_one_that_misses_a_member_that_the_others_list_is_not_excused_by_them() -> None:
    fleet = running()
    fleet.no_lists = {"b"}
    fleet.run(30)
    fleet.of("y")[0].brokers = ("a",)
    fleet.no_lists = set()
    fleet.run(5)
    assert fleet.state.brokers[1].returned_ts == T0 + 95_000


@pytest.mark.parametrize("hosts", [{"a": 4, "b": 4}, {"b": 4}], ids=["two brokers", "one"])
def test_one_that_name_servers_dropped_was_restarted_though_its_members_are_back(hosts: dict[str, int]) -> None:
    fleet = running(topics={"T": hosts})
    fleet.down = {"b"}
    fleet.run(10)
    fleet.route("T", **{name: n for name, n in hosts.items() if name != "b"})
    fleet.run(50)
    fleet.down = set()
    fleet.route("T", **hosts)
    fleet.run(5)
    assert [broker.returned_ts for broker in fleet.state.brokers if broker.name == "b"] == [T0 + 125_000]


def test_a_group_without_members_grows_no_younger_while_a_list_is_missing() -> None:
    fleet = running()
    fleet.leave("x", "y")
    left = fleet.now
    with_gaps(fleet, 60, 240)
    assert first_fired(fleet, "NO_MEMBERS") <= left + 200


def test_one_that_lacks_one_of_many_was_not_restarted() -> None:
    """One member left while the list was missing. A stall of another's queue is told as soon as ever."""
    fleet = running(clients=("x", "y", "z", "u", "v", "w"), topics={"T": {"a": 6}})
    fleet.no_lists = {"a"}
    fleet.run(20)
    fleet.leave("w")
    fleet.run(5)
    fleet.no_lists = set()
    fleet.stick("a0")
    stuck = fleet.now
    fleet.run(150)
    assert first_fired(fleet, "STALLED") <= stuck + 130


def test_a_restart_that_no_list_has_shown_is_given_its_time() -> None:
    """An orderly client owns nothing until the broker's locks of its former process have expired."""
    fleet = Fleet({"T": {"a": 4}}, report_every=5)
    (old,) = fleet.join("x", report={"orderly": True})
    fleet.run(120)
    fleet.no_lists = {"a"}
    fleet.run(5)
    fleet.drop(old)
    fleet.run(10)
    fleet.join("x", report={"orderly": True})
    fleet.own("x", "")
    fleet.run(10)
    fleet.no_lists = set()
    fleet.run(40)
    fleet.own("x", "a0-3")
    fleet.run(60)
    assert fleet.fired() == set()
