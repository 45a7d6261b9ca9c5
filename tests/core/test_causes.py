"""Why: each cause with what shows it, and which one is named where several could be."""

from collections.abc import Callable
from typing import Any

import pytest

from schemas.events import Subscription
from schemas.facts import AlertFact, Kind
from schemas.observed import clients
from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.causes.explanation import Found
from streaming.core.causes.members_differ import view_divergence
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.observation import observe
from streaming.core.settings import GroupRule, Settings
from streaming.core.state.group import Group
from tests.core.fleet import Fleet, queues, running, said
from tests.said import why

ROOMS = {"T": {"r1@a": 2, "r2@b": 2}}


def firing(fleet: Fleet) -> dict[tuple[str, str], tuple[str | None, list[tuple[str, int]]]]:
    """(topic, kind) -> cause and queues of the alerts that fire."""
    found = {}
    for topic, kind in fleet.firing():
        alert = fleet.alert(kind, topic or None)
        found[topic, kind] = alert.cause, [(queue.broker_name, queue.queue_id) for queue in alert.queues]
    return found


def test_subscription_mismatch_explains_the_queues_of_members_that_do_not_subscribe() -> None:
    fleet = Fleet({"T": {"a": 2, "b": 2}, "U": {"a": 2, "b": 2}}, rate=0)
    fleet.join("x", topics={"T": "*"})
    fleet.join("y", topics={"U": "*"})
    fleet.run(90)
    assert firing(fleet) == {
        ("T", "ORPHANED"): ("SUBSCRIPTION_MISMATCH", [("b", 0), ("b", 1)]),
        ("U", "ORPHANED"): ("SUBSCRIPTION_MISMATCH", [("a", 0), ("a", 1)]),
        ("", "INCONSISTENT_SUBSCRIPTION"): ("SUBSCRIPTION_MISMATCH", []),
    }
    assert said(fleet.alert("ORPHANED", "T")) == "y is a member but does not subscribe to T"


def test_several_are_spoken_of_as_several() -> None:
    fleet = Fleet({"T": {"a": 6, "b": 6}, "U": {"a": 6, "b": 6}}, rate=0)
    fleet.join("c0", topics={"T": "*"})
    fleet.join(*(f"c{n}" for n in range(1, 6)), topics={"U": "*"})
    fleet.run(90)
    evidence = said(fleet.alert("ORPHANED", "T"))
    assert evidence == "c1, c2, c3 and 2 more are members but do not subscribe to T"


def test_of_thirteen_members_the_odd_one_is_told_first() -> None:
    """Also where there are more of them than an alert names."""
    for others in (12, 30):
        fleet = Fleet({"T": {"a": 20, "b": 20}}, rate=0)
        fleet.join(*(f"c{n:02}" for n in range(others) if n != 8), topics={"T": "*"})
        fleet.join("c08", topics={"T": "paid"})
        fleet.run(90)
        alert = fleet.alert("INCONSISTENT_SUBSCRIPTION", None)
        assert alert.clients[0].client_id == "c08"
        assert alert.clients[1].client_id == "c00"
        assert said(alert) == f"c08: T (paid); c00, c01, c02 and {others - 4} more: T"


def test_strategy_mismatch_is_seen_in_the_reports() -> None:
    fleet = Fleet(rate=0)
    fleet.join("x")
    fleet.join("y", strategy=AveragelyByCircle())
    fleet.run(90)
    found = firing(fleet)
    assert {cause for cause, _ in found.values()} == {"STRATEGY_MISMATCH"}
    assert set(found) == {("T", "DUPLICATED"), ("T", "ORPHANED")}
    evidence = said(fleet.alert("ORPHANED"))
    assert evidence == "AllocateMessageQueueAveragely: x; AllocateMessageQueueAveragelyByCircle: y"


GO: dict[str, Any] = {"heartbeat": {"language": "GO"}, "report": {"strategy": None}}  # it names no strategy


def mixed(rate: int = 0) -> Fleet:
    """Java clients w and x, Go clients y and z."""
    fleet = Fleet(rate=rate)
    fleet.join("w", "x", heartbeat={"language": "JAVA"})
    fleet.join("y", "z", **GO)
    return fleet.run(60)


def test_who_names_no_strategy_does_not_differ() -> None:
    fleet = mixed()
    fleet.own("x", "")
    fleet.run(90)
    assert firing(fleet) == {("T", "ORPHANED"): ("UNEXPLAINED", [("a", 2), ("a", 3)])}
    assert fleet.finding("a0").finding == "MATCH"
    assert "do not name their strategy" in (why(fleet.finding("a0")) or "")


def w_is_in_one_list_only(fleet: Fleet) -> None:
    fleet.of("w")[0].brokers = ("a",)
    for client_id in ("w", "x"):
        fleet.of(client_id)[0].asks = "a"
    for client_id in ("y", "z"):
        fleet.of(client_id)[0].asks = "b"
    fleet.balance()


def x_is_there_twice(fleet: Fleet) -> None:
    fleet.join("x", heartbeat={"language": "JAVA"})


def z_does_not_subscribe(fleet: Fleet) -> None:
    fleet.of("z")[0].report = {"strategy": None, "subscriptions": (Subscription("U"),), "owned": ()}


def x_leaves_and_nobody_notices(fleet: Fleet) -> None:
    fleet.freeze()
    fleet.leave("x")


def y_joins_under_another_strategy(fleet: Fleet) -> None:
    fleet.join("v", strategy=AveragelyByCircle(), heartbeat={"language": "JAVA"})


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (w_is_in_one_list_only, "VIEW_DIVERGENCE"),
        (x_is_there_twice, "SAME_CLIENT_ID"),
        (z_does_not_subscribe, "SUBSCRIPTION_MISMATCH"),
        (x_leaves_and_nobody_notices, "MEMBER_GONE"),
        (y_joins_under_another_strategy, "STRATEGY_MISMATCH"),
    ],
)
def test_a_fault_in_a_group_of_two_sdks_has_its_own_cause(fault: Callable[[Fleet], None], cause: str) -> None:
    fleet = mixed()
    fault(fleet)
    fleet.run(200)
    assert {of for of, _ in firing(fleet).values()} == {cause}


def test_a_go_client_that_takes_no_part_is_not_one_that_sorts_differently() -> None:
    fleet = Fleet(rate=0)
    fleet.join("x", heartbeat={"language": "JAVA"})
    fleet.join("y", **GO)
    fleet.own("y", "")
    fleet.run(90)
    assert firing(fleet) == {("T", "ORPHANED"): ("UNEXPLAINED", [("b", 0), ("b", 1), ("b", 2), ("b", 3)])}


def of_two_sdks(java: str, go: str, **fields: Any) -> Fleet:
    """x and y are a Java and a Go client; each owns what is said, where x should own a and y should own b."""
    fleet = Fleet()
    fleet.join("x", heartbeat={"language": "JAVA"})
    fleet.join("y", **{"heartbeat": {"language": "GO"}} | fields)
    fleet.own("x", java)
    fleet.own("y", go)
    return fleet.run(90)


@pytest.mark.parametrize("fields", [{}, GO], ids=["configured alike", "as it reports"])
def test_an_sdk_whose_members_alone_own_other_queues_than_they_should_sorts_differently(fields: dict[str, Any]) -> None:
    alert = of_two_sdks("a0-3", "a0-3", **fields).alert("ORPHANED")
    assert alert.cause == "STRATEGY_MISMATCH"
    assert said(alert) == (
        "GO: y own other queues than the strategy assigns to them; members of other SDKs own the assigned ones"
    )
    assert [client.client_id for client in alert.clients] == ["y"]


@pytest.mark.parametrize(("java", "go"), [("a0-2", "b0-2"), ("a0-2 b0", "b1-3")])
def test_an_sdk_is_not_to_blame_where_others_own_other_queues_too(java: str, go: str) -> None:
    alerts = of_two_sdks(java, go).told(AlertFact)
    assert {said(fact.payload) for fact in alerts if "SDK" in said(fact.payload)} == set()


def test_view_divergence_brokers_list_different_members() -> None:
    fleet = Fleet(rate=0)
    fleet.join("x", asks="a")
    fleet.join("y", brokers=("b",), asks="b")
    fleet.run(90)
    assert firing(fleet) == {("T", "DUPLICATED"): ("VIEW_DIVERGENCE", [("b", 0), ("b", 1), ("b", 2), ("b", 3)])}
    assert said(fleet.alert("DUPLICATED")) == "a lists x; b lists x, y"
    assert fleet.finding("a0").expected is None


def test_room_without_consumer() -> None:
    settings = Settings(
        timing=DEFAULT_TIMING, groups=(GroupRule(strategy="MACHINE_ROOM", params={"consumeridcs": ["r1"]}),)
    )
    fleet = running(90, how={"strategy": ByMachineRoom(frozenset({"r1"}))}, topics=ROOMS, settings=settings, rate=0)
    assert firing(fleet) == {("T", "ORPHANED"): ("ROOM_WITHOUT_CONSUMER", [("r2@b", 0), ("r2@b", 1)])}


def test_room_without_consumer_is_seen_without_configuration_too() -> None:
    fleet = running(90, how={"strategy": ByMachineRoom(frozenset({"r1"}))}, topics=ROOMS, rate=0)
    assert firing(fleet) == {("T", "ORPHANED"): ("ROOM_WITHOUT_CONSUMER", [("r2@b", 0), ("r2@b", 1)])}
    assert fleet.finding("r1@a0").finding == "MATCH"


def test_a_queue_that_only_some_of_its_room_lack_is_no_room_without_consumer() -> None:
    fleet = running(how={"strategy": ByMachineRoom(frozenset({"r1", "r2"}))}, topics=ROOMS, rate=0)
    fleet.own("y", "r2@b0")
    fleet.run(60)
    assert firing(fleet) == {("T", "ORPHANED"): ("UNEXPLAINED", [("r2@b", 1)])}


def test_room_without_consumer_whatever_a_client_owned_that_was_not_heard_since() -> None:
    """All were started again for one room; one of them is asked through a dead connection, and does not answer."""
    fleet = running(how={"strategy": ByMachineRoom(frozenset({"r1", "r2"}))}, topics=ROOMS)
    for one in fleet.instances:
        one.strategy = ByMachineRoom(frozenset({"r1"}))
    (silent,) = fleet.of("y")
    silent.answers = False
    ghost = fleet.ghost("y")
    fleet.run(75)
    assert firing(fleet) == {}  # its second entry may get them
    fleet.drop(ghost)
    fleet.ghost("y")  # from another address
    fleet.run(100)
    assert firing(fleet)["T", "STALLED"] == ("ROOM_WITHOUT_CONSUMER", [("r2@b", 0), ("r2@b", 1)])


def test_config_misses_queue() -> None:
    fleet = running(90, clients=("x",), how={"strategy": ByConfig(tuple(queues("a0-3 b0-2")))}, rate=0)
    assert firing(fleet) == {("T", "ORPHANED"): ("CONFIG_MISSES_QUEUE", [("b", 3)])}
    assert said(fleet.alert("ORPHANED")) == "no member's configured list names these queues"


def test_config_misses_the_queues_of_a_client_that_has_left() -> None:
    """No other member may take them over: the evidence names the client that had them."""
    fleet = Fleet(rate=0)
    fleet.join("x", strategy=ByConfig(tuple(queues("a0-3 b0-2"))))
    (gone,) = fleet.join("y", strategy=ByConfig(tuple(queues("b3"))))
    fleet.run(90)
    assert firing(fleet) == {}
    fleet.drop(gone)
    fleet.run(90)
    assert firing(fleet) == {("T", "ORPHANED"): ("CONFIG_MISSES_QUEUE", [("b", 3)])}
    alert = fleet.alert("ORPHANED")
    assert said(alert) == "y has left, its queues are not taken over"
    assert [client.client_id for client in alert.clients] == ["y"]


def test_route_lag_a_client_does_not_take_up_new_queues() -> None:
    fleet = running(rate=0)
    for one in fleet.instances:
        one.knows_route = False
    fleet.route("T", a=4, b=6)
    fleet.run(120)
    found = firing(fleet)
    assert found[("T", "ORPHANED")] == ("ROUTE_LAG", [("b", 4), ("b", 5)])
    for one in fleet.instances:
        one.knows_route = True
    fleet.balance()
    fleet.run(40)
    assert fleet.firing() == set()


def test_route_lag_a_queue_of_the_old_route_that_changes_hands() -> None:
    """x goes by the new route (a0-3 b0), y by the old one (b0-3): b0 is consumed twice."""
    fleet = running(rate=0)
    fleet.of("y")[0].knows_route = False
    fleet.route("T", a=4, b=6)
    fleet.run(120)
    assert firing(fleet) == {
        ("T", "DUPLICATED"): ("ROUTE_LAG", [("b", 0)]),
        ("T", "ORPHANED"): ("ROUTE_LAG", [("b", 4), ("b", 5)]),
    }


@pytest.mark.parametrize("strategy", ["AllocateMessageQueueAveragely", "com.acme.Mine"])
def test_route_lag_explains_no_queue_whose_owner_stays_the_same_or_is_not_known(strategy: str) -> None:
    fleet = running(how={"report": {"strategy": strategy}}, rate=0)
    fleet.route("T", a=4, b=6)
    fleet.own("x", "a1-3 b0")
    fleet.run(120)
    assert firing(fleet) == {("T", "ORPHANED"): ("UNEXPLAINED", [("a", 0)])}


def test_route_lag_says_nothing_of_old_queues_where_the_strategy_threw_on_the_old_route() -> None:
    """Before, a broker took part of which the room is not known."""
    params = {"brokerRooms": {"a": "r1"}, "clientRooms": {"x": "r1", "y": "r1"}}
    rule = GroupRule(strategy="MACHINE_ROOM_NEARBY-AVG", params=params)
    fleet = running(settings=Settings(timing=DEFAULT_TIMING, groups=(rule,)), rate=0)
    fleet.route("T", a=4)
    fleet.own("x", "a1")
    fleet.own("y", "a2-3")
    fleet.run(260)
    assert firing(fleet) == {("T", "ORPHANED"): ("UNEXPLAINED", [("a", 0)])}


def test_a_route_that_changed_long_ago_explains_nothing() -> None:
    fleet = running(rate=0)
    fleet.route("T", a=4, b=6)
    fleet.run(620)
    fleet.own("y", "b1-4")
    fleet.run(60)
    assert firing(fleet)["T", "ORPHANED"] == ("UNEXPLAINED", [("b", 5)])


def test_lock_stuck_an_orderly_member_lacks_what_it_should_own() -> None:
    fleet = running(90, how={"report": {"orderly": True}}, rate=0)
    fleet.own("y", "b1-3")
    fleet.run(60)
    assert firing(fleet) == {("T", "ORPHANED"): ("LOCK_STUCK", [("b", 0)])}
    assert "y should own them" in said(fleet.alert("ORPHANED"))


def test_member_gone_its_queues_are_not_taken_over() -> None:
    fleet = running(rate=0)
    fleet.own("y", "b0-3")
    fleet.leave("x")
    fleet.run(90)
    assert firing(fleet) == {("T", "ORPHANED"): ("MEMBER_GONE", [("a", 0), ("a", 1), ("a", 2), ("a", 3)])}
    assert said(fleet.alert("ORPHANED")) == "x has left, its queues are not taken over"


def test_client_stalled_it_is_listed_and_does_not_answer() -> None:
    fleet = running()
    fleet.pause("x")
    fleet.run(100)
    assert firing(fleet) == {("T", "STALLED"): ("CLIENT_STALLED", [("a", 0), ("a", 1), ("a", 2), ("a", 3)])}
    assert "x is listed but has not answered for" in said(fleet.alert("STALLED"))


def test_client_stalled_it_answers_and_all_its_queues_stand_still() -> None:
    fleet = running()
    fleet.stick("a0-3")
    fleet.run(100)
    assert firing(fleet)["T", "STALLED"][0] == "CLIENT_STALLED"
    assert "every queue of x stands still" in said(fleet.alert("STALLED"))


def test_one_queue_of_several_is_not_the_client() -> None:
    fleet = running()
    fleet.stick("a0")
    fleet.run(100)
    assert firing(fleet) == {("T", "STALLED"): ("UNEXPLAINED", [("a", 0)])}
    assert said(fleet.alert("STALLED")).endswith(
        "2 of 2 members reported, nothing has changed since the first round; no known cause fits"
    )


def test_one_queue_of_several_is_not_the_client_when_a_member_has_just_joined_either() -> None:
    """Its other queues move, though no offsets have been read yet that must be of the time after the rebalance."""
    fleet = running()
    fleet.stick("a0")
    fleet.run(55)
    fleet.freeze()
    fleet.join("z")
    fleet.run(20)
    assert firing(fleet) == {("T", "STALLED"): ("UNEXPLAINED", [("a", 0)])}


def test_a_client_that_may_have_released_the_queue_is_not_to_blame() -> None:
    """It was not asked since a member joined, which may own the queue by now, and the queue stands still since then."""
    fleet = running()
    fleet.report_every = 0
    fleet.join("z")
    fleet.run(10)
    fleet.stick("a0-3")
    fleet.run(75)
    assert firing(fleet)["T", "STALLED"][0] == "UNEXPLAINED"


def test_a_client_is_to_blame_whose_queues_stood_still_before_a_member_joined() -> None:
    fleet = running()
    fleet.stick("a0-3")
    fleet.run(20)
    fleet.report_every = 0
    fleet.freeze()
    fleet.join("z")
    fleet.run(50)
    assert firing(fleet)["T", "STALLED"][0] == "CLIENT_STALLED"


def test_the_same_client_id_comes_before_what_it_brings_about() -> None:
    fleet = Fleet({"T": {"a": 4, "b": 4}, "U": {"a": 1}}, rate=0)
    fleet.join("x", topics={"T": "*", "U": "*"}, report={"orderly": True})
    fleet.join("x", topics={"T": "*", "U": "*"}, report={"orderly": True})
    fleet.join("y", topics={"T": "*"}, report={"orderly": True})
    fleet.run(160)
    assert firing(fleet)["T", "ORPHANED"][0] == "SAME_CLIENT_ID"


def test_a_cause_that_explains_some_of_the_queues_is_named_where_none_explains_all() -> None:
    fleet = running(clients=("x", "y", "z"), rate=0)
    fleet.own("x", "a0-1")
    fleet.own("y", "a3 b0-1")
    fleet.leave("z")
    fleet.run(90)
    assert firing(fleet)["T", "ORPHANED"] == ("MEMBER_GONE", [("a", 2), ("b", 2), ("b", 3)])


def test_a_client_that_gets_nothing_from_one_broker_is_named_with_it() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.own("x", "a0-1 b0-1")
    fleet.own("y", "a2-3 b2-3")
    fleet.run(60)
    fleet.stick("b0-1")
    fleet.run(120)
    assert firing(fleet)["T", "STALLED"] == ("CLIENT_STALLED", [("b", 0), ("b", 1)])
    assert "every queue of x on b stands still" in said(fleet.alert("STALLED"))


def cut_off(rate: int = 4) -> Fleet:
    """z leaves, and y should take over b1, where it owns b2 and b3 already. It cannot reach b."""
    fleet = running(clients=("x", "y", "z"), rate=rate)
    fleet.own("x", "a0-3")
    fleet.own("y", "b0 b2-3")
    fleet.leave("z")
    return fleet


def test_a_member_that_cannot_reach_the_broker_of_a_queue_that_it_should_take_over() -> None:
    fleet = cut_off()
    fleet.stick("b0-3")
    fleet.run(75)
    assert firing(fleet)["T", "ORPHANED"] == ("CLIENT_STALLED", [("b", 1)])
    assert said(fleet.alert("ORPHANED")) == "every queue of y stands still"


def test_it_is_asked_whether_it_can_reach_that_broker_where_its_other_queues_move() -> None:
    fleet = cut_off()
    fleet.own("x", "a0-2")
    fleet.own("y", "a3 b0 b2-3")
    fleet.stick("b0-3")
    fleet.run(75)
    assert firing(fleet)["T", "ORPHANED"] == ("CLIENT_STALLED", [("b", 1)])
    assert "every queue of y on b stands still, its others move" in said(fleet.alert("ORPHANED"))


@pytest.mark.parametrize(("rate", "stuck"), [(4, ""), (0, "b0-3"), (4, "b0-1")])
def test_a_member_whose_queues_on_the_broker_move_or_are_empty_can_reach_it(rate: int, stuck: str) -> None:
    fleet = cut_off(rate)
    fleet.stick(stuck)
    fleet.run(75)
    assert firing(fleet)["T", "ORPHANED"][0] in ("UNEXPLAINED", "MEMBER_GONE")


def test_lists_that_differ_only_since_one_of_them_changed_are_no_divergence() -> None:
    """Each broker drops a silent client in its own time."""
    fleet = running()
    fleet.join("z", brokers=("b",))
    for seconds, is_one in ((10, False), (30, True)):
        fleet.run(seconds)
        of_group = GroupEvidence(Group(fleet.state, fleet.settings))
        topic = next(one.topic for one in observe(of_group.group, of_group) if one.topic.name == "T")
        assert (view_divergence(topic, Found(Kind.ORPHANED, frozenset({0}))) is not None) is is_one


# --- a dead connection: which queues nobody takes because of it can be computed. It goes by itself, so nobody is paged


def stalled(fleet: Fleet) -> tuple[str | None, list[tuple[str, int]]]:
    """Cause and queues of what stands still."""
    alert = fleet.alert("STALLED")
    return alert.cause, [(queue.broker_name, queue.queue_id) for queue in alert.queues]


def left_to_a_dead_connection(fleet: Fleet) -> list[tuple[str, int]]:
    """Queues that stand still, and that no client takes before brokers drop the connection. They page nobody."""
    of_group = GroupEvidence(Group(fleet.state, fleet.settings))
    topic = next(one.topic for one in observe(of_group.group, of_group) if one.topic.name == "T")
    assert topic.listed.have_dead_connections
    still = [queue for queue in topic.queues if topic.queue(queue).stalled_ms > topic.timing.stall_ms]
    assert fleet.fired() == set()
    assert all(map(topic.is_left_to_a_second_entry, still))
    return [(topic.broker_name(topic.queue(queue).broker), topic.queue(queue).queue_id) for queue in still]


@pytest.mark.parametrize("strategy", ["AllocateMessageQueueAveragely", "com.acme.Mine"])
def test_queues_wait_for_a_dead_connection_though_their_last_owner_has_just_left(strategy: str) -> None:
    """x0 had the queues that the second entry of x gets by now, and all others have changed hands as they should.

    The same where shares are not known.
    """
    fleet = running(clients=("x", "x0", "y"), how={"report": {"strategy": strategy}})
    fleet.leave("x0")
    fleet.ghost("x")
    fleet.run(100)
    assert left_to_a_dead_connection(fleet) == [("a", 3), ("b", 0), ("b", 1)]


def test_queues_wait_for_a_dead_connection_though_the_route_has_just_changed() -> None:
    """All clients go by the new route: each owns queues that only this one gives it."""
    fleet = running(topics={"T": {"a": 4, "b": 1}})
    fleet.route("T", a=4, b=6)
    fleet.run(90)
    fleet.ghost("x")
    fleet.run(100)
    assert left_to_a_dead_connection(fleet) == [("b", 0), ("b", 1), ("b", 2)]


def test_who_has_left_is_named_beside_a_dead_connection_that_other_queues_would_suffer_from() -> None:
    fleet = running(clients=("x", "y", "z"))
    fleet.freeze()
    fleet.leave("z")
    fleet.ghost("x")
    fleet.run(100)
    assert stalled(fleet) == ("MEMBER_GONE", [("b", 2), ("b", 3)])


def test_lists_that_name_the_same_members_do_not_differ_because_one_names_a_dead_connection() -> None:
    fleet = running()
    fleet.ghost("x").brokers = ("b",)
    for one in fleet.instances:
        one.asks = "b"
    fleet.balance()
    fleet.run(100)
    assert left_to_a_dead_connection(fleet) == [("a", 3), ("b", 0), ("b", 1)]


# --- a BROADCASTING client in a CLUSTERING group


def with_a_broadcaster(*client_ids: str, broadcaster: str, **fields: Any) -> Fleet:
    """The broadcaster takes every queue; the others share them out among all."""
    fleet = Fleet(**fields)
    for client_id in client_ids:
        fleet.join(client_id, report={"message_model": "CLUSTERING"})
    (one,) = fleet.of(broadcaster)
    one.report = {"message_model": "BROADCASTING"}
    fleet.own(broadcaster, "a0-3 b0-3")
    return fleet


@pytest.mark.parametrize("broadcaster", ["x", "y", "z"])
def test_a_broadcasting_client_in_a_clustering_group_is_named_whoever_is_the_oldest(broadcaster: str) -> None:
    fleet = with_a_broadcaster("x", "y", "z", broadcaster=broadcaster).run(90)
    shares = {"x": "a0 a1 a2", "y": "a3 b0 b1", "z": "b2 b3"}
    of_others = " ".join(share for client_id, share in shares.items() if client_id != broadcaster).split()
    twice = [(name[0], int(name[1:])) for name in of_others]
    assert firing(fleet) == {("T", "DUPLICATED"): ("MESSAGE_MODEL_MISMATCH", twice)}
    alert = fleet.alert("DUPLICATED")
    assert alert.clients[0].client_id == broadcaster
    assert said(alert).startswith(f"BROADCASTING: {broadcaster}; CLUSTERING: ")
    assert alert.observed.message_models_differ.clustering == clients(sorted({"x", "y", "z"} - {broadcaster}))
    for name in shares[broadcaster].split():
        assert fleet.finding(name).finding == "MATCH"


def test_the_offsets_of_a_broadcasting_client_stand_still_without_its_being_stuck() -> None:
    """It keeps them to itself, and older brokers do not tell what it pulls."""
    fleet = with_a_broadcaster("x", "y", broadcaster="x")
    fleet.reports_pull_offsets = False
    fleet.run(60)
    fleet.stick("a0-3")
    fleet.run(100)
    queues_of_x = [("a", 0), ("a", 1), ("a", 2), ("a", 3)]
    assert firing(fleet)["T", "STALLED"] == ("MESSAGE_MODEL_MISMATCH", queues_of_x)


def test_that_nothing_is_consumed_for_long_is_the_broadcasting_clients_too() -> None:
    fleet = with_a_broadcaster("x", "y", broadcaster="x").run(60)
    fleet.hang("a0-3")
    fleet.of("x")[0].busy = 10
    fleet.run(500)
    assert firing(fleet)["T", "SLOW_CONSUMER"][0] == "MESSAGE_MODEL_MISMATCH"


def test_a_group_in_which_all_are_broadcasting_has_no_mismatch() -> None:
    fleet = with_a_broadcaster("x", "y", broadcaster="x")
    fleet.of("y")[0].report = {"message_model": "BROADCASTING"}
    fleet.own("y", "a0-3 b0-3")
    assert firing(fleet.run(90)) == {}


# --- nothing explains it


def test_a_client_that_keeps_what_another_should_own_is_named_though_no_cause_fits() -> None:
    fleet = running()
    fleet.of("x")[0].is_pinned = True
    fleet.join("z")
    fleet.run(90)
    alert = fleet.alert("DUPLICATED")
    assert alert.cause == "UNEXPLAINED"
    assert alert.observed is not None
    assert alert.observed.unexplained is not None
    assert alert.observed.unexplained.keep == clients(["x"])
    assert alert.clients[0].client_id == "x"


def test_all_are_named_who_keep_a_queue_of_another() -> None:
    fleet = running()
    fleet.freeze()
    fleet.join("a", "z")
    fleet.run(90)
    assert fleet.alert("DUPLICATED").observed.unexplained.keep == clients(["x", "y"])


def test_so_is_one_that_does_not_own_what_it_should() -> None:
    fleet = running()
    fleet.own("y", "")
    fleet.run(90)
    alert = fleet.alert("ORPHANED")
    assert alert.observed is not None
    assert alert.observed.unexplained is not None
    assert (alert.observed.unexplained.keep, alert.observed.unexplained.leave) == (None, clients(["y"]))
    assert alert.clients[0].client_id == "y"
