"""A flood of what cannot be used: a bounded number of facts, right numbers, and neighbours that are not affected."""

from collections import Counter

import pytest

from schemas.events import AnyEvent, ConsumerChange, Heartbeat, encode_event
from schemas.facts import Fact, QuarantineFact
from schemas.records import DETAIL_AT_MOST, MAX_KEY_BYTES, MAX_RECORD_BYTES, REFUSED_AT_MOST
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.intake.membership import REASONS_AT_MOST
from streaming.core.shard import CLUSTERS_AT_MOST, QUARANTINE_FACTS_AT_MOST, Folded, Record, fold
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import HELD_BYTES_AT_MOST, take
from tests.core.fleet import T0, record_of, running

ZEROS = b"[" + b"0," * (MAX_RECORD_BYTES // 2 - 2) + b"0]"
IN_ZEROS = MAX_RECORD_BYTES // 2 - 1


def kafka(value: bytes, key: bytes = b"c/g", offset: int = 0) -> Record:
    return Record(key, value, len(value), None, T0, "events", 3, offset)


def refused(facts: list[Fact]) -> list[QuarantineFact]:
    return [fact.payload for fact in facts if isinstance(fact.payload, QuarantineFact)]


def folded(*records: Record) -> Folded:
    return fold(None, records, DEFAULT_SETTINGS)


def test_a_record_of_countless_elements_makes_few_facts_and_their_number_is_right() -> None:
    found = folded(kafka(ZEROS))
    told = refused(found.facts)
    assert len(told) == REFUSED_AT_MOST + 1
    assert [one.events for one in told[:-1]] == [1] * REFUSED_AT_MOST
    assert told[-1].events == IN_ZEROS - REFUSED_AT_MOST
    assert told[-1].detail.startswith(f"and {IN_ZEROS - REFUSED_AT_MOST} more")
    assert (told[-1].length, told[-1].source_offset) == (len(ZEROS), 0)
    assert [counts.quarantined for counts in found.cluster_counts] == [IN_ZEROS]


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.timeout(120)
def test_sixty_such_records_harm_no_neighbour() -> None:
    flood = [kafka(ZEROS, offset=offset) for offset in range(60)]
    g, h = running(), running(group="h")
    events = [record_of(event, 1_000 + n) for n, event in enumerate([*g.events, *h.events])]
    found = folded(*flood[:30], *events, *flood[30:])
    about_groups = [fact for fact in found.facts if not isinstance(fact.payload, QuarantineFact)]
    assert [fact for fact in about_groups if fact.group == "h"] == h.facts
    judged = [fact.payload for fact in about_groups if fact.group == "g" and fact.payload.fact != "group_status"]
    assert judged == [fact.payload for fact in g.facts if fact.payload.fact != "group_status"]
    assert len(refused(found.facts)) == QUARANTINE_FACTS_AT_MOST + 1
    assert sum(one.events for one in refused(found.facts)) == 60 * IN_ZEROS
    assert sum(counts.quarantined for counts in found.cluster_counts) == 60 * IN_ZEROS


def test_what_a_batch_refuses_beyond_the_most_is_one_fact_for_each_reason() -> None:
    many = 2 * QUARANTINE_FACTS_AT_MOST
    records = [kafka((b"{", b"{}")[n % 2], f"c/g{n}".encode(), n) for n in range(many)]
    *told, json, field = refused(folded(*records).facts)
    assert len(told) == QUARANTINE_FACTS_AT_MOST
    assert {json.reason, field.reason} == {"bad_json", "bad_field"}
    assert json.events == field.events == QUARANTINE_FACTS_AT_MOST // 2
    assert {json.source_offset, field.source_offset} == {many - 2, many - 1}  # the newest, as an example
    by_reason = Counter({"bad_json": 0})
    for one in (*told, json, field):
        by_reason[one.reason] += one.events
    assert by_reason == {"bad_json": many // 2, "bad_field": many // 2}


def test_good_events_among_countless_bad_ones_are_taken_all() -> None:
    fleet = running()
    good = [encode_event(event) for event in fleet.events]
    filler = b",".join([b"0"] * 200)
    records = [kafka(b"[" + filler + b"," + value + b"," + filler + b"]", offset=n) for n, value in enumerate(good)]
    found = folded(*records)
    facts = [fact.payload for fact in found.facts if fact.payload.fact not in ("quarantine", "group_status")]
    assert facts == [fact.payload for fact in fleet.facts if fact.payload.fact != "group_status"]
    assert sum(one.events for one in refused(found.facts)) == 400 * len(good)


def test_the_reason_text_of_a_record_is_short_however_long_what_it_quotes() -> None:
    event = b'{"event":"%s","schema":1}' % (b"x" * 100_000)
    found = folded(kafka(event), kafka(b"[" + event + b"]"))
    assert [len(one.detail) <= DETAIL_AT_MOST for one in refused(found.facts)] == [True, True]


def test_a_key_that_is_longer_than_any_groups_names_none() -> None:
    found = folded(kafka(b"{", b"c/" + b"g" * MAX_KEY_BYTES))
    (fact,) = found.facts
    assert (fact.cluster, fact.group) == ("", "")


def test_the_longest_names_are_a_key_that_is_read() -> None:
    cluster, group = "\U0001f600" * 255, "\U0001f600" * 1024
    (fact,) = folded(kafka(b"{", f"{cluster}/{group}".encode())).facts
    assert (fact.cluster, fact.group) == (cluster, group)


def test_made_up_clusters_are_counted_up_to_a_bound() -> None:
    records = [kafka(b"{", f"made-up-{n}/g".encode(), n) for n in range(CLUSTERS_AT_MOST + 50)]
    counts = folded(*records).cluster_counts
    assert len(counts) <= CLUSTERS_AT_MOST + 1
    assert sum(one.quarantined for one in counts) == len(records)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_events_that_wait_for_the_clock_take_bounded_memory() -> None:
    fleet = running()
    ahead: list[AnyEvent] = [
        Heartbeat(
            schema=1, cluster="c", group="g", ts=T0 + 7_200_000, round=1, seq=n, source="ahead", broker_name="b",
            client_id="z", observed="listed", addresses=("x" * 100_000,),
        )
        for n in range(2 * HELD_BYTES_AT_MOST // 100_000)
    ]  # fmt: skip
    found = folded(*map(record_of, [*fleet.events, *ahead], range(10_000)))
    assert len(found.blob) < HELD_BYTES_AT_MOST + 1_000_000
    told = refused(found.facts)
    assert {one.reason for one in told} == {"ahead_of_clock"}
    assert sum(one.events for one in told) == pytest.approx(len(ahead) / 2, rel=0.02)


def test_reasons_of_joins_that_no_marker_takes_up_are_bounded() -> None:
    group = Group(new_state("c", "g"), DEFAULT_SETTINGS)
    for n in range(2 * REASONS_AT_MOST):
        take(
            group,
            ConsumerChange(
                schema=1, cluster="c", group="g", ts=T0, round=1, seq=n, broker_name="b", client_id=f"x{n}",
                change="appeared", reason="registered",
            ),
        )  # fmt: skip
    assert len(group.state.change_reasons) == REASONS_AT_MOST
