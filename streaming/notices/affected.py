"""The queues of alerts: each queue once, though several findings may name it, and the messages that wait in them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.facts import Kind, Severity
from streaming.notices.notice import OpenAlert
from streaming.wording.lists import grouped

WORST_FIRST = [severity.value for severity in Severity]
_KINDS = [kind.value for kind in Kind]  # in the order in which findings are decided

QueueKey = tuple[str, str, str, str, int]  # cluster, group, topic, broker name, queue id


class Waiting(NamedTuple):
    """``messages`` that are not consumed, by offsets of which the oldest were read at ``read_ts``.

    The oldest of these messages was stored after ``oldest_ts``; None: not known. Times are epoch ms.
    """

    messages: int
    read_ts: int
    oldest_ts: int | None


def rank(word: str, order: Sequence[str] = WORST_FIRST) -> int:
    """The place of a severity; 0 is the worst. ``order``: of other words."""
    return order.index(word) if word in order else len(order)


def worst_first(alerts: Iterable[OpenAlert]) -> list[OpenAlert]:
    return sorted(
        alerts, key=lambda a: (rank(a.fact.severity), -len(a.fact.queues), a.group, a.topic or "", a.fact.kind)
    )


def queue_keys(alert: OpenAlert) -> set[QueueKey]:
    return {(alert.cluster, alert.group, alert.topic or "", q.broker_name, q.queue_id) for q in alert.fact.queues}


def queues_by_kind(alerts: Sequence[OpenAlert]) -> dict[str, int]:
    """The number of queues for each kind of finding, the worst first. A queue counts for its worst finding alone.

    Of two findings of one severity, the one that is decided first is the worse. A kind is left out if all its queues
    count for other kinds; a kind that is about no queues has 0.
    """
    in_order = sorted(alerts, key=lambda alert: (rank(alert.fact.severity), rank(alert.fact.kind, _KINDS)))
    seen: set[QueueKey] = set()
    numbers: dict[str, int] = {}
    for alert in in_order:
        new = queue_keys(alert) - seen
        seen |= new
        if new or not alert.fact.queues:
            numbers[alert.fact.kind] = numbers.get(alert.fact.kind, 0) + len(new)
    shown = dict.fromkeys(alert.fact.kind for alert in worst_first(alerts) if alert.fact.kind in numbers)
    return {kind: numbers[kind] for kind in shown}


def waiting_in(alerts: Iterable[OpenAlert]) -> Waiting | None:
    """The messages in all queues of the alerts, each queue once; None if they are not known of any queue."""
    by_group = grouped(alerts, lambda alert: (alert.cluster, alert.group))
    known = [found for those in by_group.values() if (found := _waiting_of_group(those)) is not None]
    if not known:
        return None
    dated = [one.oldest_ts for one in known if one.oldest_ts is not None]
    return Waiting(sum(one.messages for one in known), min(one.read_ts for one in known), min(dated, default=None))


def _waiting_of_group(alerts: Sequence[OpenAlert]) -> Waiting | None:
    """The messages of one group. An alert may count more queues than it lists: a group's alert counts them all."""
    known = [alert for alert in alerts if alert.fact.waiting is not None]
    if not known:
        return None
    in_queues = sum(messages for messages, _ in waiting_by_queue(alerts).values())
    messages = max(in_queues, *(alert.fact.waiting or 0 for alert in known))
    dated = [alert.fact.oldest_ts for alert in known if alert.fact.oldest_ts is not None and alert.fact.waiting]
    return Waiting(messages, min(map(read_ts, known)), min(dated, default=None))


def waiting_by_queue(alerts: Iterable[OpenAlert]) -> dict[tuple[str | None, str, int], tuple[int, int]]:
    """The messages in each queue of a group's alerts, by topic, broker name and queue id, and when that was read."""
    return {
        (alert.topic, queue.broker_name, queue.queue_id): (queue.waiting, queue.read_ts or read_ts(alert))
        for alert in sorted(alerts, key=lambda alert: alert.seq)
        for queue in alert.fact.queues
        if queue.waiting is not None
    }


def read_ts(alert: OpenAlert) -> int:
    """The time when the offsets behind ``waiting`` were read. Older facts lack it: at most the fact's time."""
    return alert.ts if alert.fact.read_ts is None else alert.fact.read_ts


def seen_ts(alert: OpenAlert) -> int:
    """The time when the evidence was seen. Older facts lack it: at most the fact's time."""
    return alert.ts if alert.fact.seen_ts is None else alert.fact.seen_ts
