"""How many messages wait for a group and in which of its queues, and whether its status must say so anew."""

from heapq import nlargest

from schemas.facts import QueueWaiting
from schemas.observed import counted
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.state.group import Group
from streaming.core.state.queue_state import Queue

COUNT_GROUP_WAITING_MS = 60_000  # how much waits for a group at rest is counted so often
TELL_GROUP_WAITING_MS = 300_000  # how much waits for a group is said at most so often, if that has changed
CHANGED_SHARE = 0.1  # of the number that the newest fact says
LEAST_CHANGE = 100  # messages: below that a group that consumes goes up and down all the time
MOST_QUEUES = 20


def waiting_of_group(evidence: GroupEvidence) -> tuple[int | None, int | None, tuple[QueueWaiting, ...]]:
    """The number, when the oldest of its offsets were read, and the queues with the most; None: not known."""
    known = [] if evidence.broadcasts else _known(evidence.group)
    if not known:
        return None, None, ()
    fullest = nlargest(MOST_QUEUES, (queue for queue in known if queue.consumer_lag > 0), _lag)
    return _sum(known), min(queue.progress_ts for queue in known), tuple(_said(evidence.group, fullest))


def note_said(group: Group) -> None:
    """A fact of the group says now what waits."""
    group.state.told_waiting = _sum(_known(group))


def has_news(group: Group, before: int) -> bool:
    """True if the number has changed so much since the newest fact, and that is long ago, that another is due.

    ``before``: the marker before this one. The queues are counted at the first marker of each minute only
    (``COUNT_GROUP_WAITING_MS``), since offsets are seldom read more often.
    """
    state, count_ms = group.state, COUNT_GROUP_WAITING_MS
    if state.now - state.status_ts < TELL_GROUP_WAITING_MS or state.now // count_ms == before // count_ms:
        return False
    change = abs(_sum(_known(group)) - state.told_waiting)
    return change > max(CHANGED_SHARE * state.told_waiting, LEAST_CHANGE)


def _known(group: Group) -> list[Queue]:
    return [queue for queue in group.subscribed_queues() if queue.progress_ts]


def _sum(queues: list[Queue]) -> int:
    return counted(sum(map(_lag, queues)))


def _lag(queue: Queue) -> int:
    return max(0, queue.consumer_lag)


def _said(group: Group, queues: list[Queue]) -> list[QueueWaiting]:
    return [
        QueueWaiting(group.topic_of(one).name, group.broker_of(one).name, one.queue_id, counted(_lag(one)))
        for one in queues
    ]
