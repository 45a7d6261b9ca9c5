"""How a group is packed: a queue at rest costs little, and what is kept of one that is not comes back."""

import msgspec

from streaming.core.state.group_state import new_state, pack, unpack
from streaming.core.state.queue_state import Queue, QueueAnomaly

LONGEST_SHORT_ARRAY = 15  # MessagePack: longer ones have a header of three bytes, not one


def test_a_queue_at_rest_has_a_short_array_and_no_unrest() -> None:
    queue = Queue(0, 0, 0)
    assert len(msgspec.msgpack.decode(msgspec.msgpack.encode(queue))) <= LONGEST_SHORT_ARRAY
    assert queue.anomaly is None
    assert (queue.cause, queue.mismatch_since_ts, queue.idle_since_ts) == (None, 0, 0)


def test_what_is_noted_of_a_queue_is_packed_and_goes_when_it_is_over() -> None:
    state = new_state("c", "g")
    state.queues = [Queue(0, 0, 0), Queue(0, 0, 1)]
    noted = state.queues[1]
    noted.cause, noted.mismatch_since_ts = "LOCK_STUCK", 5
    again = unpack(pack(state)).queues
    assert [queue.anomaly for queue in again] == [None, QueueAnomaly(cause="LOCK_STUCK", mismatch_since_ts=5)]
    noted.cause = None
    assert noted.anomaly == QueueAnomaly(mismatch_since_ts=5)
    noted.mismatch_since_ts = 0
    assert noted.anomaly is None
    noted.idle_since_ts = 0
    assert noted.anomaly is None
