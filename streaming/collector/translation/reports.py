"""Running info (307) and offsets (208), as events say them."""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

import msgspec

from schemas import events
from schemas.identity import MessageQueue
from streaming.collector.translation.repetition import data_version
from streaming.collector.wire import answers
from streaming.core.allocation.strategies import class_name

LATEST_MILLIS = 253_402_300_799_999
LARGEST_COUNT = 2**31 - 1
QUEUES_TOLD_TOGETHER = 500  # offsets of so many fit in a record, however large they are


def why_unanswered(answer: answers.RunningInfoAnswer) -> str:
    """A word for how asking a client failed: ``timeout``, ``not_online`` or how the request itself ended."""
    if answer.code == answers.CONSUME_MSG_TIMEOUT:
        return "timeout"
    if answer.code == answers.SYSTEM_ERROR:
        return "not_online"
    return answer.failure


def is_about_client(answer: answers.RunningInfoAnswer) -> bool:
    """Returns whether it says something of the client: what it owns, that it is not there, or that it does not answer.

    All other codes are the broker's own: that it refuses, or does not know the request.
    """
    return answer.code in (answers.SUCCESS, answers.SYSTEM_ERROR, answers.CONSUME_MSG_TIMEOUT)


def flag(value: str | bool | None) -> bool | None:
    """Java's properties say booleans as text."""
    if value is None or isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().lower())


def message_model(value: str | None) -> events.MessageModel | None:
    return "CLUSTERING" if value == "CLUSTERING" else "BROADCASTING" if value == "BROADCASTING" else None


def start_ts(value: str | int | None) -> int | None:
    """``PROP_CONSUMER_START_TIMESTAMP`` is a number written as text."""
    try:
        number = int(value) if value is not None else 0
    except ValueError:
        return None
    return number if 0 < number <= LATEST_MILLIS else None


def subscriptions(answer: answers.RunningInfoAnswer) -> tuple[events.Subscription, ...]:
    """In the order of their topics: RocketMQ's own is that of a hash set."""
    found = [_subscription(one) for one in answer.subscriptions or ()]
    return tuple(
        sorted((s for s in found if answers.can_be_name(s.topic)), key=lambda s: (s.topic, s.expression or ""))
    )


def _subscription(one: str | answers.SubscriptionData) -> events.Subscription:
    if isinstance(one, str):
        return events.Subscription(one)
    return events.Subscription(one.topic, one.sub_string, events.SQL92 if one.expression_type == events.SQL92 else None)


def content_of(answer: answers.RunningInfoAnswer) -> dict[str, Any]:
    """The fields of an ``AssignmentReport`` that tell what the client said."""
    return {
        "start_ts": start_ts(answer.start_timestamp),
        "strategy": class_name(answer.strategy) if answer.strategy else None,
        "orderly": flag(answer.orderly),
        "client_rebalance": flag(answer.client_rebalance),
        "message_model": message_model(answer.message_model),
        "subscriptions": subscriptions(answer),
        "owned": owned_queues(answer.mq_table),
        "pop": owned_queues(answer.mq_pop_table),
        "consume_type": answer.consume_type,
    }


def version_of(content: Mapping[str, Any]) -> int:
    """``AssignmentReport.data_version``: of all but how many messages are in hand, which change all the time."""
    without_counts = {**content, "owned": _without_counts(content["owned"]), "pop": _without_counts(content["pop"])}
    return data_version(msgspec.msgpack.encode(without_counts))


def _without_counts(owned: Iterable[events.OwnedQueues]) -> list[tuple[str, str, list[tuple[int, bool]]]]:
    return [(o.topic, o.broker_name, [(q.queue_id, q.dropped) for q in o.queues]) for o in owned]


def busy_places(owned: Iterable[events.OwnedQueues]) -> tuple[int, ...]:
    """``ConfirmedReport.busy``."""
    kept = [
        (MessageQueue(one.topic, one.broker_name, queue.queue_id), queue.cached_msg_count)
        for one in owned
        for queue in one.queues
        if not queue.dropped
    ]
    return tuple(place for place, (_, in_hand) in enumerate(events.in_order_of_places(kept, itemgetter(0))) if in_hand)


def with_lags(progress: events.QueueProgress) -> events.QueueOffsets:
    newest = progress.broker_offset
    lags = (newest - progress.consumer_offset, newest - progress.pull_offset)
    return events.QueueOffsets(progress.queue_id, newest, *lags, progress.consumed_ts)


def owned_queues(table: tuple[answers.ProcessQueue, ...] | None) -> tuple[events.OwnedQueues, ...]:
    """A table of process queues by topic and broker, each in the order of the queue ids."""
    found: dict[tuple[str, str], list[events.OwnedQueue]] = {}
    for queue in table or ():
        found.setdefault((queue.topic, queue.broker_name), []).append(_owned_queue(queue))
    return tuple(
        events.OwnedQueues(topic, broker_name, tuple(sorted(queues, key=lambda q: q.queue_id)))
        for (topic, broker_name), queues in sorted(found.items())
    )


def _owned_queue(queue: answers.ProcessQueue) -> events.OwnedQueue:
    """An orderly client counts the messages that it works on apart (``ProcessQueue.consumingMsgOrderlyTreeMap``)."""
    in_hand = max(0, queue.cached_msg_count or 0) + max(0, queue.transaction_msg_count or 0)
    return events.OwnedQueue(
        queue_id=queue.queue_id, cached_msg_count=min(in_hand, LARGEST_COUNT), dropped=queue.droped
    )


def progress(answer: answers.ConsumeStatsAnswer) -> list[tuple[str, str, tuple[events.QueueProgress, ...]]]:
    """(topic, broker name, offsets) of an answer, which can hold several topics; of many queues in several."""
    found: dict[tuple[str, str], list[events.QueueProgress]] = {}
    for row in answer.table or ():
        if row.queue_id < 0:
            continue
        found.setdefault((row.topic, row.broker_name or answer.broker), []).append(_queue_progress(row, answer.ts))
    return [
        (topic, broker_name, tuple(in_order[first : first + QUEUES_TOLD_TOGETHER]))
        for (topic, broker_name), queues in sorted(found.items())
        for in_order in [sorted(queues, key=lambda q: q.queue_id)]
        for first in range(0, len(in_order), QUEUES_TOLD_TOGETHER)
    ]


def _queue_progress(row: answers.OffsetRow, now: int) -> events.QueueProgress:
    newest, consumed = _offset(row.broker_offset), _offset(row.consumer_offset)
    consumed_ts = min(max(0, row.last_timestamp or 0), now) if newest > consumed else 0  # by the broker's clock
    return events.QueueProgress(row.queue_id, newest, consumed, _offset(row.pull_offset), consumed_ts)


def _offset(value: int | None) -> int:
    return -1 if value is None else max(-1, value)
