"""Questions about a queue's offsets: whether they are recent, and whether they show that the queue moves."""

from streaming.core.state.group import Group
from streaming.core.state.queue_state import Queue

PROGRESS_MAX_GAP_MS = 180_000  # two readings further apart do not show whether the queue stood still in between
STARTED_AFRESH = -1  # of Queue.stalled_ms: messages wait, and it is not known since when nothing has moved


def unconsumed_ms(queue: Queue) -> int:
    """For how long messages had waited, and the group's offset had not moved, at the last reading; 0: it has moved."""
    return queue.progress_ts - queue.unconsumed_since_ts if queue.unconsumed_since_ts else 0


def is_seen_lately(group: Group, queue: Queue) -> bool:
    return queue.progress_ts > 0 and group.state.now - queue.progress_ts <= group.timing.progress_max_gap_ms


def is_seen_to_move(group: Group, queue: Queue) -> bool:
    """True if the newest offsets show that the queue moves, or that nothing waits; one beyond the end shows neither."""
    is_known = is_seen_lately(group, queue) and queue.consumer_lag >= 0
    return is_known and (queue.stalled_ms == 0 or queue.pull_lag <= 0)


def is_seen_to_be_consumed(group: Group, queue: Queue) -> bool:
    """True if the newest offsets show that the group consumes, or none waits; one beyond the end shows neither."""
    return is_seen_lately(group, queue) and queue.consumer_lag >= 0 and not queue.unconsumed_since_ts


def restart_clocks(queue: Queue, now: int) -> None:
    """From now on the group is to consume the queue, as it was not before."""
    if queue.unconsumed_since_ts:
        queue.unconsumed_since_ts = now
    if queue.stalled_ms > 0:
        queue.stalled_ms = STARTED_AFRESH
