"""Members that proxies list: who is a member, when a proxy's list counts, and groups that are split in two."""

import pytest

from schemas.facts import MembershipFact, RebalanceFact
from schemas.identity import proxy_name
from tests.core.fleet import Fleet, said

A, B = proxy_name("10.0.0.5:8080"), proxy_name("10.0.0.6:8080")
GRPC = ("host-1@11@0@hoi3xrg9u3", "host-2@12@0@hoi3xrg9u4")


def at_proxies(**lists: tuple[str, ...]) -> Fleet:
    fleet = Fleet()
    fleet.proxies = {A: GRPC, B: GRPC} | lists
    return fleet


def members_of(fleet: Fleet) -> int:
    return fleet.status().members


def test_a_member_that_several_proxies_list_is_one_member() -> None:
    fleet = at_proxies()
    fleet.run(60)
    assert (fleet.status().status, members_of(fleet)) == ("excluded", 2)
    assert not fleet.firing()


def test_a_client_that_a_proxy_lists_twice_is_one_member() -> None:
    """It has reconnected: its old channel stays in the list for up to 130 s."""
    fleet = at_proxies()
    fleet.proxies[A] = (GRPC[0], *GRPC)
    fleet.run(400)
    assert (fleet.status().status, members_of(fleet)) == ("excluded", 2)
    assert not fleet.firing()


def test_a_group_whose_members_are_at_proxies_alone_has_members() -> None:
    fleet = at_proxies()
    fleet.run(60)
    fleet.behind = 100
    fleet.run(600)
    assert ("", "NO_MEMBERS") not in fleet.firing()
    fleet.proxies = {A: (), B: ()}
    fleet.run(240)
    assert fleet.alert("NO_MEMBERS", None).state == "firing"


def test_the_list_of_a_silent_proxy_counts_until_another_one_answers() -> None:
    fleet = at_proxies()
    fleet.run(60)
    fleet.no_lists = {A, B}
    fleet.behind = 100
    fleet.run(600)
    assert members_of(fleet) == 2
    assert ("", "NO_MEMBERS") not in fleet.firing()  # it is not known
    fleet.no_lists = {A}
    fleet.proxies[B] = GRPC[:1]
    fleet.run(60)
    assert members_of(fleet) == 1


def test_a_group_that_has_moved_to_brokers_is_judged_when_all_proxies_have_been_gone_for_ten_minutes() -> None:
    fleet = at_proxies()
    fleet.run(60)
    fleet.join("x", "y")
    fleet.no_lists = {A, B}
    fleet.run(590)
    assert (fleet.status().status, members_of(fleet)) == ("unknown", 4)
    fleet.proxies = {}  # the collector has forgotten them
    fleet.run(60)
    assert (fleet.status().status, members_of(fleet)) == ("healthy", 2)
    assert not fleet.fired()


def test_of_remoting_clients_at_proxies_it_is_not_known_what_they_own() -> None:
    """They share out the queues that the proxy lists, and no client is asked through a proxy."""
    fleet = at_proxies()
    fleet.proxies = dict.fromkeys((A, B), ("10.1.1.1@1#22", "10.1.1.2@1#23"))
    fleet.popped = {"a", "b"}
    fleet.run(300)
    assert set(fleet.findings().values()) == {"UNKNOWN"}
    assert (fleet.finding("a0").reason, fleet.finding("a0").owners) == ("MEMBERS_AT_PROXIES", None)
    assert (fleet.status().status, fleet.status().reason) == ("unknown", "MEMBERS_AT_PROXIES")
    fleet.popped = set()
    fleet.run(700)
    assert fleet.firing() == {("T", "STALLED")}


def test_members_at_brokers_and_members_at_proxies_are_a_group_that_is_split() -> None:
    fleet = at_proxies()
    fleet.join("x", "y")
    fleet.run(120)
    assert not fleet.firing()
    fleet.run(120)
    alert = fleet.alert("MEMBERS_SPLIT", None)
    assert (alert.state, alert.severity) == ("firing", "critical")
    assert said(alert) == (
        "x, y are connected to brokers, and host-1@11@0@hoi3xrg9u3, host-2@12@0@hoi3xrg9u4 to proxies: neither side "
        "knows the other, and each consumes every queue"
    )
    fleet.proxies = {A: (), B: ()}
    fleet.run(60)
    assert not fleet.firing()


@pytest.mark.parametrize("listed", [("x", "y"), ()])
def test_proxies_inside_of_brokers_and_proxies_without_members_split_nothing(listed: tuple[str, ...]) -> None:
    fleet = at_proxies()
    fleet.proxies = {A: listed, B: listed}
    fleet.join("x", "y")
    fleet.run(600)
    assert not fleet.firing()


def test_a_group_that_moves_from_brokers_to_proxies_is_not_paged() -> None:
    """A client is stopped at brokers, then started at a proxy, one after the other, 40 s apart."""
    fleet = at_proxies()
    fleet.proxies = {A: (), B: ()}
    names = [f"10.0.0.{number}@{number}" for number in range(1, 7)]
    fleet.join(*names)
    fleet.run(300)
    for number, name in enumerate(names):
        fleet.leave(name)
        moved = tuple(f"10.0.0.{n}@{n}@0@hoi3xrg9u3" for n in range(1, number + 2))
        fleet.proxies = {A: moved, B: moved}
        fleet.run(40)
        assert ("", "MEMBERS_SPLIT") not in fleet.firing()
    fleet.run(300)
    assert ("", "MEMBERS_SPLIT") not in fleet.firing()


def test_a_group_that_moves_to_brokers_is_not_paged_though_all_members_are_new() -> None:
    """Proxies list a client for two minutes more. Nobody who leaves was there before the first of the changes."""
    fleet = at_proxies()
    fleet.proxies = {A: (), B: ()}
    fleet.run(60)
    came = [f"10.0.0.{number}@{number}@0@hoi3xrg9u3" for number in range(8)]
    for step in range(14):
        fleet.proxies = dict.fromkeys((A, B), tuple(came[max(0, step - 5) :]))
        if 0 < step <= len(came):
            fleet.join(f"10.0.1.{step}@{step}")
        fleet.run(25)
    fleet.run(300)
    assert not fleet.called()
    assert (fleet.status().status, members_of(fleet)) == ("healthy", 8)


def test_a_split_is_paged_though_a_member_comes_and_goes() -> None:
    fleet = at_proxies()
    fleet.join("x", "y")
    for _ in range(12):
        fleet.join("z")
        fleet.run(25)
        fleet.leave("z")
        fleet.run(25)
    assert ("", "MEMBERS_SPLIT") in fleet.called()


def test_a_restart_of_one_of_two_proxies_changes_nothing() -> None:
    fleet = at_proxies()
    fleet.run(60)
    before = len(fleet.told(RebalanceFact)), len(fleet.told(MembershipFact))
    fleet.no_lists = {A}
    fleet.run(30)
    fleet.no_lists = set()
    fleet.proxies[A] = ()
    fleet.run(5)
    fleet.proxies[A] = GRPC
    fleet.run(60)
    assert (fleet.status().status, members_of(fleet)) == ("excluded", 2)
    assert len(fleet.told(RebalanceFact)) == before[0]
    assert len(fleet.told(MembershipFact)) > before[1]  # only in the list of that proxy
    assert not fleet.firing()
