"""Each kind of finding: what is needed for it, and what keeps it from being said.

A row of the table is a healthy group of x (a0-3) and y (b0-3), what happens to it, and what is found of one queue.
Add a row with the rule it proves as its id.
"""

from collections.abc import Callable

import pytest

from schemas.events import OwnedQueue, OwnedQueues, Subscription
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings
from tests.core.fleet import Fleet, running
from tests.said import why

Change = Callable[[Fleet], object]


def y_takes_a0_too(fleet: Fleet) -> None:
    fleet.own("y", "a0 b0-3")


def x_lets_go_of_a0(fleet: Fleet) -> None:
    fleet.own("x", "a1-3")


def y_takes_a0_over(fleet: Fleet) -> None:
    x_lets_go_of_a0(fleet)
    y_takes_a0_too(fleet)


def y_holds_a_queue_that_is_not(fleet: Fleet) -> None:
    fleet.own("y", "b0-4")


def nobody_pulls_a0(fleet: Fleet) -> None:
    fleet.stick("a0")


def x_is_slow(fleet: Fleet) -> None:
    nobody_pulls_a0(fleet)
    fleet.of("x")[0].busy = 7
    fleet.run(250)


def consuming_is_forbidden(fleet: Fleet) -> None:
    nobody_pulls_a0(fleet)
    fleet.round_fields = {"consume_enable": False}


def x_falls_silent(fleet: Fleet) -> None:
    fleet.of("x")[0].answers = False


def no_messages(fleet: Fleet) -> None:
    fleet.rate = 0


def broker_a_is_lost(fleet: Fleet) -> None:
    fleet.down.add("a")


def broker_b_is_lost(fleet: Fleet) -> None:
    fleet.down.add("b")


def everybody_leaves(fleet: Fleet) -> None:
    fleet.leave("x", "y")


def pops(fleet: Fleet) -> None:
    for one in fleet.instances:
        one.report = {"pop": (OwnedQueues("T", "a", (OwnedQueue(0),)),), "owned": ()}


def brokers_allocate(fleet: Fleet) -> None:
    for one in fleet.instances:
        one.report = {"client_rebalance": False, "owned": ()}


def is_static(fleet: Fleet) -> None:
    """The route names the brokers that queues are mapped to, clients own queues of a broker that is in no route."""
    for one, share in (("x", "0-3"), ("y", "4-7")):
        fleet.own(one, f"__syslo__global__{share}")


def is_static_by_its_route(fleet: Fleet) -> None:
    fleet.static_topics.add("T")
    fleet.route("T", a=4, b=4)
    fleet.report_every = 0


def nobody_subscribes(fleet: Fleet) -> None:
    for one in fleet.instances:
        one.report = {"subscriptions": (Subscription("U"),), "owned": ()}


def assigns_itself(fleet: Fleet) -> None:
    """A lite pull consumer in assign mode: it pulls queues of topics to which it does not subscribe."""
    for one in fleet.instances:
        one.report, one.heartbeat = {"subscriptions": ()}, {"consume_type": "CONSUME_ACTIVELY"}
    y_takes_a0_too(fleet)


def speaks_to_a_proxy(fleet: Fleet) -> None:
    fleet.leave("x", "y")
    fleet.join("orders-7d9f@1@0@2hs8xkq31c", answers=False)


def custom_strategy(fleet: Fleet) -> None:
    for one in fleet.instances:
        one.report = {"strategy": "com.acme.Mine"}


def only(*changes: Change) -> Change:
    def all_of_them(fleet: Fleet) -> None:
        for change in changes:
            change(fleet)

    return all_of_them


TABLE: list[tuple[str, Change, str, str, str, str]] = [
    # what it proves, what happens, queue, finding, severity, words that the reason holds
    ("one owner, the expected one", only(), "a0", "MATCH", "none", ""),
    ("two reports name it", y_takes_a0_too, "a0", "DUPLICATED", "critical", ""),
    ("the others of its owner are not touched", y_takes_a0_too, "a1", "MATCH", "none", ""),
    ("all have reported, none owns it", x_lets_go_of_a0, "a0", "ORPHANED", "critical", ""),
    ("a silent one may own it", only(x_lets_go_of_a0, x_falls_silent, no_messages), "a0", "UNKNOWN", "none", "x has"),
    ("one owner, not the expected one", y_takes_a0_over, "a0", "MISPLACED", "warning", ""),
    ("an unknown strategy expects nobody", only(custom_strategy, y_takes_a0_over), "a0", "MATCH", "none", "Mine"),
    ("an unknown strategy hides no double", only(custom_strategy, y_takes_a0_too), "a0", "DUPLICATED", "critical", ""),
    ("an unknown strategy hides no orphan", only(custom_strategy, x_lets_go_of_a0), "a0", "ORPHANED", "critical", ""),
    ("held, but not in the route", y_holds_a_queue_that_is_not, "b4", "PHANTOM", "warning", ""),
    ("waiting messages are not pulled", nobody_pulls_a0, "a0", "STALLED", "critical", ""),
    ("the owner has messages in hand", x_is_slow, "a0", "SLOW_CONSUMER", "warning", ""),
    ("a silent owner has nothing in hand", only(x_is_slow, x_falls_silent), "a0", "STALLED", "critical", ""),
    ("consumeEnable is false", consuming_is_forbidden, "a0", "CONSUME_DISABLED", "info", "consumeEnable"),
    ("two owners before standing still", only(nobody_pulls_a0, y_takes_a0_too), "a0", "DUPLICATED", "critical", ""),
    ("no owner before standing still", only(nobody_pulls_a0, x_lets_go_of_a0), "a0", "ORPHANED", "critical", ""),
    ("standing still comes before unknown", only(nobody_pulls_a0, x_falls_silent), "a0", "STALLED", "critical", ""),
    ("standing still comes before misplaced", only(nobody_pulls_a0, y_takes_a0_over), "a0", "STALLED", "critical", ""),
    ("its broker is not covered", broker_a_is_lost, "a0", "UNKNOWN", "none", "no answer from a"),
    ("another broker of the topic is not covered", broker_a_is_lost, "b0", "UNKNOWN", "none", "no answer from a"),
    ("two owners are proven without it", only(y_takes_a0_too, broker_b_is_lost), "a0", "DUPLICATED", "critical", ""),
    ("but not of its own queues", only(y_takes_a0_too, broker_a_is_lost), "a0", "UNKNOWN", "none", "no answer from a"),
    ("none are not", only(x_lets_go_of_a0, broker_a_is_lost), "a0", "UNKNOWN", "none", "no answer from a"),
    ("nobody is left", everybody_leaves, "a0", "NO_MEMBERS", "none", "no member"),
    ("a pop table", pops, "a0", "EXCLUDED", "none", "POP"),
    ("brokers allocate", brokers_allocate, "b0", "EXCLUDED", "none", "BROKER_ALLOCATED"),
    ("a static topic", is_static, "a0", "EXCLUDED", "none", "STATIC_TOPIC"),
    ("a static topic by its route", is_static_by_its_route, "a0", "EXCLUDED", "none", "STATIC_TOPIC"),
    ("nobody subscribes", nobody_subscribes, "a0", "EXCLUDED", "none", "NOT_SUBSCRIBED"),
    ("queues assigned by hand", assigns_itself, "a0", "EXCLUDED", "none", "LITE_ASSIGN"),
    ("a client behind a proxy", speaks_to_a_proxy, "a0", "EXCLUDED", "none", "PROXY_CLIENT"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "queue", "finding", "severity", "words"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_a_finding(change: Change, queue: str, finding: str, severity: str, words: str) -> None:
    fleet = running()
    change(fleet)
    fleet.run(115)
    found = fleet.finding(queue)
    assert (found.finding, found.severity) == (finding, severity)
    assert words in (why(found) or "")


@pytest.mark.parametrize(("age", "finding"), [(200, "MATCH"), (205, "UNKNOWN")])
def test_a_route_is_known_for_200_s_after_it_was_last_confirmed(age: int, finding: str) -> None:
    fleet = running(5)
    fleet.says_routes = False
    fleet.run(age)
    assert set(fleet.findings().values()) == {finding}


def test_held_queues_of_a_topic_without_a_route_are_unknown() -> None:
    fleet = Fleet()
    fleet.join("x")
    fleet.own("x", "a0", topic="U")
    fleet.run(60)
    assert fleet.finding("a0", "U").finding == "UNKNOWN"
    assert "route" in (why(fleet.finding("a0", "U")) or "")


def test_a_queue_of_an_excluded_member_is_right_whether_messages_wait_in_it_or_not() -> None:
    """Its reports do not count, but it owns what the others leave to it."""
    fleet = Fleet()
    fleet.join("x", report={"client_rebalance": False})
    fleet.join("y")
    fleet.run(90)
    fleet.hang("a0")
    fleet.run(60)
    fleet.state.evaluation_due_ts = 0
    fleet.run(10)
    assert fleet.finding("a0").finding == "MATCH"
    assert fleet.alerts() == []


def test_a_configured_group_is_excluded() -> None:
    fleet = running(settings=Settings(timing=DEFAULT_TIMING, groups=(GroupRule(group="g*", excluded=True),)))
    fleet.own("y", "a0 b0-3")
    fleet.run(120)
    assert {fleet.finding("a0").reason} == {"CONFIGURED"}
    assert fleet.status().status == "excluded"
    assert fleet.alerts() == []


@pytest.mark.parametrize(
    ("client_id", "is_proxy"),
    [
        ("orders-7d9f@1@0@2hs8xkq31c", True),
        ("orders-7d9f@1@1@MF3K2Q9A", True),
        ("orders-7d9f@1#0_1700000000000", True),
        ("10.0.0.1@4711", False),
        ("10.0.0.1@4711#81263876213", False),
        ("10.0.0.1@4711#DEFAULT", False),
        ("10.0.0.1@4711#0", False),
        ("10.0.0.1@4711@unit", False),
        ("10.0.0.1@orders@1@2hs8xkq31c", False),
    ],
)
def test_a_client_behind_a_proxy_is_told_by_its_id(client_id: str, is_proxy: bool) -> None:
    fleet = running(clients=(client_id,), how={"answers": False})
    assert (fleet.status().status == "excluded") is is_proxy


@pytest.mark.parametrize("client_id", ["host@1@2024@blue", "orders-7d9f@1@0@2hs8xkq31c"])
def test_what_a_client_reports_counts_more_than_what_its_id_looks_like(client_id: str) -> None:
    """A Java client whose instance name and unit were set by hand. A gRPC client reports nothing of this."""
    fleet = running(clients=(client_id,))
    assert fleet.status().status == "healthy"
    silent = running(clients=(client_id,), how={"report": {"strategy": None, "subscriptions": (), "owned": ()}})
    assert silent.status().status == "excluded"


def test_a_report_that_names_no_subscription_does_not_say_to_what_its_client_subscribes() -> None:
    fleet = running(how={"report": {"subscriptions": ()}})
    assert set(fleet.findings().values()) == {"MATCH"}


def test_a_queue_that_its_client_has_dropped_is_not_its_own() -> None:
    fleet = running(rate=0)
    for one in fleet.of("y"):
        owned = (OwnedQueue(0, dropped=True), OwnedQueue(1), OwnedQueue(2), OwnedQueue(3))
        one.report = {"owned": (OwnedQueues("T", "b", owned),)}
    fleet.run(60)
    assert fleet.finding("b0").finding == "ORPHANED"


def test_a_topic_that_nobody_can_read_has_no_queues_to_own() -> None:
    fleet = running(clients=("x",), topics={"T": {"a": (0, 4, 6)}}, rate=0)
    assert set(fleet.findings().values()) == {"EXCLUDED"}
    assert fleet.finding("a0").reason == "UNREADABLE"
    assert fleet.fired() == set()


def test_a_strategy_that_throws_expects_nobody_and_says_what_it_throws() -> None:
    """Nearby asks for the room of each client, and one of them has none."""
    params = {"brokerRooms": {"a": "r1", "b": "r1"}, "clientRooms": {"x": "r1"}}
    rule = GroupRule(strategy="MACHINE_ROOM_NEARBY-AVG", params=params)
    fleet = running(settings=Settings(timing=DEFAULT_TIMING, groups=(rule,)))
    assert fleet.finding("a0").finding == "MATCH"
    assert fleet.finding("a0").expected is None
    assert "throws" in (why(fleet.finding("a0")) or "")


# --- broadcasting


def broadcasting() -> Fleet:
    fleet = Fleet()
    fleet.join("x", "y", report={"message_model": "BROADCASTING"})
    return fleet.run(60)


def test_broadcasting_everybody_owns_every_queue() -> None:
    fleet = broadcasting().run(60)
    assert set(fleet.findings().values()) == {"MATCH"}
    assert fleet.finding("a0").owners == ("x", "y")


def test_broadcasting_nobody_is_expected_to_own_a_queue_alone() -> None:
    """Nothing is shared out, and a list of all members in each fact would say the same for every queue."""
    fact = broadcasting().run(60).finding("a0")
    assert (fact.expected, fact.reason) == (None, None)


def test_broadcasting_the_alert_names_the_members_that_lack_the_queue() -> None:
    fleet = broadcasting()
    fleet.own("y", "a1-3 b0-3")
    alert = fleet.run(60).alert("ORPHANED")
    assert alert.observed.not_consumed_by is not None
    assert alert.observed.not_consumed_by.clients.client_ids == ("y",)


def test_broadcasting_a_queue_is_orphaned_for_the_member_that_lacks_it() -> None:
    fleet = broadcasting()
    fleet.own("y", "a1-3 b0-3")
    fleet.run(60)
    assert fleet.finding("a0").finding == "ORPHANED"
    assert fleet.finding("a1").finding == "MATCH"
    assert fleet.firing() == {("T", "ORPHANED")}


def test_broadcasting_nothing_stands_still_since_brokers_keep_no_offsets() -> None:
    fleet = broadcasting()
    fleet.stick()
    fleet.run(200)
    assert set(fleet.findings().values()) == {"MATCH"}


def test_broadcasting_is_known_from_heartbeats_before_anybody_has_reported() -> None:
    fleet = Fleet(report_every=0)
    fleet.join("x", "y", report={"message_model": "BROADCASTING"})
    fleet.stick()
    fleet.run(200)
    assert set(fleet.findings().values()) == {"UNKNOWN"}


# --- several topics


def test_a_member_counts_for_every_topic_that_its_brokers_host() -> None:
    """And for none other: a client heartbeats to the brokers of its own topics only."""
    fleet = Fleet({"T": {"a": 4}, "U": {"b": 4}})
    fleet.join("x", topics={"T": "*"}, brokers=("a",))
    fleet.join("y", topics={"U": "*"}, brokers=("b",))
    fleet.run(60)
    assert set(fleet.findings("T").values()) == set(fleet.findings("U").values()) == {"MATCH"}
    assert fleet.finding("a0").expected == ("x",)
    assert fleet.finding("b0", "U").expected == ("y",)


def test_a_topic_whose_brokers_list_nobody_has_no_members() -> None:
    fleet = Fleet({"T": {"a": 4}, "U": {"b": 4}})
    fleet.join("x", topics={"T": "*"}, brokers=("a",))
    fleet.run(60)
    assert set(fleet.findings("U").values()) == {"NO_MEMBERS"}
    assert fleet.status().status == "healthy"


def test_a_queue_is_a_phantom_only_if_the_route_was_confirmed_since_it_was_first_held() -> None:
    fleet = running(65)  # the route was said at 65 s, and is said again at 125 s
    fleet.own("y", "b0-4")
    fleet.run(55)
    assert fleet.finding("b4").finding == "SETTLING"
    fleet.run(10)
    assert fleet.finding("b4").finding == "PHANTOM"


def test_a_queue_that_left_the_route_is_told_to_be_gone() -> None:
    fleet = running()
    fleet.route("T", a=4, b=2)
    fleet.run(120)
    gone = fleet.finding("b3")
    assert (gone.present, gone.owners) == (False, ())
    assert gone.ended is not None
    assert fleet.findings() == dict.fromkeys(("a0", "a1", "a2", "a3", "b0", "b1"), "MATCH")


# --- static topics


def test_a_static_topic_alerts_nobody_and_is_told_at_once() -> None:
    """Clients own queues of a broker that name servers never name: neither lost nor beyond the route."""
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.own("x", "__syslo__global__0-3")
    fleet.own("y", "__syslo__global__4-7")
    fleet.run(30)
    assert set(fleet.findings().values()) == {"EXCLUDED"}
    fleet.run(300)
    assert fleet.alerts() == []
    assert set(fleet.findings().values()) == {"EXCLUDED"}


def test_what_a_static_topic_is_mapped_to_is_not_looked_at() -> None:
    """As many queues as members, and all of what is written, lie elsewhere than the route says."""
    fleet = Fleet()
    fleet.static_topics.add("T")
    fleet.route("T", a=(1, 4, 6))
    fleet.join("x", "y")
    fleet.run(300)
    assert fleet.alerts() == []
    assert fleet.status().counts == {"EXCLUDED": 1}


def test_what_stands_still_in_a_static_topic_is_no_stall_whatever_its_members_run() -> None:
    """A queue that is mapped to another broker by now keeps its lag for ever."""
    fleet = Fleet()
    fleet.static_topics.add("T")
    fleet.join("x", report={"client_rebalance": False})
    fleet.run(60)
    fleet.stick()
    fleet.run(900)
    assert fleet.finding("a0").reason == "STATIC_TOPIC"
    assert fleet.status().waiting is None
    fleet.leave("x")
    fleet.run(900)
    assert fleet.alerts() == []


def test_a_topic_that_takes_the_place_of_a_static_one_is_judged() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.own("x", "__syslo__global__0-7")
    fleet.run(60)
    fleet.own("x", "")
    fleet.routes["T"] = {}
    fleet.say_route()
    fleet.run(60)
    fleet.route("T", a=4, b=4)
    fleet.thaw()
    fleet.run(120)
    assert set(fleet.findings().values()) == {"MATCH"}


def test_expected_owners_are_not_known_while_a_broker_has_not_listed_its_members() -> None:
    fleet = running()
    assert fleet.finding("a0").expected == ("x",)
    fleet.down.add("b")
    fleet.run(60)
    assert (fleet.finding("a0").finding, fleet.finding("a0").expected) == ("UNKNOWN", None)


def test_silent_broker_takes_nobody_back_while_no_route_is_known() -> None:
    """Only a route that no longer names it says that its list does not stand."""
    fleet = Fleet()
    fleet.says_routes = False
    fleet.join("x", "y")
    fleet.run(60)
    fleet.down.update("ab")
    fleet.run(120)
    assert fleet.status().members == 2
    assert fleet.status().status == "unknown"
