"""Offsets in a round's short form are taken by a shorter way where a queue only goes on: the state must be the same."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.events import SCHEMA_VERSION, ConsumeProgress, QueueOffsets, QueueProgress, TopicOffsets
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.intake.consume_offsets import take_progress
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, new_state

T0 = 1_790_000_000_000
OFFSETS = st.tuples(
    st.sampled_from([0, 5_000, 15_000, 70_000, 400_000]),  # ms after the last
    st.integers(0, 3),  # messages sent since
    st.integers(-1, 3),  # lag of the consumer
    st.one_of(st.integers(-1, 3), st.none()),  # lag of what was pulled; None: the broker does not know it
    st.sampled_from([0, 1_000, 90_000]),  # age of the last consumed message; 0: not known
)


def group() -> Group:
    return Group(new_state("c", "g"), DEFAULT_SETTINGS)


def in_full(ts: int, broker_offset: int, lag: int, pull_lag: int | None, consumed_ts: int) -> ConsumeProgress:
    pulled = -1 if pull_lag is None else max(-1, broker_offset - pull_lag)
    queue = QueueProgress(0, broker_offset, broker_offset - lag, pulled, consumed_ts)
    where = {"schema": SCHEMA_VERSION, "cluster": "c", "group": "g", "broker_name": "a", "topic": "T"}
    return ConsumeProgress(**where, ts=ts, round=1, seq=1, queues=(queue,))


def in_short(event: ConsumeProgress) -> TopicOffsets:
    (queue,) = event.queues
    of = queue.broker_offset
    short = QueueOffsets(queue.queue_id, of, of - queue.consumer_offset, of - queue.pull_offset, queue.consumed_ts)
    return TopicOffsets(event.broker_name, event.topic, event.ts, (short,))


def taken(events: list[ConsumeProgress], short: bool) -> GroupState:
    taking = group()
    for event in events:
        taking.state.evaluation_due_ts = event.ts  # so that a request for an evaluation is seen
        take_progress(taking, in_short(event) if short else event)
    return taking.state


@given(st.lists(OFFSETS, min_size=2, max_size=12))
def test_both_forms_leave_the_same_state(steps: list[tuple[int, int, int, int | None, int]]) -> None:
    events, ts, end = [], T0, 100
    for apart_ms, sent, lag, pull_lag, age_ms in steps:
        ts, end = ts + apart_ms, end + sent
        events.append(in_full(ts, end, lag, pull_lag, ts - age_ms if age_ms else 0))
    for known in range(1, len(events) + 1):
        assert taken(events[:known], short=True) == taken(events[:known], short=False)
