"""A shard: many groups in one blob. Only those with events are touched; bad records are facts; old state is refused."""

from hashlib import sha256
from itertools import chain

import msgspec
import pytest
from msgspec.structs import replace

from schemas.events import AnyEvent, Round, decode_event
from schemas.facts import EventsLostFact, Fact, QuarantineFact
from schemas.records import MAX_RECORD_BYTES, QUARANTINED_BYTES
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.core.state.group_state import new_state
from streaming.core.state.packing import STATE_VERSION, pack, unpack
from streaming.errors import StateVersionError
from tests.core.fleet import T0, Fleet, record_of, running


def records_of(events: list[AnyEvent]) -> list[Record]:
    return [record_of(event, offset) for offset, event in enumerate(events)]


def kafka(value: bytes | None, key: bytes | None = b"c/g", **fields: object) -> Record:
    length = 0 if value is None else len(value)
    given = {"length": length, "sha256": None, "arrival_ts": T0, "topic": "events", "partition": 3, "offset": 77}
    return Record(key=key, value=value, **(given | fields))  # type: ignore[arg-type]


def quarantined(record: Record) -> Fact:
    (fact,) = fold(None, [record], DEFAULT_SETTINGS).facts
    assert isinstance(fact.payload, QuarantineFact)
    return fact


def test_a_fold_gives_the_facts_of_every_group_in_the_groups_own_order() -> None:
    g, h = running(), running(90, group="h")
    mixed = list(chain.from_iterable(zip(g.events, h.events, strict=False)))
    facts = fold(None, records_of(mixed + h.events[len(g.events) :]), DEFAULT_SETTINGS).facts
    assert [fact for fact in facts if fact.group == "g"] == g.facts
    assert [fact for fact in facts if fact.group == "h"] == h.facts


def test_a_group_without_events_is_not_touched() -> None:
    g, h = running(), running(group="h")
    first = fold(None, records_of(g.events + h.events), DEFAULT_SETTINGS)
    packed = msgspec.msgpack.decode(first.blob)
    later = fold(first.blob, records_of(h.run(60).events[-20:]), DEFAULT_SETTINGS)
    assert msgspec.msgpack.decode(later.blob)["c/g"] == packed["c/g"]
    assert msgspec.msgpack.decode(later.blob)["c/h"] != packed["c/h"]


def test_a_batch_without_records_changes_nothing() -> None:
    blob = fold(None, records_of(running().events), DEFAULT_SETTINGS).blob
    assert fold(blob, [], DEFAULT_SETTINGS) == (blob, [], [])


def test_the_state_and_the_events_of_collectors_that_shared_a_cluster_are_taken_over() -> None:
    """0.2.0 kept the slot behind each group, and named it in producers."""
    fleet = running(300)
    of_slot = [replace(event, source="test/2") for event in fleet.events]
    kept = msgspec.msgpack.decode(fold(None, records_of(of_slot), DEFAULT_SETTINGS).blob)
    blob = msgspec.msgpack.encode({key: [*group, 2] for key, group in kept.items()})
    known = len(fleet.events)
    later = fold(blob, records_of(fleet.run(600).events[known:]), DEFAULT_SETTINGS)
    assert [fact for fact in later.facts if isinstance(fact.payload, QuarantineFact)] == []
    assert [(one.contradicting, one.quarantined) for one in later.cluster_counts] == [(0, 0)]
    assert [len(group) for group in msgspec.msgpack.decode(later.blob).values()] == [2]


def test_tallies_count_per_cluster() -> None:
    one, two = running(cluster="one"), running(30, cluster="two")
    two.down.add("b")
    two.run(10)
    broken = kafka(b"{", key=b"one/g")
    cluster_counts = {
        t.cluster: t
        for t in fold(None, [*records_of(one.events + two.events), broken], DEFAULT_SETTINGS).cluster_counts
    }
    assert cluster_counts["one"].events == len(one.events)
    assert (cluster_counts["one"].rounds, cluster_counts["one"].groups, cluster_counts["one"].quarantined) == (12, 1, 1)
    assert cluster_counts["one"].newest_round_ts == T0 + 60_000
    assert (cluster_counts["two"].rounds, cluster_counts["two"].brokers_unanswered) == (8, 2)


# --- groups that are gone

DAY = 86_400


def gone(group: str = "comes back", alert: bool = False) -> Fleet:
    """Its members have left; that nobody consumes is an alert for an hour."""
    fleet = running(group=group)
    fleet.leave("x", "y")
    return fleet.idle(1000 if alert else 4000)


def going_on(days: float, cluster: str = "c") -> list[Record]:
    """Another group, some days later."""
    fleet = running(group="goes on", cluster=cluster)
    known = len(fleet.events)
    fleet.now += days * DAY
    return records_of(fleet.run(60).events[known:])


def size_of(blob: bytes) -> int:
    return len(msgspec.msgpack.decode(blob)["c/comes back"][1])


def kept_of(fleet: Fleet, records: list[Record]) -> float:
    """What is kept of a silent group after another one's events, as a share of what was kept before."""
    blob = fold(None, records_of(fleet.events), DEFAULT_SETTINGS).blob
    return size_of(fold(blob, records, DEFAULT_SETTINGS).blob) / size_of(blob)


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize("days", [6, 7.02, 8, 30])
def test_it_does_not_matter_whether_a_shard_has_forgotten_a_group_that_comes_back(days: float) -> None:
    fleet = gone()
    left = len(fleet.events)
    fleet.now += days * DAY
    fleet.join("z")
    fleet.run(120)
    blob, facts = fold(None, records_of(fleet.events[:left]), DEFAULT_SETTINGS)[:2]
    forgotten = fold(blob, going_on(days), DEFAULT_SETTINGS).blob
    back = fold(forgotten, records_of(fleet.events[left:]), DEFAULT_SETTINGS)
    assert [*facts, *back.facts] == fleet.facts
    assert [fact.seq for fact in fleet.facts] == list(range(len(fleet.facts)))
    assert set(fleet.findings().values()) == {"MATCH"}
    assert (size_of(forgotten) < size_of(blob) / 4) is (days > 7.05)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_comes_back_after_long_starts_afresh_with_what_its_first_round_says() -> None:
    fleet = gone()
    fleet.now += 8 * DAY
    fleet.routes = {}
    fleet.route("U", a=1)
    fleet.join("z")
    fleet.round().round()
    assert [topic.name for topic in fleet.state.topics] == ["U"]
    assert fleet.state.topics[0].confirmed_ts > 0
    assert [client.client_id for client in fleet.state.clients] == ["z"]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_what_waits_for_the_clock_still_waits_when_the_rest_is_forgotten() -> None:
    fleet = gone()
    fleet.say_route(at=fleet.now + 600)
    waiting = fleet.events[-1]
    fleet.mark(at=fleet.now - 600)
    blob = fold(None, records_of(fleet.events), DEFAULT_SETTINGS).blob
    state = unpack(msgspec.msgpack.decode(fold(blob, going_on(8), DEFAULT_SETTINGS).blob)["c/comes back"][1])
    assert [decode_event(held.event) for held in state.held_events] == [waiting]
    assert len(state.markers_behind) == 1
    assert state.topics == []


@pytest.mark.slow("minutes and hours of a group are folded")
def test_events_that_got_lost_while_a_group_was_silent_are_noticed_though_it_was_forgotten() -> None:
    fleet = gone()
    blob = fold(None, records_of(fleet.events), DEFAULT_SETTINGS).blob
    left = len(fleet.events)
    fleet.now += 8 * DAY
    fleet.seq += 3
    fleet.round().round()
    facts = fold(
        fold(blob, going_on(8), DEFAULT_SETTINGS).blob, records_of(fleet.events[left:]), DEFAULT_SETTINGS
    ).facts
    (lost,) = [fact for fact in facts if isinstance(fact.payload, EventsLostFact)]
    assert (lost.payload.expected_seq, lost.payload.received_seq) == (left, left + 3)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_what_was_forgotten_once_is_not_looked_at_again() -> None:
    blob = fold(None, records_of(gone().events), DEFAULT_SETTINGS).blob
    blob = fold(blob, going_on(8), DEFAULT_SETTINGS).blob
    kept = msgspec.msgpack.decode(blob)
    kept["c/comes back"][1] = b"not to be decoded"
    fold(msgspec.msgpack.encode(kept), going_on(9), DEFAULT_SETTINGS)


def test_a_group_with_an_open_alert_is_not_forgotten() -> None:
    assert kept_of(gone(alert=True), going_on(30)) == 1


def test_a_group_with_members_is_not_forgotten() -> None:
    assert kept_of(running(group="comes back"), going_on(30)) == 1


def test_a_group_that_has_had_no_round_yet_is_not_forgotten() -> None:
    fleet = Fleet(group="comes back")
    fleet.say_route()
    assert kept_of(fleet, going_on(30)) == 1


@pytest.mark.slow("minutes and hours of a group are folded")
def test_groups_of_another_cluster_are_not_forgotten_for_this_ones_time() -> None:
    assert kept_of(gone(), going_on(30, cluster="other")) == 1


# --- records that cannot be used


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (kafka(None), "null_value"),
        (kafka(b"{"), "bad_json"),
        (kafka(b"\xff"), "bad_utf8"),
        (kafka(b'{"event":"round"}'), "bad_field"),
        (kafka(b"x" * 10, length=MAX_RECORD_BYTES + 1), "too_long"),
    ],
)
def test_a_record_that_cannot_be_used_is_a_fact(record: Record, reason: str) -> None:
    fact = quarantined(record)
    assert (fact.cluster, fact.group, fact.topic, fact.ts, fact.seq) == ("c", "g", None, T0, 77)
    assert fact.payload.reason == reason
    assert fact.payload.bytes == record.value
    assert fact.payload.length == record.length
    assert (fact.payload.source_topic, fact.payload.source_partition, fact.payload.source_offset) == ("events", 3, 77)
    assert fact.payload.record_key == b"c/g"


@pytest.mark.parametrize("key", [None, b"", b"no slash", b"\xff/g"])
def test_a_key_that_names_no_group_leaves_both_names_empty(key: bytes | None) -> None:
    fact = quarantined(kafka(b"{", key=key))
    assert (fact.cluster, fact.group) == ("", "")
    assert fact.payload.record_key == key


def test_a_record_under_the_key_of_another_group_is_quarantined() -> None:
    value = records_of(running().events)[0].value
    fact = quarantined(kafka(value, key=b"c/other", arrival_ts=T0 + 5_000))
    assert fact.payload.reason == "key_mismatch"
    assert fact.group == "other"


def test_at_most_the_first_64_kb_are_kept_and_the_digest_is_of_the_whole() -> None:
    whole = b"{" * (MAX_RECORD_BYTES - 1)
    fact = quarantined(kafka(whole))
    assert fact.payload.bytes == whole[:QUARANTINED_BYTES]
    assert fact.payload.sha256 == sha256(whole).hexdigest()
    assert fact.payload.length == len(whole)
    cut = quarantined(kafka(whole[:QUARANTINED_BYTES], length=MAX_RECORD_BYTES + 5, sha256="of the whole"))
    assert cut.payload.sha256 == "of the whole"


def test_an_event_that_the_clock_refuses_is_quarantined_at_its_own_place() -> None:
    fleet = running()
    ahead = Fleet()
    ahead.seq, ahead.now = fleet.seq, 7200
    ahead.join("x")
    ahead.report("x")
    fleet.seq += 1
    known = len(fleet.events)
    later = [record_of(event, 100 + n) for n, event in enumerate(fleet.run(10).events[known:])]
    wrong = record_of(ahead.events[0], 99)
    facts = fold(None, [*records_of(fleet.events[:known]), wrong, *later], DEFAULT_SETTINGS).facts
    (fact,) = [fact for fact in facts if isinstance(fact.payload, QuarantineFact)]
    assert fact.payload.reason == "ahead_of_clock"
    assert fact.payload.source_offset == fact.seq == 99
    assert fact.payload.bytes == wrong.value
    assert (fact.cluster, fact.group) == ("c", "g")
    assert T0 < fact.ts <= T0 + 70_000


def test_a_marker_that_the_clock_does_not_accept_is_not_the_clusters_newest_round() -> None:
    fleet = running()
    known = len(fleet.events)
    later = [event for event in fleet.run(10).events[known:] if isinstance(event, Round)]
    ahead = msgspec.structs.replace(later[0], ts=T0 + 30 * 86_400_000, source="another", seq=1)
    blob = fold(None, records_of(fleet.events[:known]), DEFAULT_SETTINGS).blob
    for events in ([later[0], ahead], [ahead]):
        folded = fold(blob, records_of(events), DEFAULT_SETTINGS)
        (counts,) = folded.cluster_counts
        assert counts.newest_round_ts == (T0 + 65_000 if len(events) > 1 else None)


def test_events_that_wait_for_the_clock_wait_in_the_blob() -> None:
    fleet = running()
    blob = fold(None, records_of(fleet.events), DEFAULT_SETTINGS).blob
    known = len(fleet.events)
    fleet.now += 3600
    outage_over = fleet.run(10).events[known:]
    facts = []
    for record in records_of(outage_over):
        blob, new = fold(blob, [record], DEFAULT_SETTINGS)[:2]
        facts += new
    assert facts == [fact for fact in fleet.facts if fact.ts > T0 + 3_600_000]


# --- state of another version


def test_packed_state_is_read_back() -> None:
    state = running().state
    assert unpack(pack(state)) == state


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        bytes([STATE_VERSION + 1]) + pack(new_state("c", "g"))[1:],
        bytes([STATE_VERSION]) + b"\xc1",
        bytes([STATE_VERSION]) + msgspec.msgpack.encode(["c", 7]),
    ],
    ids=["empty", "a later version", "not msgpack", "another shape"],
)
def test_state_that_cannot_be_read_is_refused_with_what_to_do(packed: bytes) -> None:
    with pytest.raises(StateVersionError, match="evenkeel reseed"):
        unpack(packed)
    blob = msgspec.msgpack.encode({"c/g": [T0, packed]})
    with pytest.raises(StateVersionError, match="evenkeel reseed"):
        fold(blob, records_of(running().events[:1]), DEFAULT_SETTINGS)


@pytest.mark.parametrize("blob", [b"", b"\xc1", b"{}", msgspec.msgpack.encode({"c/g": "?"})])
def test_a_blob_that_cannot_be_read_is_refused_with_what_to_do(blob: bytes) -> None:
    with pytest.raises(StateVersionError, match="evenkeel reseed"):
        fold(blob, [], DEFAULT_SETTINGS)
