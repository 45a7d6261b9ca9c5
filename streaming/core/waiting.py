"""How many messages wait for a group and in an alert's queues, read when, and whether a fact must say so anew.

Of a group that consumes by POP the offsets move when messages are given out. Those in flight, which its clients have
and may not acknowledge, are not among those that wait then.
"""

from collections.abc import Iterable
from heapq import nlargest
from typing import NamedTuple

from schemas.events import ANY_QUEUE
from schemas.facts import Kind, QueueWaiting
from schemas.identity import REVIVE_GROUP
from schemas.observed import counted
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.polls_told import have_polls_changed
from streaming.core.state.group import Group
from streaming.core.state.group_state import Alert, Polls
from streaming.core.state.queue_state import Queue

COUNT_GROUP_WAITING_MS = 60_000  # how much waits for a group at rest is counted so often
TELL_GROUP_WAITING_MS = 300_000  # how much waits for a group is said at most so often, if that has changed
LEAST_CHANGE = 100  # messages: below that a group that consumes goes up and down all the time
MOST_QUEUES = 20
TELL_WAITING_MS = 60_000  # an open alert says how much waits at most so often, if that has changed
REPEAT_WAITING_MS = 600_000  # and at least so often while its queues' offsets are read
NOT_KNOWN = -1
CHANGED_SHARE = 0.1  # of the number that the newest fact says


class Waiting(NamedTuple):
    """``messages`` that are not consumed, by offsets of which the oldest were read at ``read_ts``.

    The oldest message was stored after ``oldest_ts``. None: not known. Times are epoch ms.
    """

    messages: int | None
    read_ts: int | None
    oldest_ts: int | None


def waiting_in(evidence: GroupEvidence, queue: Queue) -> Waiting:
    """Broadcasting clients keep their offsets to themselves."""
    if not queue.progress_ts or evidence.broadcasts:
        return Waiting(None, None, None)
    return Waiting(counted(max(0, queue.consumer_lag)), queue.progress_ts, queue.consumed_ts or None)


def waiting_of(evidence: GroupEvidence, alert: Alert) -> Waiting:
    """How many messages wait in all queues of the alert."""
    known = [waiting_in(evidence, queue) for queue in _queues(evidence.group, alert)]
    messages = [one.messages for one in known if one.messages is not None]
    return Waiting(
        counted(sum(messages)) if messages else None,
        min((one.read_ts for one in known if one.read_ts is not None), default=None),
        min((one.oldest_ts for one in known if one.oldest_ts is not None), default=None),
    )


def note_told(group: Group, alert: Alert, waiting: Waiting) -> None:
    """A fact of the alert says this now."""
    alert.told_ts = group.state.now
    alert.told_waiting = NOT_KNOWN if waiting.messages is None else waiting.messages


def has_news(evidence: GroupEvidence, alert: Alert) -> bool:
    """True if an open alert must say anew what waits: the number has changed, or what was said of it is old."""
    group = evidence.group
    if group.state.now - alert.told_ts < TELL_WAITING_MS:
        return False
    waiting = waiting_of(evidence, alert)
    return waiting.messages is not None and _may_have_news(group, alert, waiting.messages)


def may_have_news(group: Group) -> bool:
    """True if that may be so of an alert. Then a group at rest is evaluated, though all else is as it was."""
    return any(
        _may_have_news(group, alert, sum(max(0, queue.consumer_lag) for queue in _queues(group, alert)))
        for alert in group.state.alerts
        if group.state.now - alert.told_ts >= TELL_WAITING_MS
    )


def _may_have_news(group: Group, alert: Alert, messages: int) -> bool:
    if not any(queue.progress_ts > alert.told_ts for queue in _queues(group, alert)):
        return False  # no offsets have been read since
    has_changed = abs(messages - alert.told_waiting) > CHANGED_SHARE * max(0, alert.told_waiting)
    return has_changed or group.state.now - alert.told_ts >= REPEAT_WAITING_MS


def _queues(group: Group, alert: Alert) -> Iterable[Queue]:
    return group.subscribed_queues() if alert.kind == Kind.NO_MEMBERS else group.queues_at(alert.queues)


def waiting_of_group(evidence: GroupEvidence) -> tuple[int | None, int | None, tuple[QueueWaiting, ...]]:
    """The number, when the oldest of its offsets were read, and the queues with the most; None: not known."""
    known = [] if evidence.broadcasts or evidence.group.state.lite else _known(evidence.group)
    if not known:
        return None, None, ()
    fullest = nlargest(MOST_QUEUES, (queue for queue in known if queue.consumer_lag > 0), _lag)
    group = evidence.group
    named = ((group.topic_of(one).name, group.broker_of(one).name, one) for one in fullest)
    shown = tuple(QueueWaiting(topic, broker, one.queue_id, counted(_lag(one))) for topic, broker, one in named)
    return _sum(known), min(queue.progress_ts for queue in known), shown


class PopLag(NamedTuple):
    """The fields of ``GroupFact`` with these names."""

    fifo: bool | None = None
    in_flight: int | None = None
    in_flight_ts: int | None = None
    oldest_ts: int | None = None


NO_POP = PopLag()


def pop_lag(evidence: GroupEvidence) -> PopLag:
    """Messages in flight are known where the newest page of every broker that gives out messages has their number."""
    group = evidence.group
    oldest = group.state.now - group.timing.progress_max_gap_ms
    places = _polled_since(group, oldest)
    if not places:
        return NO_POP
    polls = [at[ANY_QUEUE] for at in places if ANY_QUEUE in at and at[ANY_QUEUE].in_flight_ts >= oldest]
    is_known = len(polls) == len(places)
    return PopLag(
        fifo=evidence.orderly,
        in_flight=counted(sum(one.in_flight for one in polls)) if is_known else None,
        in_flight_ts=min(one.in_flight_ts for one in polls) if is_known else None,
        oldest_ts=min((one.consumed_ts for one in _known(group) if one.consumed_ts), default=None),
    )


def _polled_since(group: Group, oldest: int) -> list[dict[int, Polls]]:
    """Of each topic on each broker. A number in flight is of all queues there: polls at a single one have none."""
    topics = group.state.topics
    return [
        topic.polls_at(broker)
        for topic in topics
        for broker in sorted({one.broker for one in topic.polls if one.read_ts >= oldest})
    ]


def note_group_told(group: Group) -> None:
    """A fact of the group says now what waits, and what is in flight."""
    group.state.told_waiting = _not_done(group)


def has_group_news(group: Group, before: int) -> bool:
    """True if the number has changed so much since the newest fact, and that is long ago, that another is due.

    ``before``: the marker before this one. The queues are counted at the first marker of each minute only
    (``COUNT_GROUP_WAITING_MS``), since offsets are seldom read more often.
    """
    state, count_ms = group.state, COUNT_GROUP_WAITING_MS
    if state.now - state.status_ts < TELL_GROUP_WAITING_MS or state.now // count_ms == before // count_ms:
        return False
    change = abs(_not_done(group) - state.told_waiting)
    return change > max(CHANGED_SHARE * state.told_waiting, LEAST_CHANGE) or have_polls_changed(group)


def _not_done(group: Group) -> int:
    in_flight = sum(one.in_flight for topic in group.state.topics for one in topic.polls)
    return counted(_sum(_known(group)) + in_flight)


def _known(group: Group) -> list[Queue]:
    """Those whose lag is known. Brokers' records in revive logs are no messages that wait for a group."""
    if group.state.group == REVIVE_GROUP:
        return []
    return [queue for queue in group.subscribed_queues() if queue.progress_ts]


def _sum(queues: list[Queue]) -> int:
    return counted(sum(map(_lag, queues)))


def _lag(queue: Queue) -> int:
    return max(0, queue.consumer_lag)
