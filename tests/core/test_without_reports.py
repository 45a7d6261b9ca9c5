"""What is found of a group whose clients are not asked: from lists, connections, subscriptions and offsets alone."""

from typing import Any

import pytest

from tests.core.fleet import Fleet, queues, running, said

NEVER = 0
RIVALS = {"rival_subscriptions": (("T",), ("U",))}


def unasked(**fields: Any) -> Fleet:
    return Fleet(report_every=NEVER, **fields)


def test_members_that_overwrite_each_others_subscriptions_are_found() -> None:
    fleet = unasked()
    fleet.join("x", "y")
    fleet.run(60)
    assert not fleet.firing()
    fleet.round_fields = RIVALS
    fleet.run(60)
    alert = fleet.alert("INCONSISTENT_SUBSCRIPTION", None)
    assert (alert.state, alert.severity, alert.cause) == ("firing", "warning", "SUBSCRIPTION_MISMATCH")
    assert said(alert) == "brokers show different subscriptions in turn (T; U): members overwrite each other's"
    fleet.round_fields = {}
    fleet.run(60)
    assert not fleet.firing()


def test_reports_of_all_members_say_more_than_what_brokers_show() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.round_fields = RIVALS
    fleet.run(90)
    assert not fleet.firing()


@pytest.mark.parametrize(
    ("report", "finding"),
    [
        (None, "EXCLUDED"),
        ({}, "EXCLUDED"),
        ({"client_rebalance": True}, "MATCH"),
        ({"client_rebalance": False}, "EXCLUDED"),
    ],
)
def test_topic_that_is_set_to_pop_is_excluded_unless_a_member_says_that_it_balances_itself(
    report: dict[str, bool] | None, finding: str
) -> None:
    fleet = unasked() if report is None else Fleet()
    fleet.join("x", report=report or {})
    fleet.round_fields = {"pop_topics": ("T",)}
    fleet.run(60)
    assert set(fleet.findings().values()) == {finding}


@pytest.mark.parametrize(("twice", "cause"), [(True, "SAME_CLIENT_ID"), (False, "VIEW_DIVERGENCE")])
def test_queues_that_nobody_consumes_are_found_with_their_cause(twice: bool, cause: str) -> None:
    fleet = unasked()
    fleet.join("x", "x" if twice else "y")
    if not twice:
        fleet.of("y")[0].brokers = ("a",)
    fleet.run(200)
    fleet.stuck.update(queues("b0-3"))
    fleet.run(120)
    alert = fleet.alert("STALLED", "T")
    assert (alert.state, alert.severity, alert.cause) == ("firing", "warning", cause)


@pytest.mark.parametrize("answers", [True, False])
def test_two_processes_under_one_id_are_found_though_no_queue_is_left_to_nobody(answers: bool) -> None:
    """One queue, and the first of two entries takes it: the second process takes the same, and nothing stands still."""
    fleet = running(150, clients=("x", "x"), topics={"T": {"a": 1}}, report_every=20 if answers else NEVER)
    assert fleet.fired() <= {("T", "DUPLICATED")}
    fleet.run(60)
    if answers:  # then its queues say more
        assert fleet.firing() == {("T", "DUPLICATED")}
        return
    assert fleet.firing() == {("", "SHARED_CLIENT_ID")}
    alert = fleet.alert("SHARED_CLIENT_ID", None)
    assert (alert.severity, alert.cause) == ("warning", "SAME_CLIENT_ID")
    assert said(alert) == "client id x is used by 2 instances at 10.0.0.1:5000, 10.0.0.2:5000"
    assert fleet.status().status == "findings"
    fleet.drop(fleet.of("x")[1])
    fleet.run(30)
    assert fleet.firing() == set()


def test_a_dead_connection_is_no_second_process() -> None:
    fleet = unasked()
    fleet.join("x", "y")
    fleet.run(60)
    ghost = fleet.ghost("x")
    fleet.run(130)
    fleet.drop(ghost)
    fleet.run(120)
    assert ("", "SHARED_CLIENT_ID") not in fleet.fired()


@pytest.mark.parametrize(
    "heartbeat", [{"message_model": "BROADCASTING"}, {"consume_type": "CONSUME_ACTIVELY"}, {"message_model": None}]
)
def test_one_id_twice_says_nothing_where_clients_do_not_share_out_the_queues(heartbeat: dict[str, Any]) -> None:
    fleet = unasked(rate=0)
    for one in fleet.join("x", "x"):
        one.heartbeat = heartbeat
    fleet.run(300)
    assert fleet.fired() == set()


def test_one_id_twice_is_not_judged_while_its_broker_is_not_covered() -> None:
    fleet = unasked(topics={"T": {"a": 1}})
    fleet.join("x", "x")
    fleet.run(250)
    fleet.no_lists.add("a")
    fleet.run(60)
    assert fleet.alerts("SHARED_CLIENT_ID")[-1][1:] == ("firing", "evidence_lost")


def differing(fleet: Fleet) -> Fleet:
    """Broker a lists x and y, broker b only x; both consume what b would leave to x."""
    fleet.join("x", "y")
    fleet.of("y")[0].brokers = ("a",)
    return fleet


@pytest.mark.parametrize("answers", [True, False])
def test_lists_that_differ_for_long_are_found_though_all_queues_move(answers: bool) -> None:
    fleet = differing(Fleet(report_every=20 if answers else NEVER))
    fleet.run(175)
    assert ("", "MEMBER_LISTS_DIFFER") not in fleet.fired()
    fleet.run(35)
    if answers:
        assert ("", "MEMBER_LISTS_DIFFER") not in fleet.fired()
        return
    assert fleet.firing() == {("", "MEMBER_LISTS_DIFFER")}
    alert = fleet.alert("MEMBER_LISTS_DIFFER", None)
    assert (alert.severity, alert.cause) == ("warning", "VIEW_DIVERGENCE")
    assert said(alert) == "a lists x, y; b lists x"
    fleet.of("y")[0].brokers = None
    fleet.run(40)
    assert fleet.firing() == set()


def test_lists_that_go_on_changing_are_not_judged() -> None:
    fleet = differing(unasked())
    for _ in range(20):
        fleet.join("z")
        fleet.run(20)
        fleet.leave("z")
        fleet.run(10)
    assert ("", "MEMBER_LISTS_DIFFER") not in fleet.fired()


def test_lists_of_a_restarted_broker_may_differ_until_heartbeats_have_come() -> None:
    fleet = unasked()
    fleet.join("x", "y")
    fleet.run(100)
    fleet.down.add("b")
    fleet.run(60)
    fleet.down.discard("b")
    fleet.of("y")[0].brokers = ("a",)
    fleet.run(120)
    fleet.of("y")[0].brokers = None
    fleet.run(200)
    assert ("", "MEMBER_LISTS_DIFFER") not in fleet.fired()


def test_a_client_behind_a_proxy_may_be_known_to_one_broker_only() -> None:
    """Its proxy registers it, and it shares out nothing itself."""
    fleet = unasked()
    fleet.join("x", "orders-1@1@0@2hs8xkq31c")
    fleet.of("orders-1@1@0@2hs8xkq31c")[0].brokers = ("a",)
    fleet.run(400)
    assert ("", "MEMBER_LISTS_DIFFER") not in fleet.fired()


def test_standing_still_since_the_start_of_clients_that_were_not_asked_is_no_proof() -> None:
    """Brokers of the 4.x line do not tell whether messages were pulled, and nobody has said anything."""
    fleet = unasked(progress_every=20)
    fleet.reports_pull_offsets = False
    fleet.join("x", "y")
    fleet.stuck.update(queues("a0-3"))
    fleet.run(100)
    assert fleet.fired() == set()
