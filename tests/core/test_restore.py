"""Seeds: a new checkpoint starts with the open alerts and known members, and no page is sent twice or left open."""

import msgspec
import pytest

from schemas.facts import AlertFact, MemberFact, QueueFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.core.state.restore import SEED_TOPIC, GroupSeed, SeedAlert, SeedQueue, restore
from tests.core.fleet import T0, Fleet, record_of


def seed_of(fleet: Fleet) -> GroupSeed:
    """What the tables would hold: the newest fact of each member and queue, and of each alert that is open."""
    members = {f.payload.client_id: f.payload for f in fleet.told(MemberFact)}
    queues = {(f.topic, f.payload.broker_name, f.payload.queue_id): f for f in fleet.told(QueueFact)}
    alerts = {f.payload.fingerprint: f for f in fleet.told(AlertFact)}
    return GroupSeed(
        cluster="c",
        group="g",
        now=fleet.facts[-1].ts,
        next_seq=fleet.facts[-1].seq + 1,
        members=tuple(member for member in members.values() if member.present),
        queues=tuple(SeedQueue(f.topic or "", f.payload) for f in queues.values() if f.payload.present),
        alerts=tuple(SeedAlert(f.topic or "", f.payload) for f in alerts.values() if f.payload.state != "resolved"),
    )


def reseeded(fleet: Fleet, outage: float = 5) -> Fleet:
    """The same group under a new checkpoint, ``outage`` seconds later."""
    fleet.state = restore(msgspec.json.encode(seed_of(fleet)), fleet.settings)
    fleet.now += outage
    fleet.source, fleet.seq = "another life", 0
    fleet._told_routes.clear()
    fleet._told_profiles.clear()
    return fleet


def duplicated() -> Fleet:
    fleet = Fleet(rate=0)
    fleet.join("x", "y")
    fleet.own("y", "a0 b0-3")
    fleet.run(90)
    assert fleet.firing() == {("T", "DUPLICATED")}
    return fleet


def transitions(fleet: Fleet) -> list[tuple[str, str]]:
    return [(state, reason) for _, state, reason in fleet.alerts()]


BEFORE = [("pending", "found"), ("firing", "held_long_enough")]


@pytest.mark.parametrize("outage", [5, 3600])
def test_an_open_alert_goes_on_under_its_fingerprint_and_fires_no_second_time(outage: float) -> None:
    fleet = reseeded(duplicated(), outage).run(120)
    assert transitions(fleet) == [*BEFORE, ("firing", "evidence_lost"), ("firing", "evidence_back")]
    assert len({fact.payload.fingerprint for fact in fleet.told(AlertFact)}) == 1
    assert len({fact.payload.active_ts for fact in fleet.told(AlertFact)}) == 1
    assert fleet.alert("DUPLICATED").fired_ts is not None


def test_an_open_alert_resolves_when_evidence_says_that_all_is_well() -> None:
    fleet = duplicated()
    fleet.own("y", "b0-3")
    reseeded(fleet).run(120)
    assert transitions(fleet) == [*BEFORE, ("firing", "evidence_lost"), ("resolved", "right_again")]


def test_a_stall_goes_on_until_its_queue_is_seen_to_move() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.stick("a0")
    fleet.run(120)
    assert fleet.firing() == {("T", "STALLED")}
    reseeded(fleet).run(200)
    assert transitions(fleet) == [*BEFORE, ("firing", "evidence_lost"), ("firing", "evidence_back")]
    fleet.stick("")
    fleet.run(40)
    assert transitions(fleet)[-1] == ("resolved", "right_again")


def test_an_alert_of_the_group_goes_on() -> None:
    fleet = Fleet()
    fleet.join("x", topics={"T": "a"})
    fleet.join("y", topics={"T": "b"})
    fleet.run(90)
    assert fleet.firing() == {("", "INCONSISTENT_SUBSCRIPTION")}
    reseeded(fleet).run(90)
    assert fleet.firing() == {("", "INCONSISTENT_SUBSCRIPTION")}
    assert "resolved" not in {state for state, _ in transitions(fleet)}


def test_an_alert_of_a_group_that_left_during_the_outage_is_gone_an_hour_later() -> None:
    fleet = duplicated()
    fleet.leave("x", "y")
    reseeded(fleet).idle(3700)
    assert transitions(fleet)[-1] == ("resolved", "gone")


def test_numbers_go_on_and_members_and_queues_are_not_new() -> None:
    fleet = duplicated()
    before = len(fleet.facts)
    reseeded(fleet).run(120)
    assert [fact.seq for fact in fleet.facts] == list(range(len(fleet.facts)))
    told_after = [type(fact.payload) for fact in fleet.facts[before:]]
    assert "membership" not in {fact.payload.fact for fact in fleet.facts[before:]}
    assert MemberFact in told_after
    (x,) = [client for client in fleet.state.clients if client.client_id == "x"]
    assert x.since_ts == T0 + 5_000


def test_the_history_of_a_queue_goes_on() -> None:
    fleet = duplicated()
    held_since = fleet.finding("a0").since_ts
    before = len(fleet.facts)
    reseeded(fleet).run(10)
    ended = next(f.payload.ended for f in fleet.facts[before:] if isinstance(f.payload, QueueFact))
    assert ended is not None
    assert ended.finding == "DUPLICATED"
    assert held_since <= ended.from_ts <= ended.to_ts


# --- on its way through the fold


def seed_record(seed: GroupSeed) -> Record:
    value = msgspec.json.encode(seed)
    return Record(b"c/g", value, len(value), None, None, SEED_TOPIC, None, -1)


def test_a_seed_counts_only_where_nothing_has_grown_yet() -> None:
    fleet = duplicated()
    seed = seed_record(seed_of(fleet))
    grown = fold(None, [record_of(event) for event in fleet.events], DEFAULT_SETTINGS)
    again = fold(grown.blob, [seed], DEFAULT_SETTINGS)
    assert again.blob == grown.blob
    assert again.facts == []
    planted = fold(None, [seed], DEFAULT_SETTINGS)
    assert fold(planted.blob, [seed], DEFAULT_SETTINGS).blob == planted.blob


def test_a_seed_comes_with_the_first_batch_as_well_as_before_it() -> None:
    fleet = duplicated()
    seed = seed_record(seed_of(fleet))
    known = len(fleet.events)
    records = [record_of(event) for event in reseeded(fleet).run(60).events[known:]]
    together = fold(None, [seed, *records], DEFAULT_SETTINGS)
    planted = fold(None, [seed], DEFAULT_SETTINGS)
    apart = fold(planted.blob, records, DEFAULT_SETTINGS)
    assert together.facts == apart.facts
    assert together.blob == apart.blob
    assert planted.facts == []


def test_a_seed_is_json() -> None:
    seed = seed_of(duplicated())
    assert msgspec.json.decode(msgspec.json.encode(seed), type=GroupSeed) == seed
