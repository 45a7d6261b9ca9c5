"""Offsets: how far the group has pulled and consumed each queue, and for how long it has stood still."""

from schemas.events import ConsumeProgress, QueueProgress
from streaming.core.group import Group
from streaming.core.state import Broker, Queue


def take_progress(group: Group, event: ConsumeProgress) -> None:
    """Offsets of some queues of one topic on one broker."""
    topic, place = group.topic(event.topic), group.broker(event.broker_name)
    broker = group.state.brokers[place]
    for progress in event.queues:
        queue = group.state.queues[group.queue(topic, place, progress.queue_id)]
        if event.ts <= queue.progress_ts:
            continue
        _observe(group, queue, progress, event.ts, broker)


def _observe(group: Group, queue: Queue, progress: QueueProgress, ts: int, broker: Broker) -> None:
    # 4.x brokers report no pull offset
    pulled = progress.consumer_offset if progress.pull_offset < 0 else progress.pull_offset
    consumer_lag, pull_lag = progress.broker_offset - progress.consumer_offset, progress.broker_offset - pulled
    still = (
        pull_lag > 0
        and queue.progress_ts > 0
        and queue.broker_offset - queue.pull_lag == pulled
        and queue.broker_offset - queue.consumer_lag == progress.consumer_offset
    )
    if still and seen_without_a_gap(group, queue, ts, broker):
        queue.still_ms += ts - queue.progress_ts
        if queue.still_ms >= group.timing.stall:
            group.disturb()
    else:
        if queue.still_ms >= group.timing.stall:
            group.disturb()
        queue.still_ms = 0
    queue.broker_offset, queue.consumer_lag, queue.pull_lag = progress.broker_offset, consumer_lag, pull_lag
    queue.progress_ts = ts


def seen_without_a_gap(group: Group, queue: Queue, ts: int, broker: Broker) -> bool:
    """A broker that was away in between, or events lost on the way, make two observations say nothing together."""
    timing = group.timing
    if broker.lost_ts and ts - broker.lost_ts > timing.view_max_age:
        return False
    last_gap = max(broker.returned_ts, group.state.floor_ts)
    return queue.progress_ts > last_gap and ts - queue.progress_ts <= timing.progress_max_gap
