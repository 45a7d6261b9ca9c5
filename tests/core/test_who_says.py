"""Who says what it owns, and who is judged at all: pull clients, other SDKs, and members of another kind in a group."""

from typing import Any

import pytest

from schemas.events import OwnedQueue, OwnedQueues
from schemas.facts import RebalanceFact
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings
from tests.core.fleet import Fleet, running, said
from tests.said import why

ACTIVELY, PASSIVELY = "CONSUME_ACTIVELY", "CONSUME_PASSIVELY"
PULLS: dict[str, Any] = {"report": {"owned": (), "consume_type": ACTIVELY}}  # DefaultMQPullConsumer: no queues
PULLS_BY_HEARTBEAT: dict[str, Any] = {"report": {"owned": ()}, "heartbeat": {"consume_type": ACTIVELY}}
TOOL: dict[str, Any] = {  # it pulls queues that it assigns itself, under the name of the group
    "report": {"owned": (), "subscriptions": (), "consume_type": ACTIVELY},
    "consumes": False,
}
POPS: dict[str, Any] = {"pop": (OwnedQueues("T", "a", (OwnedQueue(0),)),), "owned": (), "client_rebalance": False}
GO: dict[str, Any] = {"report": {"strategy": None, "message_model": None}, "heartbeat": {"message_model": None}}


def kinds(fleet: Fleet, topic: str = "T") -> set[str]:
    return set(fleet.findings(topic).values())


def alert_of(fleet: Fleet, kind: str) -> tuple[str | None, list[str], list[str]]:
    """Cause, queues and named clients of the newest alert of the kind."""
    alert = fleet.alert(kind)
    queues = [f"{queue.broker_name}{queue.queue_id}" for queue in alert.queues]
    return alert.cause, queues, [client.client_id for client in alert.clients]


# --- pull clients that do not list their queues


@pytest.mark.parametrize("fields", [PULLS, PULLS_BY_HEARTBEAT], ids=["by its report", "by its heartbeat"])
def test_a_pull_group_that_is_well_alerts_nobody(fields: dict[str, Any]) -> None:
    fleet = running(600, how=fields)
    assert fleet.alerts() == []
    assert kinds(fleet) == {"UNKNOWN"}
    assert why(fleet.finding("a0")) == "x, y: what they own is not known (pulls by itself)"
    assert fleet.status().status == "unknown"


def test_what_is_kept_of_the_reason_names_no_client() -> None:
    """Its state would else grow with its members' ids."""
    fleet = running(how=PULLS)
    before = fleet.state.status
    fleet.join("z" * 200, **PULLS)
    fleet.run(60)
    assert before != fleet.state.status
    assert len(fleet.state.status) == len(before)


def test_a_pull_group_of_which_nobody_says_who_owns_what_has_no_rebalances() -> None:
    fleet = running(how=PULLS)
    fleet.join("z", **PULLS)
    fleet.run(900)
    assert fleet.told(RebalanceFact) == []


def test_a_pull_client_that_stops_consuming_is_found_by_offsets() -> None:
    fleet = running(120, how=PULLS)
    fleet.of("x")[0].consumes = False
    fleet.run(240)
    assert fleet.firing() == set(), "it may pull when it likes"
    fleet.run(120)
    assert fleet.firing() == {("T", "STALLED")}
    assert alert_of(fleet, "STALLED") == ("CLIENT_STALLED", ["a0", "a1", "a2", "a3"], ["x"])
    assert "does not report which queues it owns" in said(fleet.alert("STALLED"))
    fleet.of("x")[0].consumes = True
    fleet.run(60)
    assert fleet.firing() == set()


@pytest.mark.slow("minutes and hours of a group are folded")
def test_pull_clients_that_keep_their_offsets_elsewhere_never_stall() -> None:
    fleet = Fleet()
    fleet.stick()
    fleet.join("x", "y", **PULLS)
    fleet.run(1800)
    assert fleet.alerts() == []


def test_pull_clients_that_list_their_queues_are_judged() -> None:
    """DefaultLitePullConsumer from 5.1.1 on."""
    fleet = running(how={"report": {"consume_type": ACTIVELY}}, rate=0)
    assert kinds(fleet) == {"MATCH"}
    fleet.own("x", "a1-3")
    fleet.run(90)
    assert fleet.firing() == {("T", "ORPHANED")}


def test_what_a_push_client_says_counts_whatever_the_last_heartbeat_of_the_group_was() -> None:
    """ConsumerGroupInfo.updateChannel: the type that a broker tells of all is that of the group's last heartbeat."""
    fleet = Fleet(rate=0)
    fleet.join("x", "y", report={"consume_type": PASSIVELY}, heartbeat={"consume_type": ACTIVELY})
    fleet.own("x", "")
    fleet.run(90)
    assert fleet.firing() == {("T", "ORPHANED")}


# --- nobody has said the message model


def test_broadcasting_that_nobody_names_is_not_taken_for_double_owners() -> None:
    fleet = Fleet()
    fleet.stick()
    fleet.join("x", "y", **GO)
    for one in ("x", "y"):
        fleet.own(one, "a0-3 b0-3")
    fleet.run(600)
    assert fleet.alerts() == []
    assert kinds(fleet) == {"UNKNOWN"}
    assert "CLUSTERING or BROADCASTING" in (why(fleet.finding("a0")) or "")


def test_one_that_lacks_a_queue_is_not_lost_either_way() -> None:
    fleet = Fleet(rate=0)
    fleet.join("x", "y", **GO)
    fleet.own("x", "a1-3")
    fleet.run(600)
    assert fleet.alerts() == []


def test_a_group_whose_offsets_move_at_brokers_does_not_broadcast() -> None:
    fleet = running(how=GO)
    assert kinds(fleet) == {"MATCH"}
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}


def test_a_report_that_names_the_model_is_enough() -> None:
    fleet = Fleet(rate=0)
    fleet.join("x", "y", heartbeat={"message_model": None})
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}


def test_queues_assigned_by_hand_are_not_lost_where_brokers_do_not_tell_the_type() -> None:
    """Request 203 is refused, and the reports are of a producer that does not pass the type on."""
    fleet = running(600, how={"report": {"subscriptions": (), "owned": ()}})
    assert fleet.alerts() == []
    assert kinds(fleet) == {"UNKNOWN"}


# --- members of another kind


def test_a_pull_tool_takes_a_share_that_nobody_consumes() -> None:
    fleet = running(120)
    fleet.join("tool", **TOOL)
    fleet.run(400)
    assert fleet.firing() == {("T", "STALLED")}
    cause, queues, clients = alert_of(fleet, "STALLED")
    assert (cause, queues, clients[0]) == ("SUBSCRIPTION_MISMATCH", ["a0", "a1", "a2"], "tool")
    assert {fleet.finding(f"b{i}").finding for i in range(4)} == {"MATCH"}
    assert fleet.status().status == "findings"
    fleet.leave("tool")
    fleet.run(120)
    assert fleet.firing() == set()
    assert kinds(fleet) == {"MATCH"}


def test_the_share_of_a_pull_tool_waits_for_no_deploy() -> None:
    fleet = running(120, clients=("w", "x", "y"))
    fleet.join("tool", **TOOL)
    fleet.leave("w")
    fleet.join("v")
    fleet.run(400)
    assert fleet.firing() == {("T", "STALLED")}
    assert "waits_for_deploy" not in reasons(fleet, "STALLED")


def test_a_pull_tool_hides_no_double_owners() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.join("tool", **TOOL)
    fleet.run(60)
    fleet.own("y", "a3 b0-3")
    fleet.own("x", "a3 b0")
    fleet.run(60)
    assert ("T", "DUPLICATED") in fleet.firing()


def test_without_messages_the_share_of_a_pull_tool_is_not_known() -> None:
    fleet = Fleet(rate=0)
    fleet.join("x", "y")
    fleet.join("tool", **TOOL)
    fleet.run(600)
    assert fleet.alerts() == []
    assert fleet.finding("a0").finding == "UNKNOWN"
    assert why(fleet.finding("a0")) == "tool: what it owns is not known (LITE_ASSIGN)"
    assert fleet.finding("b0").finding == "MATCH"


def test_the_share_of_one_that_a_proxy_serves_is_named_when_it_stands_still() -> None:
    fleet = running()
    fleet.join("a@1@0@2hs8xkq31c", answers=False, consumes=False)
    fleet.run(400)
    assert fleet.firing() == {("T", "STALLED")}
    cause, _, clients = alert_of(fleet, "STALLED")
    assert (cause, clients[0]) == ("STRATEGY_MISMATCH", "a@1@0@2hs8xkq31c")
    observed = fleet.alert("STALLED").observed.owners_balance_otherwise
    assert observed.clients.client_ids == ("a@1@0@2hs8xkq31c",)
    assert observed.exclusions == ("PROXY_CLIENT",)


@pytest.mark.parametrize("report", [POPS, {"client_rebalance": False}], ids=["pops", "brokers allocate"])
def test_one_of_another_kind_does_not_exclude_the_others(report: dict[str, Any]) -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.join("z", report=report)
    fleet.run(300)
    assert fleet.alerts() == []
    assert fleet.finding("a0").finding == "MATCH"
    assert fleet.status().status != "excluded"


def test_a_member_that_was_not_asked_yet_leaves_the_others_excluded() -> None:
    fleet = running(how={"report": POPS})
    fleet.report_every = 0
    fleet.join("z", report=POPS)
    fleet.run(20)
    assert kinds(fleet) == {"EXCLUDED"}


# --- what is excluded says nothing of what was wrong


def orphaned() -> Fleet:
    fleet = running(rate=0)
    fleet.own("x", "a1-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "ORPHANED")}
    return fleet


def reasons(fleet: Fleet, kind: str) -> list[str]:
    return [reason for _, _, reason in fleet.alerts(kind)]


def test_a_group_that_is_excluded_now_and_then_is_one_page() -> None:
    fleet = orphaned()
    for _ in range(5):
        for one in fleet.instances:
            one.report = POPS
        fleet.run(60)
        assert kinds(fleet) == {"EXCLUDED"}
        for one in fleet.instances:
            one.report = {}
        fleet.run(90)
    assert reasons(fleet, "ORPHANED").count("held_long_enough") == 1
    assert "right_again" not in reasons(fleet, "ORPHANED")
    assert fleet.firing() == {("T", "ORPHANED")}


def test_a_group_that_is_excluded_for_good_ends_its_alerts_after_an_hour_by_that_name() -> None:
    fleet = orphaned()
    for one in fleet.instances:
        one.report = POPS
    fleet.run(60)
    assert fleet.alert("ORPHANED").stale
    fleet.idle(3500)
    assert fleet.firing() == {("T", "ORPHANED")}
    fleet.idle(160)
    assert fleet.firing() == set()
    assert reasons(fleet, "ORPHANED")[-1] == "excluded"


def test_an_operator_that_excludes_a_group_ends_its_alerts() -> None:
    fleet = orphaned()
    fleet.settings = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(excluded=True),))
    fleet.run(10)
    assert fleet.firing() == set()
    assert reasons(fleet, "ORPHANED")[-1] == "excluded"


def test_a_stall_that_is_seen_to_be_over_ends_though_the_group_is_excluded() -> None:
    fleet = running()
    fleet.stick("a0")
    fleet.run(120)
    assert fleet.firing() == {("T", "STALLED")}
    for one in fleet.instances:
        one.report = POPS
    fleet.run(60)
    assert fleet.firing() == {("T", "STALLED")}
    fleet.stick("")
    fleet.run(60)
    assert reasons(fleet, "STALLED")[-1] == "right_again"
