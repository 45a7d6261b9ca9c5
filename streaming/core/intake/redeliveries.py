"""Messages that come back: how many of those that clients took by POP were put into the POP retry topic.

A broker puts a message there whose client refused it, or did not acknowledge it while it was invisible to others
(``PopReviveService.reviveRetry``). It does not say which. The end of that topic's queue counts them exactly. What was
in flight comes back once when a client stops or a proxy goes away: nothing is counted until that is over.
"""

from schemas.events import QueueOffsets, QueueProgress
from streaming.core.settings import Timing
from streaming.core.state.group import Group
from streaming.core.state.group_state import Broker, Polls, Redelivered
from streaming.core.state.members import is_listed
from streaming.core.state.queue_state import Queue

# A proxy renews for a client that is gone without a word for 130 s, and a message is invisible for 60 s after that.
LEFT_IN_FLIGHT_MS = 190_000


def count_taken(polls: Polls, queue: Queue, seen: QueueProgress | QueueOffsets) -> None:
    """Messages of a queue were read to have been taken. They are counted only while messages come back."""
    if polls.redelivered is not None:
        taken_before = queue.broker_offset - min(queue.consumer_lag, queue.pull_lag)
        taken = min(max(seen.consumer_offset, seen.pull_offset), seen.broker_offset)
        polls.redelivered.taken += max(0, taken - taken_before)


def count_come_back(group: Group, polls: Polls, queue: Queue, seen: QueueProgress | QueueOffsets, ts: int) -> None:
    """The POP retry topic of the messages was read; ``queue`` is its only queue on the broker, as it was before."""
    is_gap = ts - queue.progress_ts > group.timing.progress_max_gap_ms  # it is not known when they came
    come_back = 0 if is_gap else max(0, seen.broker_offset - queue.broker_offset)
    if come_back and _is_in_flight(group, ts):
        polls.redelivered, come_back = Redelivered(ts, ts, ts, ts), 0
    elif come_back and polls.redelivered is None:
        polls.redelivered = Redelivered(queue.progress_ts, ts, ts, queue.progress_ts)
    if polls.redelivered is not None:
        group.request_evaluation()
        polls.redelivered = _counted(polls.redelivered, come_back, ts, group.timing.consume_stall_ms)


def _counted(known: Redelivered, come_back: int, ts: int, period_ms: int) -> Redelivered | None:
    """None: no message has come back for a whole period."""
    if not come_back and ts - known.grown_ts >= period_ms:
        return None
    if ts - known.period_ts >= period_ms:
        known.again_before, known.taken_before = known.again, known.taken
        known.again, known.taken, known.before_ts, known.period_ts = 0, 0, known.period_ts, ts
    known.read_ts = ts
    if come_back:
        known.again += come_back
        known.grown_ts = ts
    return known


def _is_in_flight(group: Group, ts: int) -> bool:
    """True if a client left, or a proxy or broker was away, so lately that its messages in flight may come back now."""
    state, since_ts = group.state, ts - LEFT_IN_FLIGHT_MS
    has_left = any(client.since_ts > since_ts for client in state.clients if not is_listed(client))
    return has_left or any(_was_away(broker, since_ts, ts, group.timing) for broker in state.brokers)


def _was_away(broker: Broker, since_ts: int, now: int, timing: Timing) -> bool:
    """One that gives no list for a moment may serve its clients all the while: it was slow."""
    if broker.lost_ts:
        return now - broker.lost_ts >= timing.view_max_age_ms and broker.lost_ts > since_ts
    return broker.back_ts > since_ts and broker.back_ts - broker.gone_ts >= timing.view_max_age_ms
