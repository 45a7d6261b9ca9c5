"""Messages that come back: how many of those that clients took by POP were put into the POP retry topic.

A broker puts a message there whose client refused it, or did not acknowledge it while it was invisible to others
(``PopReviveService.reviveRetry``). It does not say which. The end of that topic's queue counts them exactly. What was
in flight comes back once when a client stops or a proxy goes away: that is not counted.
"""

from schemas.events import QueueOffsets, QueueProgress
from streaming.core.settings import Timing
from streaming.core.state.group import Group
from streaming.core.state.group_state import Broker, Polls, Redelivered
from streaming.core.state.members import is_listed
from streaming.core.state.queue_state import Queue

# ProxyConfig.defaultInvisibleTimeMills. A proxy renews it while it lists the client, also one that is gone.
LEFT_IN_FLIGHT_MS = 60_000


def count_taken(polls: Polls, queue: Queue, seen: QueueProgress | QueueOffsets, ts: int) -> None:
    """Messages of a queue were read to have been taken. They are counted only while messages come back."""
    known = polls.redelivered
    if known is not None and known.counted_ts < ts:
        taken_before = queue.broker_offset - min(queue.consumer_lag, queue.pull_lag)
        taken = min(max(seen.consumer_offset, seen.pull_offset), seen.broker_offset)
        known.taken += max(0, taken - taken_before)


def count_come_back(group: Group, polls: Polls, queue: Queue, seen: QueueProgress | QueueOffsets, ts: int) -> None:
    """The POP retry topic of the messages was read; ``queue`` is its only queue on the broker, as it was before."""
    before_ts, known = queue.progress_ts, polls.redelivered
    is_gap = ts - before_ts > group.timing.progress_max_gap_ms  # it is not known when they came
    come_back = 0 if is_gap else max(0, seen.broker_offset - queue.broker_offset)
    if known is None and not come_back:
        return
    group.request_evaluation()
    if known is None:
        known = polls.redelivered = Redelivered(before_ts, ts, ts, before_ts, before_ts)
    known.read_ts = ts
    if come_back:
        known.grown_ts = ts
    elif ts - known.grown_ts >= group.timing.consume_stall_ms:
        polls.redelivered = None
    if _is_in_flight(group, before_ts, ts):
        _begin_to_count(known, ts)
    else:
        _count(known, come_back, ts, group.timing.consume_stall_ms)


def _begin_to_count(known: Redelivered, ts: int) -> None:
    known.counted_ts = known.period_ts = ts
    known.again = known.taken = known.again_before = known.taken_before = known.before_ts = 0


def _count(known: Redelivered, come_back: int, ts: int, period_ms: int) -> None:
    if ts - known.period_ts >= period_ms:
        known.again_before, known.taken_before = known.again, known.taken
        known.again, known.taken, known.before_ts, known.period_ts = 0, 0, known.period_ts, ts
    known.again += come_back


def _is_in_flight(group: Group, from_ts: int, ts: int) -> bool:
    """True if a client left, or a proxy or broker was away, shortly before: what it had may come back between both."""
    state, since_ts = group.state, from_ts - LEFT_IN_FLIGHT_MS
    has_left = any(client.since_ts > since_ts for client in state.clients if not is_listed(client))
    return has_left or any(_was_away(broker, since_ts, ts, group.timing) for broker in state.brokers)


def _was_away(broker: Broker, since_ts: int, now: int, timing: Timing) -> bool:
    """One that gives no list for a moment may serve its clients all the while: it was slow."""
    if broker.lost_ts:
        return now - broker.lost_ts >= timing.view_max_age_ms and broker.lost_ts > since_ts
    return broker.back_ts > since_ts and broker.back_ts - broker.gone_ts >= timing.view_max_age_ms
