"""Findings about a topic or the whole group: what makes each hold, and what does not."""

import pytest

from schemas.events import Subscription
from schemas.facts import AlertFact, GroupFact
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings
from streaming.core.state.members import expected_back_by
from tests.core.fleet import T0, Fleet, running, said

ALWAYS_ON = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(group="g", always_on=True),))


def group_findings(fleet: Fleet) -> set[tuple[str, str]]:
    return {(condition.topic, condition.kind) for condition in fleet.state.group_findings}


# --- INCONSISTENT_SUBSCRIPTION


@pytest.mark.parametrize(
    ("of_x", "of_y", "differs"),
    [
        ({"T": "*"}, {"T": "*"}, False),
        ({"T": "a"}, {"T": "b"}, True),
        ({"T": "*", "U": "*"}, {"T": "*"}, True),
        ({"T": "*", "%RETRY%g": "*"}, {"T": "*"}, False),
        ({"T": "a || b"}, {"T": "a || b"}, False),
        ({"T": "a || b"}, {"T": "b||a"}, False),
        ({"T": "a || b || a"}, {"T": "  b  ||a|| "}, False),
        ({"T": "*"}, {"T": ""}, False),
        ({"T": "a || b"}, {"T": "a"}, True),
    ],
)
def test_members_must_subscribe_to_the_same_topics_with_the_same_filters(
    of_x: dict[str, str], of_y: dict[str, str], differs: bool
) -> None:
    fleet = Fleet()
    fleet.join("x", topics=of_x)
    fleet.join("y", topics=of_y)
    fleet.run(60)
    assert group_findings(fleet) == ({("", "INCONSISTENT_SUBSCRIPTION")} if differs else set())


def test_an_inconsistent_subscription_fires_after_30_s_and_says_who_wants_what() -> None:
    fleet = running()
    fleet.of("x")[0].topics = {"T": "a"}
    fleet.run(90)
    alert = fleet.alert("INCONSISTENT_SUBSCRIPTION", None)
    assert (alert.state, alert.severity, alert.cause) == ("firing", "warning", "SUBSCRIPTION_MISMATCH")
    assert said(alert) == "x: T (a); y: T"
    (pending, firing) = fleet.alerts("INCONSISTENT_SUBSCRIPTION")
    assert firing[0] - pending[0] == 30


def test_every_queue_may_match_while_messages_are_lost() -> None:
    fleet = running()
    fleet.of("x")[0].topics = {"T": "a"}
    fleet.run(90)
    assert set(fleet.findings().values()) == {"MATCH"}
    assert fleet.status().status == "findings"
    assert fleet.status().counts == {"INCONSISTENT_SUBSCRIPTION": 1, "MATCH": 8}


def test_a_filter_that_one_member_does_not_say_is_not_compared() -> None:
    fleet = Fleet()
    fleet.join("x", topics={"T": "a"})
    fleet.join("y", report={"subscriptions": (Subscription("T"),)})
    fleet.run(60)
    assert group_findings(fleet) == set()


def test_the_order_in_which_a_jvm_names_tags_is_not_shown() -> None:
    fleet = Fleet()
    fleet.join("x", topics={"T": "paid||open"})
    fleet.join("y", topics={"T": "*"})
    fleet.run(60)
    assert said(fleet.alert("INCONSISTENT_SUBSCRIPTION", None)) == "x: T (open || paid); y: T"


def test_a_producer_may_say_that_a_filter_is_one_of_tags() -> None:
    fleet = Fleet()
    fleet.join("x", report={"subscriptions": (Subscription("T", "a||b", "TAG"),)})
    fleet.join("y", report={"subscriptions": (Subscription("T", "b || a"),)})
    fleet.run(60)
    assert group_findings(fleet) == set()


def test_filters_in_sql_are_compared_as_text() -> None:
    fleet = Fleet()
    fleet.join("x", report={"subscriptions": (Subscription("T", "k = 'b' || k = 'a'", "SQL92"),)})
    fleet.join("y", report={"subscriptions": (Subscription("T", "k = 'a' || k = 'b'", "SQL92"),)})
    fleet.run(60)
    assert (
        said(fleet.alert("INCONSISTENT_SUBSCRIPTION", None)) == "x: T (k = 'b' || k = 'a'); y: T (k = 'a' || k = 'b')"
    )


def test_members_that_have_not_reported_are_not_compared() -> None:
    fleet = Fleet()
    fleet.join("x", topics={"T": "a"})
    fleet.join("y", topics={"T": "b"}, answers=False)
    fleet.run(60)
    assert group_findings(fleet) == set()


def test_what_a_member_said_before_brokers_listed_it_twice_is_not_compared() -> None:
    """It was started again with the filter of the others, and is asked through a dead connection since."""
    fleet = Fleet()
    (asked,) = fleet.join("x", topics={"T": "a"})
    fleet.join("y", topics={"T": "a"})
    fleet.run(60)
    fleet.ghost("x")
    asked.answers = False
    (other,) = fleet.of("y")
    fleet.run(75)
    other.topics = {"T": "b"}
    fleet.run(60)
    assert fleet.fired() == set()


def test_what_a_member_said_before_it_was_started_again_is_not_compared() -> None:
    fleet = running(how={"topics": {"T": "a"}})
    fleet.leave("x", "y")
    fleet.run(10)
    fleet.join("x", topics={"T": "b"}, answers=False)
    fleet.join("y", topics={"T": "b"})
    fleet.run(60)
    assert fleet.fired() == set()


def test_what_a_client_said_that_is_stopped_is_compared() -> None:
    fleet = Fleet()
    (stopped,) = fleet.join("x", topics={"T": "a"})
    fleet.run(60)
    stopped.answers = False
    fleet.run(100)
    fleet.join("y", topics={"T": "b"})
    fleet.run(60)
    assert ("", "INCONSISTENT_SUBSCRIPTION") in fleet.firing()


# --- UNREADABLE_QUEUES


@pytest.mark.parametrize(
    ("route", "cause", "queues"),
    [
        ({"a": (2, 4, 6), "b": 4}, "READ_LT_WRITE", [("a", 2), ("a", 3)]),
        ({"a": 4, "b": (1, 1, 2)}, "NO_READ_PERM", [("b", 0)]),
        ({"a": (3, 4, 6), "b": (1, 1, 2)}, "NO_READ_PERM", [("a", 3), ("b", 0)]),
        ({"a": (4, 2, 6), "b": 4}, None, []),
    ],
)
def test_queues_that_are_written_and_cannot_be_read(
    route: dict[str, int | tuple[int, int, int]], cause: str | None, queues: list[tuple[str, int]]
) -> None:
    fleet = running()
    fleet.route("T", **route)
    fleet.run(120)
    if cause is None:
        assert fleet.alerts("UNREADABLE_QUEUES") == []
        return
    alert = fleet.alert("UNREADABLE_QUEUES")
    assert (alert.state, alert.severity, alert.cause) == ("firing", "warning", cause)
    assert [(q.broker_name, q.queue_id) for q in alert.queues] == queues
    assert fleet.fired() == {("T", "UNREADABLE_QUEUES")}


def test_queues_that_cannot_be_read_do_no_harm_without_messages() -> None:
    fleet = running(rate=0)
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.run(120)
    assert group_findings(fleet) == set()
    fleet.rate = 4
    fleet.run(60)
    assert group_findings(fleet) == {("T", "UNREADABLE_QUEUES")}


def test_unreadable_queues_resolve_when_they_can_be_read_and_are() -> None:
    fleet = running()
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.run(120)
    fleet.route("T", a=4, b=4)
    fleet.run(30)
    assert fleet.alerts("UNREADABLE_QUEUES")[-1][1:] == ("resolved", "right_again")


def test_a_topic_that_nobody_subscribes_to_any_more_may_be_unreadable() -> None:
    fleet = running(120, clients=("x",), how={"topics": {"T": "*"}}, topics={"T": {"a": 4}, "U": {"a": (2, 4, 6)}})
    assert group_findings(fleet) == set()


@pytest.mark.slow("minutes and hours of a group are folded")
def test_unreadable_queues_of_a_group_that_is_gone_are_nobodys_concern() -> None:
    fleet = running()
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.run(120)
    fleet.leave("x", "y")
    fleet.idle(3600)
    assert ("T", "UNREADABLE_QUEUES") in fleet.firing()
    fleet.idle(60)
    assert fleet.alerts("UNREADABLE_QUEUES")[-1][1:] == ("resolved", "gone")
    assert fleet.firing() == set()
    known = len(fleet.facts)
    fleet.idle(3600)
    assert {type(fact.payload) for fact in fleet.facts[known:]} <= {GroupFact}  # the status, once an hour
    fleet.join("x", "y")
    fleet.run(120)
    assert fleet.firing() == {("T", "UNREADABLE_QUEUES")}


def test_nor_are_those_of_a_group_that_was_gone_before_it_was_first_seen() -> None:
    fleet = Fleet({"T": {"a": (2, 4, 6), "b": 4}}).run(120)
    assert fleet.fired() == set()


@pytest.mark.slow("minutes and hours of a group are folded")
def test_while_a_broker_is_silent_a_group_is_not_known_to_be_gone() -> None:
    fleet = running()
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.run(120)
    fleet.leave("x", "y")
    fleet.down = {"b"}
    fleet.idle(4000)
    assert ("T", "UNREADABLE_QUEUES") in fleet.firing()


# --- NO_MEMBERS


def test_a_group_whose_members_all_left_is_a_warning_while_messages_wait() -> None:
    fleet = running()
    fleet.leave("x", "y")
    fleet.run(200)
    alert = fleet.alert("NO_MEMBERS", None)
    assert (alert.state, alert.severity) == ("firing", "warning")
    (pending, firing) = fleet.alerts("NO_MEMBERS")
    assert firing[0] - pending[0] == 120
    assert fleet.status().status == "empty"


def test_a_group_without_messages_may_be_empty() -> None:
    fleet = running(rate=0)
    fleet.leave("x", "y")
    fleet.run(200)
    assert group_findings(fleet) == set()


def test_a_group_that_never_had_members_may_be_empty() -> None:
    fleet = Fleet()
    fleet.run(200)
    assert group_findings(fleet) == set()


def test_a_group_that_is_always_on_may_not_be_empty() -> None:
    fleet = Fleet(settings=ALWAYS_ON, rate=0)
    fleet.run(200)
    alert = fleet.alert("NO_MEMBERS", None)
    assert (alert.state, alert.severity) == ("firing", "critical")


def test_an_empty_group_is_no_news_after_an_hour() -> None:
    fleet = running()
    fleet.leave("x", "y")
    fleet.idle(3600)
    assert fleet.firing() == {("", "NO_MEMBERS")}
    fleet.run(30)
    assert fleet.alerts("NO_MEMBERS")[-1][1:] == ("resolved", "gone")


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_is_always_on_is_news_for_ever() -> None:
    fleet = running(settings=ALWAYS_ON)
    fleet.leave("x", "y")
    fleet.idle(2 * 3600)
    assert fleet.firing() == {("", "NO_MEMBERS")}


def test_no_members_resolves_when_somebody_comes() -> None:
    fleet = running()
    fleet.leave("x", "y")
    fleet.run(200)
    fleet.join("x")
    fleet.run(10)
    assert fleet.alerts("NO_MEMBERS")[-1][1:] == ("resolved", "right_again")


def test_nobody_is_missed_while_a_broker_is_not_covered() -> None:
    fleet = running()
    fleet.down.add("b")
    fleet.run(30)
    fleet.leave("x", "y")
    fleet.run(300)
    assert group_findings(fleet) == set()


def test_no_members_without_evidence_is_stale() -> None:
    fleet = running()
    fleet.leave("x", "y")
    fleet.run(200)
    fleet.down.add("b")
    fleet.run(60)
    assert fleet.alerts("NO_MEMBERS")[-1][1:] == ("firing", "evidence_lost")


@pytest.mark.parametrize("settings", [None, ALWAYS_ON])
def test_nobody_is_missed_while_offsets_move(settings: Settings | None) -> None:
    """Clients of a proxy in cluster mode: brokers do not list them, and know what they have consumed."""
    fleet = running(settings=settings)
    fleet.leave("x", "y")
    for _ in range(40):
        fleet.run(10)
        consume_some(fleet)
    assert group_findings(fleet) == set()
    assert fleet.status().status == "empty"
    fleet.run(180 + 130)
    assert fleet.firing() == {("", "NO_MEMBERS")}


def test_offsets_that_the_last_member_stored_do_not_show_that_anybody_consumes() -> None:
    fleet = running()
    fleet.run(9)
    fleet.leave("x", "y")
    consume_some(fleet)
    fleet.run(150)
    assert fleet.firing() == {("", "NO_MEMBERS")}


def consume_some(fleet: Fleet) -> None:
    """A little of each queue, by nobody that is listed."""
    for offsets in fleet.offsets.values():
        offsets.consumer = offsets.pulled = offsets.broker - 5


def test_what_waits_in_a_topic_that_the_group_gave_up_is_not_missed() -> None:
    fleet = Fleet({"T": {"a": 4}, "U": {"a": 4}})
    fleet.round_fields = {"subscribed": ("T", "U")}
    fleet.join("x", "y")
    fleet.run(60)
    fleet.round_fields = {"subscribed": ("T",)}
    fleet.stick("a0-3", "U")
    fleet.run(200)
    for queue, offsets in fleet.offsets.items():
        if queue.topic == "T":
            offsets.consumer = offsets.pulled = offsets.broker
    fleet.rate = 0
    fleet.run(20)
    fleet.round_fields = {}
    fleet.leave("x", "y")
    fleet.run(300)
    assert ("", "NO_MEMBERS") not in fleet.fired()


# --- groups that have no members for a while on purpose


def hourly(runs: int, *, up: float = 300, down: float = 3300, settings: Settings | None = None) -> Fleet:
    """A group that runs for so long, again and again; its last run has just ended."""
    fleet = Fleet(settings=settings)
    for turn in range(runs):
        if turn:
            fleet.idle(down)
        fleet.join("x", "y")
        fleet.run(up)
        fleet.leave("x", "y")
    return fleet


def no_members_at(fleet: Fleet, since: float) -> list[float]:
    told = ("held_long_enough", "came_back")
    return [ts - since for ts, _, reason in fleet.alerts("NO_MEMBERS") if reason in told and ts > since]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_comes_back_each_hour_is_missed_three_times_and_not_again() -> None:
    fleet = hourly(4)
    assert len(no_members_at(fleet, 0)) == 3
    left = fleet.now
    fleet.idle(3300)
    fleet.join("x", "y")
    fleet.run(300)
    assert no_members_at(fleet, left) == []


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_does_not_come_back_when_it_is_due_is_missed_though_an_hour_has_passed() -> None:
    fleet = hourly(4)
    left = fleet.now
    fleet.idle(2 * 3600)
    (after,) = no_members_at(fleet, left)
    assert 3300 * 1.25 <= after <= 3300 * 1.25 + 60
    alert = [alert for alert in fleet.told(AlertFact) if alert.payload.kind == "NO_MEMBERS"][-1].payload
    assert alert.observed.no_member_listed is not None
    assert alert.observed.no_member_listed.away_before_ms == pytest.approx(3_300_000, abs=30_000)
    assert ("", "NO_MEMBERS") in fleet.firing()
    fleet.idle(3600)
    assert fleet.alerts("NO_MEMBERS")[-1][1:] == ("resolved", "gone")


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_may_be_empty_by_configuration_is_missed_once_that_is_over() -> None:
    fleet = hourly(
        1, settings=Settings(timing=DEFAULT_TIMING, groups=(GroupRule(group="g", may_be_empty_ms=4_200_000),))
    )
    left = fleet.now
    fleet.idle(4_150)
    assert no_members_at(fleet, left) == []
    fleet.idle(100)
    assert len(no_members_at(fleet, left)) == 1
    alert = fleet.alert("NO_MEMBERS", None)
    assert alert.observed.no_member_listed is not None
    assert alert.observed.no_member_listed.allowed_ms == 4_200_000


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("up", "down", "consumes"), [(40, 60, False), (200, 200, False), (40, 200, True)])
def test_clients_that_restart_in_a_loop_are_no_schedule(up: float, down: float, consumes: bool) -> None:
    fleet = Fleet()
    for _ in range(8):
        fleet.join("x", "y")
        fleet.stick("" if consumes else "a0-3 b0-3")
        fleet.run(up)
        fleet.leave("x", "y")
        fleet.run(down)
    left = fleet.now - down
    fleet.run(200)
    assert expected_back_by(fleet.group) == pytest.approx(T0 + 1_000 * (left + 120), abs=10_000)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_outages_that_last_differently_are_no_schedule() -> None:
    fleet = Fleet()
    for down in (600, 3000, 300, 2400):
        fleet.join("x", "y")
        fleet.run(300)
        fleet.leave("x", "y")
        fleet.idle(down)
    assert len(no_members_at(fleet, 0)) == 4


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_is_always_on_is_missed_though_it_has_come_back_before() -> None:
    fleet = hourly(4, settings=ALWAYS_ON)
    left = fleet.now
    fleet.run(200)
    assert len(no_members_at(fleet, left)) == 1


# --- REBALANCE_STORM


def come_and_go(fleet: Fleet, times: int) -> None:
    for _ in range(times):
        fleet.join("z")
        fleet.run(10)
        fleet.leave("z")
        fleet.run(10)


def test_more_than_six_changes_in_five_minutes_are_a_storm() -> None:
    fleet = running(320)
    come_and_go(fleet, 3)
    assert group_findings(fleet) == set()
    fleet.join("z")
    fleet.run(5)
    assert group_findings(fleet) == set()
    fleet.leave("z")
    fleet.run(5)
    assert fleet.firing() == {("", "REBALANCE_STORM")}  # at once: eight changes have taken their time
    assert "z" in said(fleet.alert("REBALANCE_STORM", None))


def test_a_client_that_was_restarted_twice_and_is_then_stopped_for_good_is_no_storm() -> None:
    fleet = running(320, clients="stuvwxyz")
    for _ in range(2):
        fleet.leave("z")
        fleet.run(15)
        fleet.join("z")
        fleet.run(60)
    fleet.leave("u", "v", "z")
    fleet.run(60)
    assert ("", "REBALANCE_STORM") not in fleet.fired()


def start_again(fleet: Fleet, *names: str) -> None:
    fleet.leave(*names)
    fleet.run(10)
    fleet.join(*names)
    fleet.run(40)


@pytest.mark.parametrize(("both", "is_storm"), [(1, False), (2, False), (3, True)])
def test_of_two_members_a_deploy_and_its_rollback_are_no_storm_and_two_that_crash_are(
    both: int, is_storm: bool
) -> None:
    """In each case one of them is restarted once more by itself, within five minutes."""
    fleet = running(320)
    for _ in range(both):
        start_again(fleet, "x", "y")
    start_again(fleet, "x")
    assert (("", "REBALANCE_STORM") in fleet.fired()) is is_storm


def test_a_storm_is_over_when_five_minutes_have_passed() -> None:
    fleet = running(320)
    come_and_go(fleet, 5)
    assert fleet.firing() == {("", "REBALANCE_STORM")}
    fleet.run(320)
    assert fleet.alerts("REBALANCE_STORM")[-1][1:] == ("resolved", "right_again")


def test_a_deploy_of_many_is_no_storm() -> None:
    """Many change, each of them once: who comes and goes again and again makes a storm."""
    fleet = running(320, clients=[f"old-{n}" for n in range(8)])
    for n in range(8):
        fleet.join(f"new-{n}")
        fleet.run(10)
        fleet.leave(f"old-{n}")
        fleet.run(10)
    fleet.run(120)
    assert fleet.alerts() == []


def test_a_deploy_and_its_rollback_after_a_restart_are_no_storm() -> None:
    """All leave twice, under their own ids, and one three times; one that goes on leaving is a storm."""
    fleet = Fleet()
    ids = [f"c{n}" for n in range(4)]
    fleet.join(*ids)
    fleet.run(320)
    for client_id in [ids[0], *ids, *ids]:
        restart(fleet, client_id)
    assert fleet.alerts("REBALANCE_STORM") == []
    for _ in range(2):
        restart(fleet, ids[0])
    fleet.run(35)
    assert ("", "REBALANCE_STORM") in fleet.firing()


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("up", [30, 150, 320])
@pytest.mark.parametrize("pause", [0, 5, 20])
@pytest.mark.parametrize("count", [4, 8])
def test_a_plain_shutdown_of_clients_of_one_address_is_no_storm(count: int, pause: float, up: float) -> None:
    """Each left once: no process of theirs came back."""
    fleet = Fleet()
    ids = [f"172.17.0.1@{n}" for n in range(count)]
    fleet.join(*ids)
    fleet.run(up)
    for client_id in ids:
        fleet.leave(client_id)
        fleet.run(pause)
    fleet.run(320)
    assert ("", "REBALANCE_STORM") not in fleet.fired()


@pytest.mark.parametrize("others", [0, 1, 5])
def test_one_process_that_is_started_again_and_again_is_a_storm_with_any_other_at_its_address(others: int) -> None:
    fleet = Fleet()
    fleet.join("10.0.0.9@1", "10.0.0.9@2", *(f"172.17.0.1@{n}" for n in range(others)))
    fleet.run(320)
    for turn in range(4):
        fleet.join(f"172.17.0.1@{turn + 100}")
        fleet.run(30)
        fleet.leave(f"172.17.0.1@{turn + 100}")
        fleet.run(30)
    assert ("", "REBALANCE_STORM") in fleet.fired()


def test_a_deploy_and_its_rollback_of_containers_of_one_address_are_no_storm_when_all_are_stopped_then() -> None:
    fleet = running(320, clients=("172.17.0.1@0", "172.17.0.1@1"))
    for n in range(4):
        fleet.leave(f"172.17.0.1@{n}")
        fleet.run(10)
        fleet.join(f"172.17.0.1@{n + 2}")
        fleet.run(20)
    fleet.leave("172.17.0.1@4", "172.17.0.1@5")
    fleet.run(320)
    assert ("", "REBALANCE_STORM") not in fleet.fired()


def restart(fleet: Fleet, client_id: str) -> None:
    fleet.leave(client_id)
    fleet.run(10)
    fleet.join(client_id)
    fleet.run(10)


# --- IDLE_MEMBERS


def test_more_members_than_queues_are_idle() -> None:
    fleet = running(clients=("x", "y", "z"), topics={"T": {"a": 1, "b": 1}})
    assert group_findings(fleet) == {("T", "IDLE_MEMBERS")}
    assert fleet.status().counts["IDLE_MEMBERS"] == 1
    assert fleet.status().status == "healthy"
    assert fleet.alerts() == []


def test_as_many_members_as_queues_are_not_idle() -> None:
    fleet = running(clients=("x", "y", "z"), topics={"T": {"a": 2, "b": 1}})
    assert group_findings(fleet) == set()


def test_broadcasting_members_are_never_idle() -> None:
    fleet = running(clients=("x", "y", "z"), how={"report": {"message_model": "BROADCASTING"}}, topics={"T": {"a": 1}})
    assert group_findings(fleet) == set()


def test_nothing_is_said_of_a_group_that_is_excluded() -> None:
    fleet = Fleet({"T": {"a": 1}}, settings=Settings(timing=DEFAULT_TIMING, groups=(GroupRule(excluded=True),)))
    fleet.join("x", "y", "z")
    fleet.run(60)
    assert group_findings(fleet) == set()


def test_of_an_id_that_is_listed_twice_one_report_tells_what_it_subscribes_to() -> None:
    fleet = running(40)
    fleet.ghost("y")
    fleet.of("y")[0].topics = {"T": "TagA"}
    fleet.run(60)
    assert ("", "INCONSISTENT_SUBSCRIPTION") in fleet.firing()
