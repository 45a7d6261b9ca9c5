"""Setbacks: queues whose committed offset went back, until it has passed its old height.

A lower offset proves nothing yet. Clients keep their place in memory and commit it every 5 s, also when nothing was
consumed. So where they live, a broker that has loaded an old file soon has the newest offset again. In a rebalance the
old owner and the new one commit by turns. What is lower for good is consumed from there: the offset moves on from its
low, and is still below its old height after ``STAYS_LOW_MS``.

Clients that poll keep no place. A broker hands out again what lies behind its offset, so the next reading proves it.
"""

from schemas.events import QueueOffsets, QueueProgress
from schemas.facts import Kind
from streaming.core.intake.clock import horizon
from streaming.core.state.group import Group
from streaming.core.state.group_state import FINDING_CODES, Setback
from streaming.core.state.queue_state import Queue

# A rebalance takes 20 s, clients commit every 5 s and brokers store that every 5 s: 30 s of messages may come twice.
STAYS_LOW_MS = 60_000
IN_FLIGHT_MS = 60_000  # messages younger than this were in flight when the offset went back
CHANGED_SHORTLY_BEFORE_MS = 60_000
TWO_OWNERS = frozenset({Kind.SHARED_CLIENT_ID.value, Kind.MEMBER_LISTS_DIFFER.value})  # where no report shows them


def note_setback(group: Group, index: int, seen: QueueProgress | QueueOffsets, ts: int) -> None:
    """The offset read at ``ts`` is lower than the one read before. ``index``: of the queue, which has the older one.

    If the end of the queue went back too, its messages are others: the topic was made again, or a store was lost. An
    offset beyond the end was none of this queue's messages.
    """
    queue = group.state.queues[index]
    known = next((one for one in group.state.setbacks if one.queue == index), None)
    if seen.broker_offset < queue.broker_offset or queue.consumer_lag < 0 or not queue.progress_ts:
        if known is not None:
            group.state.setbacks.remove(known)
            group.request_evaluation()
    elif known is not None:
        known.low = min(known.low, seen.consumer_offset)
    elif seen.consumed_ts <= queue.progress_ts - IN_FLIGHT_MS:
        group.state.setbacks.append(_setback(group, index, queue, seen.consumer_offset, ts))


def _setback(group: Group, index: int, queue: Queue, low: int, ts: int) -> Setback:
    """A broker that already gave no list when the higher offset was read answers all the time, and refuses the list."""
    state, broker, before_ts = group.state, group.broker_of(queue), queue.progress_ts
    changed_ts = max((one.changed_ts for one in state.brokers), default=0)
    return Setback(
        index,
        queue.broker_offset - queue.consumer_lag,
        before_ts,
        low,
        ts,
        ts,
        back_ts=ts if broker.lost_ts > before_ts else broker.back_ts if broker.back_ts > before_ts else 0,
        owned_twice=_may_have_two_owners(group, queue),
        changed_ts=changed_ts if changed_ts > before_ts - CHANGED_SHORTLY_BEFORE_MS else 0,
    )


def _may_have_two_owners(group: Group, queue: Queue) -> bool:
    """True if two clients commit their offsets by turns: the lower of them is not what the queue is consumed from."""
    if FINDING_CODES[queue.finding] is Kind.DUPLICATED:
        return True
    return any(one.kind in TWO_OWNERS for one in group.state.group_findings)


def follow_setbacks(group: Group) -> None:
    """Offsets have been read: drops the setbacks that are over, and notes which of the others are proven."""
    state = group.state
    kept = [one for one in state.setbacks if _goes_on(state.queues[one.queue], one)]
    if len(kept) < len(state.setbacks):
        state.setbacks = kept
        group.request_evaluation()
    for one in kept:
        if not one.is_proven:
            _prove(group, state.queues[one.queue], one)


def _goes_on(queue: Queue, setback: Setback) -> bool:
    """False once the offset has its old height, or the queue ends below it: then its messages are others."""
    is_lower = queue.broker_offset - queue.consumer_lag < setback.height <= queue.broker_offset
    return is_lower or not queue.progress_ts


def _prove(group: Group, queue: Queue, setback: Setback) -> None:
    """An offset of 0 may be none: where nothing is committed, what clients do next depends on ``consumeFromWhere``.

    A reading far ahead of the clock proves nothing: the clock may have been set ahead. The next reading does.
    """
    newest_ts = min(queue.progress_ts, horizon(group.state, group.timing))
    is_at_low = queue.broker_offset - queue.consumer_lag <= setback.low
    if _may_have_two_owners(group, queue):
        setback.owned_twice, setback.from_ts = True, queue.progress_ts
    elif _is_polled(group, queue, setback) and newest_ts > setback.seen_ts and (setback.low or not is_at_low):
        _set_proven(group, setback)
    elif is_at_low:
        setback.from_ts = queue.progress_ts
    elif newest_ts - setback.from_ts >= STAYS_LOW_MS:
        _set_proven(group, setback)


def _set_proven(group: Group, setback: Setback) -> None:
    setback.is_proven = True
    group.request_evaluation()


def _is_polled(group: Group, queue: Queue, setback: Setback) -> bool:
    """True if the broker has said since then how many polls wait: it is asked only where clients poll."""
    polls = group.state.topics[queue.topic].polls
    return any(one.broker == queue.broker and one.read_ts > setback.seen_ts for one in polls)
