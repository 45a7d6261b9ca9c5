"""Offsets: how far the group has pulled and consumed each queue, and for how long neither has moved.

Each queue has two clocks. ``unconsumed_since_ts``: messages wait, and the group's offset has not moved. Only movement
and what the group intends start it again; it does not run while no offsets are read. ``stalled_ms``: neither
offset has moved, without a gap between readings. It tells sooner.
"""

from schemas.events import ANY_QUEUE, ConsumeProgress, QueueOffsets, QueueProgress, TopicOffsets
from schemas.facts import Kind
from schemas.identity import REVIVE_GROUP, is_retry_topic
from streaming.core.intake.polls import polls_shown_by
from streaming.core.intake.redeliveries import count_come_back, count_taken
from streaming.core.intake.revivals import note_revivals, prove_stuck
from streaming.core.intake.setbacks import follow_setbacks, note_setback
from streaming.core.settings import Timing
from streaming.core.state.group import Group
from streaming.core.state.group_state import FINDING_CODES, Broker
from streaming.core.state.offsets import STARTED_AFRESH, unconsumed_ms
from streaming.core.state.queue_state import Queue

KEEP_STEP_MS = 3_600_000  # how long a queue's offset took to move on: the next step may take as long


def take_progress(group: Group, event: ConsumeProgress | TopicOffsets) -> None:
    topic, index = group.topic(event.topic), group.broker(event.broker_name)
    broker = group.state.brokers[index]
    is_unlisted = not any(known.listed for known in group.state.brokers)
    polls = polls_shown_by(group, group.state.topics[topic], index) if group.has_polls else {}
    is_revive_log = group.state.group == REVIVE_GROUP and not is_retry_topic(event.topic)
    knows_pull_and_commit = broker.reports_pull_offsets and group.state.topics[topic].is_committed
    if is_revive_log:
        note_revivals(group, topic, index, event)
    for progress in event.queues:
        queue = group.state.queues[group.queue(topic, index, progress.queue_id)]
        if event.ts <= queue.progress_ts:
            continue
        if polls and queue.progress_ts:
            if _is_progress(queue, progress) or _is_pulled(queue, progress):
                for one in (polls.get(ANY_QUEUE), polls.get(progress.queue_id)):
                    if one is not None:
                        one.moved_ts = max(one.moved_ts, event.ts)
            if (at_any := polls.get(ANY_QUEUE)) is not None:
                if is_retry_topic(event.topic):
                    count_come_back(group, at_any, queue, progress, event.ts)
                count_taken(at_any, queue, progress, event.ts)
        was_counted = queue.counted_since_ts
        offset = progress.consumer_offset
        if offset < 0:
            progress = _counted_from_what_is_known(queue, progress, event.ts)
            offset = progress.consumer_offset
        elif was_counted:
            queue.counted_since_ts = 0
        was_read_since = queue.progress_ts > group.state.empty_since  # after the last member had left
        if is_unlisted and was_read_since and _is_progress(queue, progress):
            group.state.consumed_unlisted_ts = event.ts
        if isinstance(progress, QueueOffsets) and knows_pull_and_commit and _goes_on(group, queue, progress, event.ts):
            _move(queue, progress, event.ts)
        else:
            if offset < queue.broker_offset - queue.consumer_lag and not was_counted:
                note_setback(group, group.queue(topic, index, progress.queue_id), progress, event.ts)
            _observe(group, queue, progress, event.ts, broker)
    if is_revive_log:
        prove_stuck(group, topic, index, event.ts)
    if group.state.setbacks:
        follow_setbacks(group)


def _counted_from_what_is_known(queue: Queue, seen: QueueProgress | QueueOffsets, ts: int) -> QueueProgress:
    """The broker knows no offset of the group in a queue that nobody can read, so what it was last is still true.

    If it never was known, what is counted is what arrives from now on.
    """
    if queue.progress_ts:
        consumed = queue.broker_offset - queue.consumer_lag
    else:
        consumed, queue.counted_since_ts = seen.broker_offset, ts
    return QueueProgress(seen.queue_id, seen.broker_offset, consumed, consumed)


def _is_progress(queue: Queue, seen: QueueProgress | QueueOffsets) -> bool:
    """True if the group has come further. An offset beyond the end is of messages that the broker does not have.

    It is that of another life of the queue (a broker whose store was lost), or was set by hand: nothing was consumed.
    """
    return queue.broker_offset - queue.consumer_lag < seen.consumer_offset <= seen.broker_offset


def _is_pulled(queue: Queue, seen: QueueProgress | QueueOffsets) -> bool:
    """True if messages were given out: with popConsumerKVServiceEnable a POP moves the pull offset only, at first."""
    return queue.broker_offset - queue.pull_lag < seen.pull_offset <= seen.broker_offset


def _goes_on(group: Group, queue: Queue, seen: QueueOffsets, ts: int) -> bool:
    """True if the queue moved and moves on, or was empty and still is: then ``_observe`` would only ``_move`` it.

    This holds for most queues, and to find it out takes a third of the time.
    """
    if queue.anomaly is not None or queue.stalled_ms or not queue.progress_ts or seen.pull_lag > seen.broker_offset:
        return False
    if seen.consumer_lag <= 0 or queue.consumer_lag <= 0:
        return seen.pull_lag <= 0 and seen.consumer_lag <= 0 and queue.consumer_lag <= 0
    is_recent = not 0 < seen.consumed_ts < ts - group.timing.stall_ms
    return is_recent and seen.broker_offset - seen.consumer_lag > queue.broker_offset - queue.consumer_lag


def _move(queue: Queue, seen: QueueOffsets, ts: int) -> None:
    queue.broker_offset, queue.consumer_lag, queue.pull_lag = seen.broker_offset, seen.consumer_lag, seen.pull_lag
    queue.progress_ts = ts


def _observe(group: Group, queue: Queue, progress: QueueProgress | QueueOffsets, ts: int, broker: Broker) -> None:
    # 4.x brokers report no pull offset
    pulled = progress.consumer_offset if progress.pull_offset < 0 else progress.pull_offset
    consumer_lag, pull_lag = progress.broker_offset - progress.consumer_offset, progress.broker_offset - pulled
    moved = queue.progress_ts > 0 and (
        queue.broker_offset - queue.pull_lag != pulled
        or queue.broker_offset - queue.consumer_lag != progress.consumer_offset
    )
    moved = moved and consumer_lag >= 0
    if queue.progress_ts and _is_progress(queue, progress):
        _note_commit(group, queue)
    if moved and queue.anomaly is not None:
        queue.unclaimed_since_ts = 0
    before, waited, stood_ms = queue.stalled_ms, queue.pull_lag > 0, unconsumed_ms(queue)
    is_undecided = is_away(broker, ts, group.timing)
    _note_uncommitted(queue, progress)
    _note_standing(group, queue, progress, ts)
    if moved or pull_lag <= 0:
        queue.stalled_ms = 0
    elif is_undecided and waited:
        queue.stalled_ms = before or STARTED_AFRESH  # this timer does not run before the broker's list is back
    elif not is_undecided and _seen_without_a_gap(group, queue, ts, broker, waited):
        queue.stalled_ms = max(0, before) + ts - queue.progress_ts
    else:
        queue.stalled_ms = STARTED_AFRESH
    begins_or_ends_to_wait = (consumer_lag > 0) != (queue.consumer_lag > 0)
    goes_on_waiting = consumer_lag > 0 and not moved
    is_unread = (begins_or_ends_to_wait or goes_on_waiting) and not _can_be_read(group, queue)
    queue.broker_offset, queue.consumer_lag, queue.pull_lag = progress.broker_offset, consumer_lag, pull_lag
    queue.progress_ts = ts
    if queue.anomaly is not None and queue.stalled_ms <= 0 and not queue.unconsumed_since_ts:
        queue.idle_since_ts = queue.owner_since_ts = 0
    broker.reports_pull_offsets = broker.reports_pull_offsets or progress.pull_offset >= 0
    stands_for_long = max(stood_ms, unconsumed_ms(queue)) >= group.timing.consume_stall_ms
    if is_unread or stands_for_long or max(before, queue.stalled_ms) >= group.timing.stall_ms:
        group.request_evaluation()
    _note_the_oldest(group, queue, progress)


def _note_commit(group: Group, queue: Queue) -> None:
    """Broadcasting clients keep their offsets to themselves (LocalFileOffsetStore): this group does not broadcast."""
    topic = group.topic_of(queue)
    if not topic.is_committed:
        topic.is_committed = True
        group.request_evaluation()


def _note_uncommitted(queue: Queue, progress: QueueProgress | QueueOffsets) -> None:
    """An offset of 0 may be none: brokers say 0 where the group has never committed (AdminBrokerProcessor, 208)."""
    if progress.consumer_offset > 0:
        if queue.anomaly is not None:
            queue.uncommitted_end = 0
    elif not queue.progress_ts and not progress.consumer_offset:
        queue.uncommitted_end = progress.broker_offset


def _note_standing(group: Group, queue: Queue, progress: QueueProgress | QueueOffsets, ts: int) -> None:
    """Notes that an offset was read twice with messages beyond it: nothing was consumed meanwhile."""
    has_consumed = queue.broker_offset - queue.consumer_lag != progress.consumer_offset
    if queue.consumer_lag <= 0 or progress.broker_offset <= progress.consumer_offset or has_consumed:
        if queue.anomaly is not None:
            _note_step(group, queue, ts)
            queue.unconsumed_since_ts = 0
    elif not queue.unconsumed_since_ts:
        queue.unconsumed_since_ts = queue.progress_ts if _is_without_a_gap(group, queue, ts) else ts
    elif not _is_without_a_gap(group, queue, ts):
        queue.unconsumed_since_ts += ts - queue.progress_ts  # a clock may have jumped ahead


def _is_without_a_gap(group: Group, queue: Queue, ts: int) -> bool:
    return ts - queue.progress_ts <= group.timing.progress_max_gap_ms


def _note_step(group: Group, queue: Queue, ts: int) -> None:
    """Keeps for how long the offset stood still twice lately: it may again. Once may be a fault, and a stall is one."""
    if queue.longest_step_ts and ts - queue.longest_step_ts > KEEP_STEP_MS:
        queue.longest_step_ms = queue.longest_once_ms = queue.longest_step_ts = 0
    step_ms = ts - queue.unconsumed_since_ts if queue.unconsumed_since_ts else 0  # up to this reading
    if step_ms <= group.timing.stall_ms or FINDING_CODES[queue.finding] is Kind.STALLED:
        return
    queue.longest_step_ms = max(queue.longest_step_ms, min(step_ms, queue.longest_once_ms))
    queue.longest_once_ms = max(queue.longest_once_ms, step_ms)
    queue.longest_step_ts = ts


def _note_the_oldest(group: Group, queue: Queue, progress: QueueProgress | QueueOffsets) -> None:
    """Keeps when the last consumed message was written, while the queue stands still or is far behind."""
    waits = (
        queue.stalled_ms != 0
        or queue.unconsumed_since_ts
        or progress.consumed_ts < queue.progress_ts - group.timing.stall_ms
    )
    if progress.consumed_ts and queue.consumer_lag > 0 and waits:
        queue.consumed_ts = progress.consumed_ts
    elif queue.anomaly is not None:
        queue.consumed_ts = 0


def _can_be_read(group: Group, queue: Queue) -> bool:
    hosts = group.topic_of(queue).hosts
    return any(host.lets_read(queue.broker, queue.queue_id) for host in hosts)


def is_away(broker: Broker, ts: int, timing: Timing) -> bool:
    """True if the broker has given no list for so long that the one known is no longer believed."""
    return broker.lost_ts > 0 and ts - broker.lost_ts > timing.view_max_age_ms


def _seen_without_a_gap(group: Group, queue: Queue, ts: int, broker: Broker, waited: bool) -> bool:
    """True if two readings together show a stall: not if the broker was restarted in between.

    Nor if they are far apart and nothing waited at the first: the messages may have come just before the second.
    Lost events in between do not matter: offsets that are equal in both readings have not moved.
    """
    if not waited and ts - queue.progress_ts > group.timing.view_max_age_ms:
        return False
    return queue.progress_ts > broker.returned_ts and _is_without_a_gap(group, queue, ts)


def leave_out(group: Group, index: int, ms: int) -> None:
    """Leaves out ``ms`` of the stall timers of the broker's queues: for so long the broker was not covered.

    The broker was not restarted, so a stall from before goes on, unless offsets show that the queue moved. Clients
    that could not reach it pull again only after their requests have timed out: its absence is no stall.
    """
    state = group.state
    for queue in state.queues:
        is_lately = state.now - queue.progress_ts <= group.timing.progress_max_gap_ms
        if queue.broker == index and queue.pull_lag > 0 and is_lately:
            queue.stalled_ms = queue.stalled_ms or STARTED_AFRESH
            queue.progress_ts = min(queue.progress_ts + ms, state.now)
