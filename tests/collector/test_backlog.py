"""What waits for Kafka: in order, within its bound, and the newest of each kind when there is too much."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import decode_record
from schemas.events import (
    AnyEvent,
    AssignmentReport,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    QueueProgress,
    Round,
    decode_event,
    encode_event,
)
from streaming.collector.output.backlog import Backlog, Waiting

NOW = 1_700_000_000_000
MUCH = 1 << 30


def common(seq: int, group: str = "g") -> dict[str, object]:
    return {"schema": 1, "cluster": "prod", "group": group, "ts": NOW + seq, "round": NOW, "seq": seq, "source": "s"}


def report(seq: int, client_id: str = "c", start_ts: int = 5, group: str = "g") -> AssignmentReport:
    return AssignmentReport(
        **common(seq, group), client_id=client_id, answered=True, answered_ts=NOW + seq, start_ts=start_ts
    )  # type: ignore[arg-type]


def marker(seq: int, group: str = "g") -> Round:
    return Round(**common(seq, group), brokers=(), started_ts=NOW)  # type: ignore[arg-type]


def change(seq: int) -> ConsumerChange:
    return ConsumerChange(**common(seq), broker_name="b", client_id="c", change="appeared")  # type: ignore[arg-type]


def heartbeat(seq: int, client_id: str = "c", group: str = "g") -> Heartbeat:
    return Heartbeat(**common(seq, group), broker_name="b", client_id=client_id, observed="listed")  # type: ignore[arg-type]


def events(records: Iterable[Waiting]) -> list[AnyEvent]:
    return [decode_event(record.value) for record in records]


def test_what_fits_comes_out_as_it_went_in() -> None:
    backlog = Backlog(MUCH)
    told = [heartbeat(0), report(1), report(2), change(3), marker(4)]
    backlog.put(told)
    assert events(backlog.take(2, 0)) == told[:2]
    assert events(backlog.take(9, 0)) == told[2:]
    assert (backlog.take(9, 0), backlog.given_up) == ([], 0)


def test_record_can_be_used_by_the_job() -> None:
    backlog = Backlog(MUCH)
    backlog.put([marker(0)])
    (record,) = backlog.take(1, 0)
    assert decode_record(record.key, record.value, len(record.value), NOW) == marker(0)


def test_newest_of_each_kind_is_kept_when_there_is_too_much() -> None:
    backlog = Backlog(6_000)
    backlog.put([report(0, "old")])
    for start in range(1, 100, 4):
        backlog.put([heartbeat(start), report(start + 1), change(start + 2), marker(start + 3)])
    kept = events(backlog.take(99, 0))
    assert {(type(e).__name__, e.ts) for e in kept[-4:]} >= {("AssignmentReport", NOW + 98), ("Round", NOW + 100)}
    assert any(isinstance(e, AssignmentReport) and e.client_id == "old" for e in kept)
    assert backlog.given_up == 101 - len(kept)


def test_two_instances_of_one_client_are_both_kept() -> None:
    backlog = Backlog(5_000)
    backlog.put([report(n, start_ts=n % 2) for n in range(40)])
    assert {e.start_ts for e in events(backlog.take(99, 0)) if isinstance(e, AssignmentReport)} == {0, 1}


def test_oldest_goes_first_where_even_the_newest_of_each_is_too_much() -> None:
    backlog = Backlog(10_000)
    backlog.put([report(n, f"c{n}") for n in range(100)])
    kept = events(backlog.take(99, 0))
    assert kept
    assert [e.seq for e in kept] == list(range(100 - len(kept), 100))


@given(st.lists(st.tuples(st.sampled_from("gh"), st.sampled_from("cde")), max_size=60), st.integers(2_000, 9_000))
def test_bound_holds_and_each_group_has_one_gap_at_most(told: list[tuple[str, str]], limit: int) -> None:
    backlog, numbers = Backlog(limit), {"g": 0, "h": 0}
    for group, client_id in told:
        backlog.put([report(numbers[group], client_id, group=group), marker(numbers[group] + 1, group)])
        numbers[group] += 2
    kept = backlog.take(999, 0)
    assert sum(record.size for record in kept) <= limit
    for group, told_of_it in numbers.items():
        seqs = [e.seq for e in events(kept) if e.group == group]
        assert seqs == list(range(told_of_it - len(seqs), told_of_it))


def test_parts_of_one_round_and_of_one_table_do_not_supersede_each_other() -> None:
    parts = [Round(**common(seq), brokers=(), started_ts=NOW, part=seq, parts=3) for seq in range(3)]  # type: ignore[arg-type]
    tables = [
        ConsumeProgress(**common(3 + n), broker_name="a", topic="T", queues=(QueueProgress(500 * n, 1, 1, 1),))  # type: ignore[arg-type]
        for n in range(2)
    ]
    size = sum(len(encode_event(event)) + 400 for event in (*parts, *tables))
    backlog = Backlog(size * 2)
    for _ in range(3):
        backlog.put([*parts, *tables])
    kept = [decode_event(record.value) for record in backlog.take(99, 0)]
    assert {event.part for event in kept if isinstance(event, Round)} == {0, 1, 2}
    assert {event.queues[0].queue_id for event in kept if isinstance(event, ConsumeProgress)} == {0, 500}
