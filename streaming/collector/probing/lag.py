"""How many messages each group has not consumed yet and how many polls wait, by the brokers' last answers. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from streaming.collector.wire.answers import InFlightAnswer, OffsetRow


class TopicLag(NamedTuple):
    """The lag of a group in a topic. ``messages`` wait.

    ``stored_ts``: when the message was stored that was consumed last in the queue that is furthest behind, epoch ms.
    None: not known, or no message waits. ``in_flight``: more messages that clients have by POP and may not acknowledge;
    None: not known of each broker, or not consumed by POP.
    """

    messages: int
    stored_ts: int | None
    in_flight: int | None = None


class Lags:
    """By group, broker and topic. One thread changes it; another may ask for ``by_topic``."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[str, TopicLag]]] = {}
        self._polls: dict[str, dict[str, Mapping[str, int]]] = {}  # only of groups whose clients own no queue

    def answered(
        self, group: str, broker: str, rows: Iterable[OffsetRow], in_flight: Iterable[InFlightAnswer] = ()
    ) -> None:
        """All topics of the group on one broker."""
        topics: dict[str, TopicLag] = {}
        for row in rows:
            topics[row.topic] = _sum(topics.get(row.topic), _of_queue(row))
        for one in in_flight:
            if one.topic in topics:
                topics[one.topic] = topics[one.topic]._replace(in_flight=one.messages)
        self._groups[group] = {**self._groups.get(group, {}), broker: topics}

    def polled(self, group: str, broker: str, waiting: Mapping[str, int]) -> None:
        """How many polls wait at the broker for messages of each topic; none: it was not asked, or did not say."""
        if waiting or broker in self._polls.get(group, {}):
            self._polls[group] = {**self._polls.get(group, {}), broker: waiting}

    def keep_brokers(self, group: str, brokers: Iterable[str]) -> None:
        """Drop what was said by brokers that the group has no longer."""
        if group in self._groups:
            wanted = set(brokers)
            self._groups[group] = {name: lags for name, lags in self._groups[group].items() if name in wanted}
            if group in self._polls:
                self._polls[group] = {name: polls for name, polls in self._polls[group].items() if name in wanted}

    def forget_group(self, group: str) -> None:
        self._groups.pop(group, None)
        self._polls.pop(group, None)

    def by_topic(self) -> Iterator[tuple[str, str, TopicLag]]:
        """Group, topic and lag."""
        for group, brokers in list(self._groups.items()):
            topics: dict[str, TopicLag] = {}
            for lags in brokers.values():
                for topic, lag in lags.items():
                    topics[topic] = _sum(topics.get(topic), lag)
            for topic, lag in topics.items():
                yield group, topic, lag

    def polls(self) -> Iterator[tuple[str, str, str, int]]:
        """Group, topic, broker and how many polls wait there."""
        for group, brokers in list(self._polls.items()):
            for broker, topics in brokers.items():
                yield from ((group, topic, broker, waiting) for topic, waiting in topics.items())


def _of_queue(row: OffsetRow) -> TopicLag:
    waiting = max(0, (row.broker_offset or 0) - (row.consumer_offset or 0))
    return TopicLag(waiting, (row.last_timestamp or None) if waiting else None)


def _sum(one: TopicLag | None, other: TopicLag) -> TopicLag:
    if one is None:
        return other
    known = [ts for ts in (one.stored_ts, other.stored_ts) if ts is not None]
    in_flight = None if one.in_flight is None or other.in_flight is None else one.in_flight + other.in_flight
    return TopicLag(one.messages + other.messages, min(known, default=None), in_flight)
