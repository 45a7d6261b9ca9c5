"""A client id listed twice: two instances, or one and a connection that has died. Only proof makes it a fault."""

import pytest

from schemas.events import Heartbeat
from schemas.facts import MemberFact
from tests.core.fleet import T0, Fleet, Instance, queues, running, said

WITHOUT_MESSAGES = {"rate": 0}


def fired(fleet: Fleet) -> set[str]:
    return {kind for _, kind in fleet.fired()}


def test_two_start_times_prove_two_instances() -> None:
    fleet = running(**WITHOUT_MESSAGES)
    fleet.join("x")
    fleet.run(100)
    assert fleet.firing() == {("T", "DUPLICATED"), ("T", "ORPHANED")}
    duplicated, orphaned = fleet.alert("DUPLICATED"), fleet.alert("ORPHANED")
    assert duplicated.cause == orphaned.cause == "SAME_CLIENT_ID"
    assert [(q.broker_name, q.queue_id, q.owners) for q in duplicated.queues] == [
        ("a", 0, ("x", "x")), ("a", 1, ("x", "x")), ("a", 2, ("x", "x")),
    ]  # fmt: skip
    assert [(q.broker_name, q.queue_id) for q in orphaned.queues] == [("a", 3), ("b", 0), ("b", 1)]
    assert "10.0.0.1:5000, 10.0.0.3:5000" in said(duplicated)
    assert "started at" in said(duplicated)


def test_the_double_entry_counts_in_the_allocation() -> None:
    fleet = running(clients=("x", "x", "y"), **WITHOUT_MESSAGES)
    assert fleet.finding("a0").expected == ("x", "x")
    assert fleet.finding("a3").expected == ()
    assert fleet.finding("b3").expected == ("y",)


def test_a_queue_of_two_instances_that_only_one_of_them_owns_is_not_misplaced() -> None:
    """The other one may lack the broker's lock."""
    fleet = Fleet(**WITHOUT_MESSAGES)
    first, _, _ = fleet.join("x", "x", "y")
    first.owned = {queue for queue in first.owned if queue.queue_id != 0}
    fleet.run(100)
    finding = fleet.finding("a0")
    assert (finding.finding, finding.owners, finding.expected) == ("MATCH", ("x",), ("x", "x"))
    assert ("T", "MISPLACED") not in fleet.fired()


def asked_always_through_one_broker(fleet: Fleet) -> None:
    """307 reaches only one of two instances with one id, and always the same one."""
    first, second = fleet.of("x")
    first.answers = second.answers = True
    fleet.instances.remove(first)
    fleet.instances.append(first)
    fleet._say_reports = lambda: [  # type: ignore[method-assign]
        fleet.report(one, fleet.now - 1)
        for one in fleet.instances
        if one is not first and fleet._is_time_for(fleet.report_every, one.index)
    ]


def test_two_addresses_prove_two_instances_after_155_s() -> None:
    """Though only one of them is ever heard, and the other was heard while it was alone."""
    fleet = running(**WITHOUT_MESSAGES)
    fleet.join("x")
    asked_always_through_one_broker(fleet)
    fleet.run(160)
    assert fired(fleet) == set()
    fleet.run(40)
    assert fleet.firing() == {("T", "DUPLICATED"), ("T", "ORPHANED")}
    assert fleet.alert("DUPLICATED").cause == "SAME_CLIENT_ID"
    assert fleet.alert("DUPLICATED").queues[0].owners == ("x", "x")


def alive(fleet: Fleet, number: int, client_id: str = "x") -> None:
    addresses = tuple(one.address for one in fleet.of(client_id))
    fleet.say(Heartbeat, broker_name="a", client_id=client_id, observed="listed", addresses=addresses, alive=number)


@pytest.mark.parametrize(("number", "is_proven"), [(0, False), (1, False), (2, True)])
def test_two_connections_that_send_heartbeats_prove_two_instances(number: int, is_proven: bool) -> None:
    """Though only one of them is ever heard. A dead connection sends none."""
    fleet = running(**WITHOUT_MESSAGES)
    fleet.join("x")
    asked_always_through_one_broker(fleet)
    fleet.run(35)
    alive(fleet, number)
    fleet.run(45)
    assert fleet.firing() == ({("T", "DUPLICATED"), ("T", "ORPHANED")} if is_proven else set())
    if is_proven:
        assert fleet.alert("DUPLICATED").cause == "SAME_CLIENT_ID"


def test_an_instance_that_sends_no_more_heartbeats_owns_nothing() -> None:
    """Both shared the id, so the share of the second place is still nobody's; but nothing is consumed twice."""
    fleet = running(**WITHOUT_MESSAGES)
    fleet.join("x")
    asked_always_through_one_broker(fleet)
    fleet.run(35)
    alive(fleet, 2)
    alive(fleet, 1)
    fleet.run(45)
    assert fleet.firing() == {("T", "ORPHANED")}
    assert fleet.alert("ORPHANED").cause == "SAME_CLIENT_ID"
    assert fleet.finding("a0").owners == ("x",)
    alive(fleet, 2)
    fleet.run(45)
    assert fleet.firing() == {("T", "DUPLICATED"), ("T", "ORPHANED")}


def test_that_two_connections_were_alive_says_nothing_of_others() -> None:
    fleet = running(**WITHOUT_MESSAGES)
    second, _ = fleet.join("x")[0], asked_always_through_one_broker(fleet)
    fleet.run(10)
    alive(fleet, 2)
    fleet.drop(second)
    fleet.run(30)
    fleet.ghost("x")
    fleet.run(60)
    assert fleet.fired() == set()
    assert {fleet.finding(queue).cause for queue in ("a0", "a3", "b3")} == {"STALE_CONNECTION"}


@pytest.mark.parametrize("listed_for", [30, 60, 125])
def test_a_dead_connection_is_no_second_instance(listed_for: int) -> None:
    """After a network blip a broker lists the id twice for up to 130 s; nothing fires, and it says why it waits."""
    fleet = running(**WITHOUT_MESSAGES)
    ghost = fleet.ghost("x")
    fleet.run(listed_for)
    assert {fleet.finding(queue).cause for queue in ("a0", "a3", "b3")} == {"STALE_CONNECTION"}
    assert set(fleet.findings().values()) == {"UNKNOWN"}
    fleet.drop(ghost)
    fleet.run(120)
    assert fleet.fired() == set()
    assert set(fleet.findings().values()) == {"MATCH"}


def test_the_share_of_a_dead_connection_stands_still_until_brokers_drop_it() -> None:
    """No client owns it for as long as it is listed. It is over before anybody could help."""
    fleet = running()
    ghost = fleet.ghost("x")
    fleet.run(125)
    assert (fleet.finding("b0").finding, fleet.finding("b0").cause) == ("UNKNOWN", "STALE_CONNECTION")
    assert fleet.offsets[queues("b0")[0]].consumer < fleet.offsets[queues("b0")[0]].broker - 300
    fleet.drop(ghost)
    fleet.run(60)
    assert fleet.alerts("STALLED") == []


def test_what_a_dead_connection_does_not_explain_does_not_wait_for_it() -> None:
    """Its client no longer pulls: the share of the second entry waits, that of the first does not."""
    fleet = running()
    ghost = fleet.ghost("x")
    (stopped,) = fleet.of("x")[:1]
    stopped.consumes = stopped.answers = False
    fleet.run(70)
    assert ("T", "STALLED") in fleet.firing()
    assert [(queue.broker_name, queue.queue_id) for queue in fleet.alert("STALLED").queues] == [
        ("a", n) for n in range(3)
    ]
    fleet.drop(ghost)
    fleet.run(80)
    assert fleet.alert("STALLED").cause == "CLIENT_STALLED"
    assert len(fleet.alert("STALLED").queues) == 4


def test_a_dead_connection_hides_no_other_client_that_has_stopped() -> None:
    """It can leave nobody but its own id's share: what another client does not consume is not due to it."""
    fleet = running()
    fleet.ghost("x")
    (stopped,) = fleet.of("y")
    stopped.answers = stopped.consumes = False
    fleet.run(125)
    assert (fleet.alert("STALLED").state, fleet.alert("STALLED").cause) == ("firing", "CLIENT_STALLED")


def test_a_client_that_is_asked_through_its_dead_connection_is_not_one_that_has_stopped() -> None:
    """A broker may forward every request to the dead connection: that no answer comes says nothing of the client."""
    fleet = running(clients=("x",))
    (asked,) = fleet.of("x")
    fleet.ghost("x")
    asked.answers = False
    fleet.run(100)
    assert {fleet.finding(queue).cause for queue in ("a0", "b0")} == {"STALE_CONNECTION"}
    assert fleet.fired() == set()


def test_the_queues_of_one_dead_connection_do_not_wait_for_another() -> None:
    """Once it is dropped its queues are given out again, and have time for it, though another id is listed twice."""
    fleet = running(clients=("x", "y", "z"))
    (asked,) = fleet.of("x")
    ghost = fleet.ghost("x")
    asked.answers = False
    fleet.run(60)
    fleet.ghost("z")
    fleet.run(60)
    fleet.freeze()  # nobody has shared out the queues again yet
    fleet.drop(ghost)
    fleet.run(15)
    assert ("T", "STALLED") not in fleet.fired()


def test_what_an_id_owned_before_it_left_is_no_second_instance() -> None:
    """It was started again, and then lost a connection: the process that is gone owns nothing."""
    fleet = running(**WITHOUT_MESSAGES)
    fleet.leave("x")
    fleet.run(10)
    fleet.join("x")
    fleet.own("x", "a1")
    fleet.run(30)
    fleet.ghost("x")
    fleet.run(10)
    assert fleet.finding("a0").owners is None
    assert fleet.finding("a1").owners == ("x",)


def test_what_an_id_owned_before_it_left_it_does_not_own_when_it_is_back() -> None:
    """It does not answer since, perhaps because it is asked through a dead connection."""
    fleet = running(**WITHOUT_MESSAGES)
    assert fleet.finding("a0").owners == ("x",)
    fleet.leave("x")
    fleet.run(10)
    fleet.join("x", answers=False)
    fleet.run(60)
    assert fleet.finding("a0").owners is None


def test_what_starves_a_queue_for_longer_than_a_dead_connection_can_is_a_page_whatever_the_cause() -> None:
    fleet = running()
    fleet.ghost("x")
    fleet.run(240)
    assert {fleet.alert(kind).cause for _, kind in fleet.firing()} == {"SAME_CLIENT_ID"}


def restart(fleet: Fleet, old: Instance) -> Instance:
    """kill -9 in a container: the old connection is still listed, and the old start time was heard before."""
    old.is_ghost, old.answers = True, False
    (new,) = fleet.join(old.client_id)
    return new


def assert_nobody_is_called(fleet: Fleet, dead: Instance, listed_s: float) -> None:
    """Neither while its connection is listed nor after that."""
    fleet.run(listed_s)
    assert fleet.fired() == set()
    fleet.drop(dead)
    fleet.run(120)
    assert fleet.fired() == set()


def test_a_restart_under_the_same_id_is_no_second_instance() -> None:
    fleet = running(**WITHOUT_MESSAGES)
    (old,) = fleet.of("x")
    restart(fleet, old)
    assert_nobody_is_called(fleet, old, 125)
    assert set(fleet.findings().values()) == {"MATCH"}


@pytest.mark.parametrize("clock_behind_ms", [0, 20_000, 600_000])
def test_the_share_of_the_connection_that_a_restart_left_calls_nobody_whatever_the_clock(clock_behind_ms: int) -> None:
    """The clock of the client's machine is behind: by its own words it started before the old process last answered."""
    fleet = running()
    (old,) = fleet.of("x")
    restart(fleet, old).start_ts = T0 + 60_000 - clock_behind_ms
    assert_nobody_is_called(fleet, old, 125)


def test_a_restart_while_a_dead_connection_is_listed_is_no_second_instance() -> None:
    """Brokers list the id twice before and after, by other addresses."""
    fleet = running()
    dead = fleet.ghost("x")
    fleet.run(60)
    old = next(one for one in fleet.of("x") if one is not dead)
    fleet.drop(dead)
    restart(fleet, old)
    assert_nobody_is_called(fleet, old, 75)


def test_a_restart_under_the_same_id_goes_by_the_new_instance() -> None:
    fleet = running(**WITHOUT_MESSAGES)
    (old,) = fleet.of("x")
    fleet.drop(old)
    (new,) = fleet.join("x")
    fleet.run(120)
    assert set(fleet.findings().values()) == {"MATCH"}
    (*_, member) = [f.payload for f in fleet.told(MemberFact) if f.payload.client_id == "x"]
    assert member.start_ts == new.start_ts


def test_three_instances_are_told_from_two_start_times() -> None:
    fleet = running(120, clients=("x", "x", "x", "y"), **WITHOUT_MESSAGES)
    assert fleet.firing() == {("T", "DUPLICATED"), ("T", "ORPHANED")}
    assert fleet.alert("DUPLICATED").cause == "SAME_CLIENT_ID"


def test_a_second_instance_that_stops_answering_leaves_the_alert_open_and_stale_at_most() -> None:
    """Evidence that is lost in the middle never resolves an alert; two addresses go on proving it."""
    fleet = running(**WITHOUT_MESSAGES)
    _, second = [*fleet.of("x"), *fleet.join("x")]
    fleet.run(100)
    second.answers = False
    fleet.run(300)
    assert fleet.firing() == {("T", "DUPLICATED"), ("T", "ORPHANED")}
    assert "resolved" not in {state for _, state, _ in fleet.alerts()}
    assert fleet.finding("a0").finding == "DUPLICATED"


def test_members_are_told_with_their_instances_and_addresses() -> None:
    fleet = Fleet(**WITHOUT_MESSAGES)
    fleet.join("10.0.0.1@a")
    fleet.join("10.0.0.1@a")
    fleet.run(30)
    (*_, member) = [f.payload for f in fleet.told(MemberFact)]
    assert member.instances == 2
    assert member.addresses == ("10.0.0.1:5000", "10.0.0.2:5000")
    assert member.brokers == ("a", "b")
