"""Only producers that an operator has listed may send rounds and forget groups; all may send everything else."""

import pytest
from msgspec.structs import replace

from schemas.events import AnyEvent, Forget, Round
from schemas.facts import QuarantineFact
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.settings import Settings
from streaming.core.shard import Record, fold
from tests.core.fleet import T0, record_of, running

TRUSTED = Settings(timing=DEFAULT_TIMING, trusted_sources=("test*", "forget ops *"))


def records(events: list[AnyEvent]) -> list[Record]:
    return [record_of(event, offset) for offset, event in enumerate(events)]


def forget(source: str) -> Forget:
    return Forget(schema=1, cluster="c", group="g", ts=T0 + 60_000, round=1, seq=1, source=source, who="ada")


def refused(events: list[AnyEvent], settings: Settings) -> list[tuple[str, str]]:
    facts = fold(None, records(events), settings).facts
    return [(f.payload.reason, f.payload.detail) for f in facts if isinstance(f.payload, QuarantineFact)]


def test_events_of_listed_producers_are_taken_as_without_a_list() -> None:
    fleet = running()
    events = [*fleet.events, forget("forget ops 7 1")]
    assert fold(None, records(events), TRUSTED).facts == fold(None, records(events), DEFAULT_SETTINGS).facts
    assert refused(events, TRUSTED) == []


def test_rounds_and_forgets_of_others_go_to_quarantine_and_change_nothing() -> None:
    fleet = running()
    rounds = [event for event in fleet.events if isinstance(event, Round)]
    forged = [replace(event, source="evil", ts=event.ts + 1_000) for event in rounds]
    events = [*fleet.events, *forged, forget("evil")]
    found = refused(events, TRUSTED)
    assert found == [("not_trusted", "source 'evil' is not in source.trusted_sources")] * (len(rounds) + 1)
    judged = [
        fact for fact in fold(None, records(events), TRUSTED).facts if not isinstance(fact.payload, QuarantineFact)
    ]
    assert judged == fleet.facts
    assert refused(events, DEFAULT_SETTINGS) == []


@pytest.mark.parametrize("kind", ["assignment_report", "topic_route", "consume_progress"])
def test_other_events_of_producers_that_are_not_listed_are_taken(kind: str) -> None:
    """Consumers may send their own reports."""
    events: list[AnyEvent] = [
        replace(event, source="a consumer") if type(event).__struct_config__.tag == kind else event
        for event in running().events
    ]
    assert any(event.source == "a consumer" for event in events)
    assert refused(events, TRUSTED) == []
