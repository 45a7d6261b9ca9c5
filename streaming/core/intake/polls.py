"""Polls: whether clients that own no queue wait for messages, when they last took some, and how many they have.

A poll waits at a broker only while there is no message for it. So that none waits proves nothing by itself: the clients
of a busy group have all of their polls answered at once. Then its offsets move.
"""

from schemas.events import ANY_QUEUE, TopicInFlight, TopicPolls
from schemas.identity import is_retry_topic
from streaming.core.state.group import Group
from streaming.core.state.group_state import Polls, Topic


def take_polls(group: Group, seen: TopicPolls) -> None:
    """What a broker said of its polls. Nothing is kept of topics, brokers and queues that are not known."""
    topic, broker = group.known_topic(seen.topic), group.known_broker(seen.broker_name)
    if topic is None or broker is None or not _may_be_polled(topic, broker, seen.queue_id):
        return
    polls = next((one for one in topic.polls if (one.broker, one.queue_id) == (broker, seen.queue_id)), None)
    if polls is None:
        polls = Polls(broker, queue_id=seen.queue_id)
        topic.polls.append(polls)
        group.has_polls = True
    if seen.ts <= polls.read_ts:
        return
    if not seen.waiting or not polls.waiting:
        group.request_evaluation()
    polls.read_ts, polls.waiting, polls.is_closed = seen.ts, seen.waiting, seen.is_closed
    if seen.waiting:
        polls.polled_ts = seen.ts


def _may_be_polled(topic: Topic, broker: int, queue_id: int) -> bool:
    return queue_id == ANY_QUEUE or any(host.lets_read(broker, queue_id) for host in topic.hosts)


def take_in_flight(group: Group, seen: TopicInFlight) -> None:
    """Taken where brokers say how many polls wait: so nothing is kept of groups that do not consume by POP."""
    topic, broker = group.known_topic(seen.topic), group.known_broker(seen.broker_name)
    polls = None if topic is None or broker is None else topic.polls_at(broker).get(ANY_QUEUE)
    if polls is not None and seen.ts > polls.in_flight_ts:
        polls.in_flight, polls.in_flight_ts = seen.messages, seen.ts


def polls_shown_by(group: Group, topic: Topic, broker: int) -> dict[int, Polls]:
    """The polls by which messages of a topic on a broker are taken, by queue id; empty: nothing is known of them.

    Messages that are given out again are in a retry topic. Polls at any queue of the topic itself take them, too.
    """
    if topic.polls:
        return topic.polls_at(broker)
    if not is_retry_topic(topic.name):
        return {}
    polled = group.taken_with(topic)
    at_any = None if polled is None else polled.polls_at(broker).get(ANY_QUEUE)
    return {} if at_any is None else {ANY_QUEUE: at_any}
