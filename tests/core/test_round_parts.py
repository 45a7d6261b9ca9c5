"""Rounds that are too long for one record: told in parts, taken as one marker."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from schemas.events import AnyEvent, BrokerAnswer, ListedClient, NotAsked, Round, UnchangedList, encode_event
from schemas.facts import AlertFact, EventsLostFact, Fact, GroupFact, MembershipFact
from schemas.records import MAX_RECORD_BYTES
from streaming.collector.translation.rounds import in_parts
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.intake.round_parts import whole_rounds
from streaming.core.shard import fold
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from tests.core.fleet import T0, Fleet, record_of, running

IDS = tuple(f"10.20.{number // 250}.{number % 250}@{number}#1234567890123" for number in range(6000))


def marker(lists: dict[str, tuple[str, ...]], ts: int = T0, seq: int = 7, **fields: Any) -> Round:
    answers = tuple(BrokerAnswer(name, answered=True, client_ids=ids) for name, ids in lists.items())
    common = {"schema": 1, "cluster": "c", "group": "g", "source": "s", "round": ts}
    return Round(**common, ts=ts, seq=seq, brokers=answers, **fields)


def split(whole: Round) -> list[Round]:
    seq = whole.seq

    def number() -> dict[str, Any]:
        nonlocal seq
        seq += 1
        common = ("schema", "cluster", "group", "source", "round")
        return {name: getattr(whole, name) for name in common} | {"seq": seq}

    return in_parts(whole, number)


def members(events: list[AnyEvent]) -> dict[str, list[str]]:
    """Whom each broker lists, as the core took it."""
    facts = fold(None, [record_of(event) for event in events], DEFAULT_SETTINGS).facts
    found: dict[str, list[str]] = {}
    for fact in facts:
        if isinstance(fact.payload, MembershipFact):
            found.setdefault(fact.payload.broker_name, []).extend([fact.payload.client_id] * fact.payload.entries)
    return {name: sorted(ids) for name, ids in found.items()}


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    "lists",
    [
        dict.fromkeys("abcd", IDS[:1000]),
        dict.fromkeys("abcdefgh", IDS[:500]),
        {"a": IDS},
        {"a": IDS[:10], "b": IDS, "c": IDS[:10] * 2},
    ],
    ids=["1,000 clients on 4 brokers", "500 on 8", "6,000 on one", "one long list among short ones"],
)
def test_a_round_of_a_large_group_is_told_in_parts_that_fit_and_taken_as_one(lists: dict[str, tuple[str, ...]]) -> None:
    asked, reasons = IDS[:1000], tuple(NotAsked(client_id, "backing off" * 9) for client_id in IDS[1000:2000])
    unchanged = tuple(UnchangedList(f"u{number}", 7, T0) for number in range(3))
    heartbeats = tuple(ListedClient("a", one, ("1:1",), "GO", "1", "CLUSTERING", "PUSH") for one in IDS[:900])
    told = {"asked": asked, "not_asked": reasons, "unchanged_lists": unchanged, "heartbeats": heartbeats}
    whole = marker(lists, **told, pop_topics=("T",), routes_changed_ts=T0)
    assert len(encode_event(whole)) > MAX_RECORD_BYTES
    parts = split(whole)
    assert all(len(encode_event(part)) <= MAX_RECORD_BYTES for part in parts)
    assert [(part.seq, part.part, part.parts) for part in parts] == [
        (7 + index, index, len(parts)) for index in range(len(parts))
    ]
    assert {part.pop_topics for part in parts} == {("T",)}
    group = Group(new_state("c", "g"), DEFAULT_SETTINGS)
    (joined,) = [one for part in parts for one in whole_rounds(group, part, is_new=True)]
    assert {field: getattr(joined, field) for field in told} == told
    assert members([*parts]) == {name: sorted(ids) for name, ids in lists.items()}


def test_a_round_that_fits_is_told_as_it_is() -> None:
    whole = marker({"a": IDS[:1000]})
    assert split(whole) == [whole]


# --- small groups in parts, as if a record held no more than one broker's list


def in_pieces(events: list[AnyEvent]) -> list[AnyEvent]:
    """Each broker's list in a part of its own, that of broker a in two; numbered afresh."""
    told: list[AnyEvent] = []
    for event in events:
        if not isinstance(event, Round):
            told.append(event)
            continue
        pieces: list[BrokerAnswer] = []
        for answer in event.brokers:
            ids = answer.client_ids
            if answer.broker_name == "a" and len(ids) > 1:
                pieces += [replace(answer, client_ids=half, entries=len(ids)) for half in (ids[:1], ids[1:])]
            else:
                pieces.append(answer)
        told += [replace(event, brokers=(piece,), part=index, parts=len(pieces)) for index, piece in enumerate(pieces)]
    return [replace(event, seq=seq) for seq, event in enumerate(told)]


def in_trouble() -> Fleet:
    fleet = running()
    fleet.own("y", "a0 b0-3")
    fleet.run(100)
    fleet.join("z")
    return fleet.run(100)


def facts_of(events: list[AnyEvent], cuts: tuple[int, ...] = ()) -> list[Fact]:
    blob, facts = None, []
    records = [record_of(event, index) for index, event in enumerate(events)]
    for first, last in zip((0, *sorted(cuts)), (*sorted(cuts), len(records)), strict=True):
        blob, new = fold(blob, records[first:last], DEFAULT_SETTINGS)[:2]
        facts += new
    return facts


CUTS = st.lists(st.integers(0, 200), max_size=6)


@settings(max_examples=15)
@given(CUTS, st.lists(st.integers(0, 10**6), max_size=8))
@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_round_in_parts_gives_the_facts_of_the_whole_however_batches_are_cut(
    cuts: list[int], doubled: list[int]
) -> None:
    fleet = in_trouble()
    pieces = in_pieces(fleet.events)
    events = list(pieces)
    for number in doubled:
        index = number % len(events)
        events.insert(index + 1, events[index])
    assert facts_of(events, tuple(cuts)) == fleet.facts


def test_parts_that_come_in_another_order_make_the_same_round() -> None:
    fleet = in_trouble()
    events = in_pieces(fleet.events)
    for index in range(len(events) - 1):
        one, other = events[index], events[index + 1]
        if isinstance(one, Round) and isinstance(other, Round) and (one.part, other.ts) == (0, one.ts):
            events[index : index + 2] = [other, one]
    assert facts_of(events) == fleet.facts


@pytest.mark.parametrize("part", [0, 1, 2])
def test_where_a_part_is_lost_the_brokers_in_it_have_not_answered(part: int) -> None:
    fleet = running(100)
    events = in_pieces(fleet.events)
    lost = [event for event in events if isinstance(event, Round) and event.ts == T0 + 60_000 and event.part == part]
    assert len(lost) == 1
    facts = facts_of([event for event in events if event not in lost])
    assert [type(fact.payload) for fact in facts if fact.ts > T0 + 45_000] == [EventsLostFact]


def test_where_parts_are_lost_all_the_time_the_broker_is_silent_and_nobody_is_paged() -> None:
    fleet = running(200)
    events = [e for e in in_pieces(fleet.events) if not (isinstance(e, Round) and e.part == 1 and e.ts > T0 + 50_000)]
    facts = facts_of(events)
    assert not [fact for fact in facts if isinstance(fact.payload, AlertFact)]
    (status,) = {(f.payload.status, f.payload.brokers_covered) for f in facts if isinstance(f.payload, GroupFact)} - {
        ("healthy", 2),
        ("unknown", 2),
        ("settling", 2),
    }
    assert status == ("unknown", 1)
