"""What waits for Kafka: the events of a round in one record, in order, within a bound of memory."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events import AnyEvent, AssignmentReport, Round, Subscription
from schemas.records import MAX_RECORD_BYTES
from streaming.collector.output.backlog import Backlog, KafkaRecord
from testing.records import accepted

NOW = 1_700_000_000_000
MUCH = 1 << 30


def common(seq: int, group: str = "g") -> dict[str, object]:
    return {"schema": 1, "cluster": "prod", "group": group, "ts": NOW + seq, "round": NOW, "seq": seq, "source": "s"}


def report(seq: int, client_id: str = "c", group: str = "g", topics: int = 0) -> AssignmentReport:
    subscriptions = tuple(Subscription(f"a topic with a rather long name {number}") for number in range(topics))
    return AssignmentReport(
        **common(seq, group),  # type: ignore[arg-type]
        client_id=client_id,
        answered=True,
        answered_ts=NOW + seq,
        subscriptions=subscriptions,
    )


def marker(seq: int, group: str = "g", part: int = 0, parts: int = 1) -> Round:
    return Round(**common(seq, group), brokers=(), part=part, parts=parts)  # type: ignore[arg-type]


def events(records: Iterable[KafkaRecord]) -> list[AnyEvent]:
    return [event for record in records for event in accepted(record.key, record.value, NOW)]


def test_the_events_of_a_round_are_one_record() -> None:
    backlog = Backlog(MUCH)
    told = [report(0), report(1), marker(2), report(3), marker(4), marker(5)]
    backlog.put(told[:1])
    backlog.put(told[1:])
    records = backlog.take(9, 0)
    assert [record.events for record in records] == [3, 2, 1]
    assert [isinstance(json.loads(record.value), list) for record in records] == [True, True, False]
    assert events(records) == told
    assert (backlog.take(9, 0), backlog.given_up) == ([], 0)


def test_groups_whose_answers_come_at_the_same_time_keep_their_order() -> None:
    backlog = Backlog(MUCH)
    backlog.put([report(0), report(0, group="h"), report(1), marker(1, "h"), marker(2)])
    records = backlog.take(9, 0)
    assert [(record.key, record.events) for record in records] == [(b"prod/h", 2), (b"prod/g", 3)]


def test_the_parts_of_a_round_stay_together_as_far_as_they_fit() -> None:
    backlog = Backlog(MUCH)
    backlog.put([marker(0, part=0, parts=2), marker(1, part=1, parts=2)])
    assert [record.events for record in backlog.take(9, 0)] == [2]


def test_what_does_not_fit_into_one_record_is_split() -> None:
    backlog, told = Backlog(MUCH), [*(report(seq, topics=500) for seq in range(20)), marker(20)]
    backlog.put(told)
    records = backlog.take(99, 0)
    assert len(records) > 1
    assert max(len(record.value) for record in records) <= MAX_RECORD_BYTES
    assert events(records) == told


def test_what_waits_for_the_end_of_a_round_is_sent_when_there_will_be_none() -> None:
    backlog = Backlog(MUCH)
    backlog.put([report(0), report(1)])
    assert (len(backlog), backlog.take(9, 0)) == (0, [])
    backlog.end_rounds()
    assert events(backlog.take(9, 0)) == [report(0), report(1)]


@pytest.mark.slow("many rounds are asked")
@given(st.lists(st.sampled_from("gh"), max_size=60), st.integers(2_000, 9_000))
def test_the_bound_holds_and_the_oldest_are_dropped(groups: list[str], limit: int) -> None:
    backlog, numbers = Backlog(limit), {"g": 0, "h": 0}
    for group in groups:
        backlog.put([report(numbers[group], group=group), marker(numbers[group] + 1, group)])
        numbers[group] += 2
    kept = backlog.take(999, 0)
    assert sum(len(record.value) + 400 for record in kept) <= limit
    assert backlog.given_up == 2 * len(groups) - sum(record.events for record in kept)
    for group, told in numbers.items():
        seqs = [event.seq for event in events(kept) if event.group == group]
        assert seqs == list(range(told - len(seqs), told)), "one gap at most, before all that is kept"
