"""A group whose events are refused is UNKNOWN, with the reason, until a round of it is taken again."""

from schemas.events import Round, encode_event
from schemas.facts import Fact, GroupFact, QuarantineFact
from schemas.records import MAX_RECORD_BYTES
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from tests.core.fleet import T0, running
from tests.said import why


def kafka(event: object, offset: int, is_too_long: bool = False) -> Record:
    value = encode_event(event)
    length = MAX_RECORD_BYTES + 1 if is_too_long else len(value)
    return Record(b"c/g", value, length, None, event.ts + 20, "events", 0, offset)  # type: ignore[attr-defined]


def statuses(facts: list[Fact]) -> list[tuple[float, str, str | None]]:
    told = [(fact.ts, fact.payload) for fact in facts if isinstance(fact.payload, GroupFact)]
    return [((ts - T0) // 1000, payload.status, why(payload)) for ts, payload in told]


def lived(seconds: float, first: float, last: float, kinds: type = Round) -> list[Record]:
    """A healthy group, of which some events are too long in some stretch of time."""
    fleet = running(seconds)
    return [
        kafka(event, index, isinstance(event, kinds) and first <= (event.ts - T0) / 1000 < last)
        for index, event in enumerate(fleet.events)
    ]


REASON = "its events are refused: too_long, 131073 bytes; the limit is 131072"


def test_a_group_whose_rounds_are_refused_is_unknown_once_and_healthy_with_the_next_round() -> None:
    told = statuses(fold(None, lived(400, 100, 300), DEFAULT_SETTINGS).facts)
    before = [one for one in told if one[0] < 100]
    assert before[-1][1] == "healthy"
    assert told[len(before)] == (135, "unknown", REASON)
    assert told[-1][1] == "healthy"
    assert [one for one in told if one[2] == REASON] == [(135, "unknown", REASON)]


def test_a_group_that_was_refused_from_the_start_is_told_too() -> None:
    (told,) = statuses(fold(None, lived(200, 0, 999), DEFAULT_SETTINGS).facts)
    assert told == (40, "unknown", REASON)


def test_however_batches_are_cut_it_is_told_once() -> None:
    records = lived(400, 100, 300)
    blob, facts = None, []
    for record in records:
        blob, new = fold(blob, [record], DEFAULT_SETTINGS)[:2]
        facts += new
    assert statuses(facts) == statuses(fold(None, records, DEFAULT_SETTINGS).facts)


def test_records_that_are_refused_while_rounds_are_taken_say_nothing_of_the_group() -> None:
    fleet = running(200)
    records = [kafka(event, index) for index, event in enumerate(fleet.events)]
    garbage = [
        Record(b"c/g", b"{", 1, None, T0 + second * 1000, "events", 0, 10_000 + second) for second in range(60, 200, 3)
    ]
    mixed = sorted([*records, *garbage], key=lambda record: record.arrival_ts or 0)
    facts = fold(None, mixed, DEFAULT_SETTINGS).facts
    assert len([fact for fact in facts if isinstance(fact.payload, QuarantineFact)]) == len(garbage)
    assert statuses(facts) == statuses(fold(None, records, DEFAULT_SETTINGS).facts)
