"""Polls: whether clients that own no queue wait for messages, and when they last took some.

A poll waits at a broker only while there is no message for it. So that none waits proves nothing by itself: the clients
of a busy group have all of their polls answered at once. Then its offsets move.
"""

from schemas.events import ANY_QUEUE, TopicPolls
from schemas.identity import is_retry_topic, retry_topic
from streaming.core.state.group import Group
from streaming.core.state.group_state import Polls, Topic


def take_polls(group: Group, seen: TopicPolls) -> None:
    """What a broker said of the polls at any of its queues. Nothing is kept of unknown topics and brokers."""
    topic, broker = group.known_topic(seen.topic), group.known_broker(seen.broker_name)
    if topic is None or broker is None or seen.queue_id != ANY_QUEUE:
        return
    polls = topic.polls_at(broker)
    if polls is None:
        polls = Polls(broker)
        topic.polls.append(polls)
    if seen.ts <= polls.read_ts:
        return
    if not seen.waiting or not polls.waiting:
        group.request_evaluation()
    polls.read_ts, polls.waiting = seen.ts, seen.waiting
    if seen.waiting:
        polls.polled_ts = seen.ts


def polls_shown_by(group: Group, topic: Topic, broker: int) -> Polls | None:
    """The polls by which messages of a topic on a broker are taken; None: nothing is known of them.

    Messages that are given out again are in ``%RETRY%group_topic``, or ``%RETRY%group+topic``. Polls of the topic
    itself take them, too (``KeyBuilder.buildPopRetryTopic``).
    """
    if not topic.polls:
        if not is_retry_topic(topic.name):
            return None
        own = retry_topic(group.state.group)
        popped = group.known_topic(topic.name[len(own) + 1 :]) if topic.name.startswith(own) else None
        if popped is None:
            return None
        topic = popped
    return topic.polls_at(broker)
