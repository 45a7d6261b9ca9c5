"""Members as facts: who is listed where, what is known of each, and when one is forgotten."""

import random

import pytest

from schemas.events import ConsumerChange
from schemas.facts import MemberFact, MembershipFact
from streaming.core.retention import KEEP_LEFT_CLIENT_MS
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState
from streaming.core.state.packing import pack
from tests.core.fleet import T0, Fleet, running


def members(fleet: Fleet) -> list[MemberFact]:
    return [fact.payload for fact in fleet.told(MemberFact)]


def memberships(fleet: Fleet) -> list[MembershipFact]:
    return [fact.payload for fact in fleet.told(MembershipFact)]


def joined(*client_ids: str, **fields: object) -> Fleet:
    fleet = Fleet(**fields)
    fleet.join(*client_ids)
    return fleet


# --- membership, broker by broker


def test_who_stands_in_a_broker_s_first_list_came_nobody_knows_when() -> None:
    fleet = joined("x", "y").run(5)
    fleet.join("z")
    fleet.run(5)
    fleet.leave("x")
    fleet.run(5)
    told = {(m.client_id, m.change, m.first_seen) for m in memberships(fleet)}
    assert told == {
        ("x", "appeared", True), ("y", "appeared", True), ("z", "appeared", False), ("x", "disappeared", False),
    }  # fmt: skip


def test_each_broker_tells_who_appears_and_disappears() -> None:
    fleet = joined("x").run(5)
    fleet.join("y", brokers=("b",))
    fleet.run(5)
    fleet.leave("x")
    fleet.run(5)
    told = [(m.broker_name, m.client_id, m.change, m.entries) for m in memberships(fleet)]
    assert told == [
        ("a", "x", "appeared", 1), ("b", "x", "appeared", 1),
        ("b", "y", "appeared", 1),
        ("a", "x", "disappeared", 0), ("b", "x", "disappeared", 0),
    ]  # fmt: skip


def test_a_second_entry_appears_and_disappears_too() -> None:
    fleet = joined("x").run(5)
    ghost = fleet.ghost("x")
    fleet.run(5)
    fleet.drop(ghost)
    fleet.run(5)
    told = [(m.change, m.entries) for m in memberships(fleet) if m.broker_name == "a"]
    assert told == [("appeared", 1), ("appeared", 2), ("disappeared", 1)]


def test_the_order_of_a_list_says_nothing() -> None:
    fleet = joined("x", "y", "z").run(5)
    before = len(fleet.facts)
    fleet.instances.reverse()
    fleet.run(5)
    assert [fact for fact in fleet.facts[before:] if isinstance(fact.payload, MembershipFact)] == []


def test_a_reason_that_a_producer_saw_is_told_with_the_change() -> None:
    fleet = joined("x", "y").run(5)
    for reason, at in (("expired", 6), (None, 7)):
        fleet.say(ConsumerChange, at, broker_name="a", client_id="x", change="disappeared", reason=reason)
    fleet.leave("x")
    fleet.run(5)
    told = {(m.broker_name, m.reason) for m in memberships(fleet) if m.change == "disappeared"}
    assert told == {("a", "expired"), ("b", None)}
    fleet.join("x")
    fleet.run(5)
    fleet.leave("x")
    fleet.run(5)
    assert memberships(fleet)[-2].reason is None


def test_a_membership_is_told_with_its_addresses() -> None:
    fleet = joined("10.0.0.1@1").run(5)
    assert {m.addresses for m in memberships(fleet)} == {("10.0.0.1:5000",)}


# --- members as one would list them


def test_a_member_is_told_when_something_about_it_changes() -> None:
    fleet = joined("x", report_every=5).run(60)
    told = members(fleet)
    assert len(told) <= 2
    assert told[-1] == MemberFact(
        client_id="x",
        present=True,
        since_ts=T0 + 5_000,
        brokers=("a", "b"),
        addresses=("10.0.0.1:5000",),
        message_model="CLUSTERING",
        strategy="AllocateMessageQueueAveragely",
        orderly=False,
        subscriptions=("T",),
        start_ts=fleet.instances[0].start_ts,
    )
    fleet.instances[0].topics = {"T": "*", "U": "*", "%RETRY%g": "*"}
    fleet.run(10)
    assert members(fleet)[-1].subscriptions == ("T", "U")


def test_what_heartbeats_say_of_a_member_is_told() -> None:
    fleet = joined("x").run(5)
    fleet.instances[0].heartbeat = {"language": "JAVA", "version": "V5_3_3"}
    fleet.run(5)
    assert (members(fleet)[-1].language, members(fleet)[-1].version) == ("JAVA", "V5_3_3")


def test_a_heartbeat_of_a_round_that_is_over_says_nothing() -> None:
    fleet = joined("x").run(60)
    heartbeat = next(event for event in reversed(fleet.events) if type(event).__name__ == "Heartbeat")
    fleet.instances[0].heartbeat = {"language": "JAVA"}
    fleet.run(60)
    fleet.take(heartbeat)
    fleet.run(20)
    assert members(fleet)[-1].language == "JAVA"


def test_a_member_that_left_is_told_once() -> None:
    fleet = joined("x", "y").run(60)
    fleet.leave("x")
    fleet.run(60)
    gone = [member for member in members(fleet) if not member.present]
    assert gone == [MemberFact(client_id="x", present=False, since_ts=T0 + 65_000)]


# --- forgetting


@pytest.mark.parametrize(("seconds", "is_known"), [(895, True), (910, False)])
def test_a_client_is_forgotten_a_quarter_of_an_hour_after_it_left(seconds: int, is_known: bool) -> None:
    assert KEEP_LEFT_CLIENT_MS == 900_000
    fleet = joined("x", "y").run(60)
    fleet.leave("x")
    fleet.run(5 + seconds)
    assert ("x" in [client.client_id for client in fleet.state.clients]) is is_known


def test_a_client_that_reports_but_is_never_listed_is_forgotten_too() -> None:
    fleet = joined("x").run(60)
    (stranger,) = fleet.join("stranger", brokers=())
    fleet.report(stranger)
    fleet.drop(stranger)
    fleet.run(1000)
    assert [client.client_id for client in fleet.state.clients] == ["x"]


def test_a_queue_that_is_in_no_route_and_no_alert_is_forgotten() -> None:
    fleet = joined("x", "y").run(60)
    fleet.route("T", a=4, b=2)
    fleet.run(300)
    assert len(fleet.state.queues) == 6


def test_places_stay_consistent_when_something_is_forgotten() -> None:
    """The queues of an open alert, of reports and of owners are the same before and after."""
    fleet = running(10, clients=("gone",), rate=0)
    fleet.join("x", "y")
    fleet.leave("gone")
    fleet.own("y", "a0 b0-3")
    fleet.run(200)
    group = Group(fleet.state, fleet.settings)
    shown = view(fleet.state)
    group.drop_clients_and_queues({group.client("gone")}, set())
    assert view(fleet.state) == shown
    assert consistent(fleet.state)


def view(state: GroupState) -> dict[str, object]:
    """The state by names in place of places, without clients that nobody lists."""
    group = Group(state, Fleet().settings)
    names = [group.message_queue(index) for index in range(len(state.queues))]
    return {
        "owners": {
            names[p]: (group.client_ids(q.owners), q.expected and group.client_ids(q.expected), q.finding)
            for p, q in enumerate(state.queues)
        },
        "reports": {
            c.client_id: [
                (r.answered_ts, [names[p] for p in r.owned], state.running_profiles[r.running]) for r in c.reports
            ]
            for c in state.clients
            if any(c.entries)
        },
        "heartbeat": {
            c.client_id: state.heartbeat_profiles[c.heartbeat]
            for c in state.clients
            if c.heartbeat >= 0 and any(c.entries)
        },
        "alerts": [(a.topic, a.kind, [names[p] for p in a.queues]) for a in state.alerts],
    }


def consistent(state: GroupState) -> bool:
    """Every place that the state refers to exists, and nothing stands twice."""
    clients, queues = range(len(state.clients)), range(len(state.queues))
    return (
        all(p in clients for q in state.queues for p in [*q.owners, *q.last_stable_owners, *(q.expected or ())])
        and all(p in queues for c in state.clients for r in c.reports for p in [*r.owned, *r.busy])
        and all(p in queues for alert in state.alerts for p in alert.queues)
        and all(r.running in range(len(state.running_profiles)) for c in state.clients for r in c.reports)
        and all(-1 <= c.heartbeat < len(state.heartbeat_profiles) for c in state.clients)
        and len({c.client_id for c in state.clients}) == len(state.clients)
        and len({(q.topic, q.broker, q.queue_id) for q in state.queues}) == len(state.queues)
        and len(set(state.running_profiles)) == len(state.running_profiles)
        and len(set(state.heartbeat_profiles)) == len(state.heartbeat_profiles)
    )


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize("seed", range(2))
def test_over_hours_of_joins_and_leaves_the_state_stays_small_and_is_that_of_a_fresh_one(seed: int) -> None:
    """5.x client ids change at every restart: each join is a new client."""
    chance = random.Random(seed)
    fleet = Fleet(every=20, rate=4)
    fleet.join("first")
    sizes = []
    for number in range(80):
        fleet.join(f"client-{number}", heartbeat={"version": f"V{number % 7}"}, topics={"T": "*"})
        while len(fleet.instances) > chance.randint(2, 6):
            fleet.leave(chance.choice(fleet.instances).client_id)
        if chance.random() < 0.2:
            fleet.route("T", a=chance.randint(1, 6), b=chance.randint(1, 6))
        fleet.run(chance.choice([40, 100, 200]))
        assert consistent(fleet.state)
        sizes.append(len(pack(fleet.state)))
    assert max(sizes[40:]) < 1.3 * max(sizes[15:40])
    assert len(fleet.state.clients) < 40
    fleet.run(1200)
    fresh = Fleet(every=20, rate=4)
    fresh.now, fresh.rounds, fresh.offsets, fresh.routes = fleet.now, fleet.rounds, fleet.offsets, fleet.routes
    fresh.instances = fleet.instances
    fresh.run(600)
    fleet.run(600)
    assert view(fleet.state)["owners"] == view(fresh.state)["owners"]
    assert fleet.findings() == fresh.findings()
