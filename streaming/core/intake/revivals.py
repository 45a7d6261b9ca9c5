"""Revivals: how far a broker is in its revive log, by the offsets of REVIVE_GROUP.

Whatever is popped (checkpoints) and acknowledged comes into the log when its invisible time ends, so nothing in it has
to wait. The broker reads it with a thread for each queue (apache/rocketmq 5.3.3: ``PopReviveService``), which takes 5
to 20 s. The offset is that of the checkpoint which it finished last. Acknowledgements alone do not move it: those that
come later than their checkpoint are left behind it, for ever in a queue at rest. Nor is the offset's time a sign: it is
that of the record before the checkpoint, which may be hours old.

So these prove that something is wrong:

- No queue of the broker is read on while the log grows. So much has come that eight clients would all have to
  acknowledge whole batches late, and nobody may have popped anything before.
- One queue is not read on for much longer, and so much has come there alone. Checkpoints come into all queues by turns.
- A queue is read on, but to a checkpoint that had come long before.
"""

from schemas.events import ConsumeProgress, QueueOffsets, QueueProgress, TopicOffsets
from streaming.core.state.group import Group
from streaming.core.state.group_state import Broker, LogEnd, Revival

STANDS_MS = 50_000  # the service scans for 10 s, rests for 3 s, and waits 4 s for what is late
STANDS_ALONE_MS = 300_000
MOST_POPPED = 32  # messages at once (PopMessageProcessor): so many late acknowledgements may follow one checkpoint
GREW_BY = 8 * MOST_POPPED
GROWN_MS = 30_000  # what had come so long before counts: a broker that restarts in seconds gets it all at once
READ_LATE_MS = 60_000
MOST_APART_MS = 90_000  # two readings


def note_revivals(group: Group, topic: int, broker: int, event: ConsumeProgress | TopicOffsets) -> None:
    """Offsets of a broker's log, before they are taken: its queues have those that were read before."""
    for seen in event.queues:
        index = group.queue(topic, broker, seen.queue_id)
        if event.ts > group.state.queues[index].progress_ts:
            _note_revival(group, index, seen, event.ts)


def _note_revival(group: Group, index: int, seen: QueueProgress | QueueOffsets, ts: int) -> None:
    state, queue = group.state, group.state.queues[index]
    one = next((known for known in state.revivals if known.queue == index), None)
    if one is None or seen.broker_offset < queue.broker_offset:
        state.revivals = [known for known in state.revivals if known.queue != index]
        state.revivals.append(Revival(index, seen.broker_offset, ends=[LogEnd(ts, seen.broker_offset)]))
        return
    if seen.consumer_offset != queue.broker_offset - queue.consumer_lag:
        _moved(one, seen, queue.progress_ts, ts)
        group.request_evaluation()
    elif ts - queue.progress_ts > MOST_APART_MS or _was_away(group.broker_of(queue), queue.progress_ts):
        one.grows_since_ts = one.late_since_ts = 0  # the broker may just have started
    elif ts - one.moved_ts >= STANDS_MS and one.late_since_ts:
        one.late_since_ts = 0  # there may be nothing left to read
        group.request_evaluation()
    elif seen.broker_offset > one.end:
        one.grows_since_ts = one.grows_since_ts or ts
        group.request_evaluation()
    one.ends = [*(end for end in one.ends if ts - end.ts <= 2 * READ_LATE_MS), LogEnd(ts, seen.broker_offset)]


def _was_away(broker: Broker, since_ts: int) -> bool:
    return broker.lost_ts > 0 or broker.back_ts > since_ts


def _end_before(one: Revival, ts: int, unknown: int) -> int:
    """Where the queue ended at the last reading until ``ts``; ``unknown`` if none of so long ago is kept."""
    return max((end.offset for end in one.ends if end.ts <= ts), default=unknown)


def _moved(one: Revival, seen: QueueProgress | QueueOffsets, before_ts: int, ts: int) -> None:
    """It moved after ``before_ts``, to a checkpoint that had come long before that, or to a newer one."""
    is_late = seen.consumer_offset < _end_before(one, before_ts - READ_LATE_MS, unknown=0)
    one.late_since_ts = (one.late_since_ts or ts) if is_late else 0
    one.end, one.moved_ts, one.grows_since_ts, one.is_stuck = seen.broker_offset, ts, 0, False


def prove_stuck(group: Group, topic: int, broker: int, ts: int) -> None:
    """Offsets of a broker's log have been taken, as read at ``ts``: notes which of them stand still for too long."""
    queues = group.state.queues
    log = [
        one for one in group.state.revivals if (queues[one.queue].topic, queues[one.queue].broker) == (topic, broker)
    ]
    standing = [one for one in log if one.grows_since_ts]
    if not standing:
        return
    grown = {one.queue: max(0, _end_before(one, ts - GROWN_MS, unknown=one.end) - one.end) for one in standing}
    since_ts = max(max(one.moved_ts for one in log), min(one.grows_since_ts for one in standing))
    is_none_read = ts - since_ts >= STANDS_MS and sum(grown.values()) >= GREW_BY
    for one in standing:
        is_long = ts - one.grows_since_ts >= STANDS_ALONE_MS and grown[one.queue] >= GREW_BY
        one.is_stuck = one.is_stuck or is_none_read or is_long
