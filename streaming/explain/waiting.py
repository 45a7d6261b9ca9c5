"""The messages that wait for a group and in each queue, and when that was read: from its newest facts. Pure."""

from collections.abc import Iterable, Sequence

from schemas.facts import GroupFact
from streaming.core.group_waiting import MOST_QUEUES as MOST_FULLEST
from streaming.notices.affected import Waiting, waiting_by_queue, waiting_in
from streaming.notices.notice import OpenAlert

QueueKey = tuple[str | None, str, int]  # topic, broker name, queue id


def waiting_of_group(status: GroupFact | None, open_alerts: Sequence[OpenAlert]) -> tuple[Waiting | None, bool]:
    """The waiting messages, None if not known, and True if the number is from open alerts.

    The alerts' number is taken if it was read later than the group's status, and is not smaller.
    """
    of_alerts = waiting_in(open_alerts)
    if status is None or status.waiting is None:
        return of_alerts, True
    of_group = Waiting(status.waiting, status.read_ts or 0, None)
    if of_alerts is not None and of_alerts.read_ts > of_group.read_ts and of_alerts.messages >= of_group.messages:
        return of_alerts, True
    return of_group, False


def waiting_of_queues(
    keys: Iterable[QueueKey], status: GroupFact | None, open_alerts: Iterable[OpenAlert]
) -> dict[QueueKey, tuple[int, int]]:
    """The messages that wait in each queue for which it is known, and when that was read.

    The number of an open alert is newer than that of the group's status, which names the fullest queues only. If these
    are few, nothing waits in the others.
    """
    of_alerts = waiting_by_queue(open_alerts)
    if status is None or status.waiting is None or status.read_ts is None:
        return of_alerts
    fullest: dict[QueueKey, int] = {(one.topic, one.broker_name, one.queue_id): one.waiting for one in status.fullest}
    names_all = len(status.fullest) < MOST_FULLEST
    of_status = {key: (fullest.get(key, 0), status.read_ts) for key in keys if names_all or key in fullest}
    return of_status | of_alerts
