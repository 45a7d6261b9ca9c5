"""A group while events are folded into it: its state, and the index of each name.

Things stand in the state's lists, and whatever refers to them has their index there. Only this module adds to the
lists, drops from them, and then corrects the indices.
"""

from collections.abc import Iterable
from typing import TypeVar

from schemas.facts import Fact, Payload
from schemas.identity import MessageQueue, popped_topic
from streaming.core.settings import GroupRule, Settings, Timing
from streaming.core.state.group_state import (
    Broker,
    Client,
    GroupState,
    HeartbeatProfile,
    HostedQueues,
    RunningProfile,
    Topic,
)
from streaming.core.state.queue_state import Queue

Key = TypeVar("Key")
Thing = TypeVar("Thing")
UNSUBSCRIBED_AFTER_MS = 120_000  # heartbeats come every 30 s


class Group:
    """One consumer group while events are folded into it; ``facts`` collects the facts to emit."""

    def __init__(self, state: GroupState, settings: Settings) -> None:
        self.state = state
        self.settings = settings
        self.timing: Timing = settings.timing
        self.rule: GroupRule = settings.rule_for(state.cluster, state.group)
        self.facts: list[Fact] = []
        self._index()

    def _index(self) -> None:
        state = self.state
        self._brokers = {broker.name: index for index, broker in enumerate(state.brokers)}
        self._topics = {topic.name: index for index, topic in enumerate(state.topics)}
        self._clients = {client.client_id: index for index, client in enumerate(state.clients)}
        self._queues = {(q.topic, q.broker, q.queue_id): index for index, q in enumerate(state.queues)}
        self._heartbeats = {value: index for index, value in enumerate(state.heartbeat_profiles)}
        self._running = {value: index for index, value in enumerate(state.running_profiles)}
        self.has_polls = any(topic.polls for topic in state.topics)

    def emit(self, payload: Payload, topic: str | None = None, ts: int | None = None) -> None:
        """Add a fact under the group's next number."""
        state = self.state
        when = state.now if ts is None else ts
        self.facts.append(Fact(state.next_seq, state.cluster, state.group, topic, when, payload))
        state.next_seq += 1

    def request_evaluation(self) -> None:
        """Something has changed that an evaluation depends on: evaluate at the next marker."""
        self.state.evaluation_due_ts = 0

    def broker(self, name: str) -> int:
        index = self._brokers.get(name)
        return _added(name, Broker(name), self._brokers, self.state.brokers) if index is None else index

    def topic(self, name: str) -> int:
        index = self._topics.get(name)
        if index is None:
            index = _added(name, Topic(name), self._topics, self.state.topics)
            self.request_evaluation()
        return index

    def taken_with(self, topic: Topic) -> Topic | None:
        """The topic whose messages come back in this POP retry topic, and whose polls take them from it; None: none."""
        name = popped_topic(self.state.group, topic.name)
        return None if name is None else self.known_topic(name)

    def known_topic(self, name: str) -> Topic | None:
        """The topic, if anything is known of it."""
        index = self._topics.get(name)
        return None if index is None else self.state.topics[index]

    def known_broker(self, name: str) -> int | None:
        return self._brokers.get(name)

    def client(self, client_id: str) -> int:
        index = self._clients.get(client_id)
        return _added(client_id, Client(client_id), self._clients, self.state.clients) if index is None else index

    def known_client(self, client_id: str) -> Client | None:
        """The client, if anything is known of it."""
        index = self._clients.get(client_id)
        return None if index is None else self.state.clients[index]

    def queue(self, topic: int, broker: int, queue_id: int) -> int:
        key = (topic, broker, queue_id)
        index = self._queues.get(key)
        return _added(key, Queue(topic, broker, queue_id), self._queues, self.state.queues) if index is None else index

    def heartbeat(self, value: HeartbeatProfile) -> int:
        index = self._heartbeats.get(value)
        return _added(value, value, self._heartbeats, self.state.heartbeat_profiles) if index is None else index

    def heartbeat_of(self, client: Client) -> HeartbeatProfile | None:
        """The client's heartbeats; None: no broker has shown one yet."""
        return self.state.heartbeat_profiles[client.heartbeat] if client.heartbeat >= 0 else None

    def running(self, value: RunningProfile) -> int:
        index = self._running.get(value)
        return _added(value, value, self._running, self.state.running_profiles) if index is None else index

    def running_of(self, client: Client) -> RunningProfile | None:
        """The client's settings by its newest report; None: it has not reported."""
        return self.state.running_profiles[client.reports[0].running] if client.reports else None

    def queues_at(self, indices: Iterable[int]) -> list[Queue]:
        queues = self.state.queues
        return [queues[index] for index in indices]

    def topic_of(self, queue: Queue) -> Topic:
        return self.state.topics[queue.topic]

    def broker_of(self, queue: Queue) -> Broker:
        return self.state.brokers[queue.broker]

    def message_queue(self, index: int) -> MessageQueue:
        queue = self.state.queues[index]
        return MessageQueue(self.topic_of(queue).name, self.broker_of(queue).name, queue.queue_id)

    def has_queue(self, queue: MessageQueue) -> bool:
        topic, broker = self._topics.get(queue.topic), self._brokers.get(queue.broker_name)
        return topic is not None and broker is not None and (topic, broker, queue.queue_id) in self._queues

    def queue_index(self, queue: MessageQueue) -> int:
        return self.queue(self.topic(queue.topic), self.broker(queue.broker_name), queue.queue_id)

    def add_routed_queues(self, topic: int) -> list[int]:
        """Adds the queues that the topic's route says can be read, where they are new. Returns the indices of all."""
        hosts = self.state.topics[topic].hosts
        return [self.queue(topic, host.broker, i) for host in hosts if host.is_readable for i in range(host.read)]

    def has_given_up(self, topic: Topic) -> bool:
        """True if no heartbeat has named the topic for so long that every subscriber would have sent several.

        Without members there are no heartbeats: then the group did so before the last member left.
        """
        until_ts = self.state.empty_since or self.state.now
        return 0 < topic.unsubscribed_ts <= until_ts - UNSUBSCRIBED_AFTER_MS

    def subscribed_queues(self) -> list[Queue]:
        """Those in which messages may wait for the group: not of topics that it has given up.

        Nor of static topics: a queue that is mapped to another broker by now keeps its lag for ever.
        """
        topics = enumerate(self.state.topics)
        others = {index for index, topic in topics if topic.is_static or self.has_given_up(topic)}
        return [queue for queue in self.state.queues if queue.topic not in others]

    def client_ids(self, indices: Iterable[int]) -> tuple[str, ...]:
        clients = self.state.clients
        return tuple(sorted([clients[index].client_id for index in indices]))

    def brokers_that_list(self, client: Client) -> tuple[str, ...]:
        """Names of the brokers that list the client now, in their order."""
        return tuple(sorted(b.name for b, entries in zip(self.state.brokers, client.entries, strict=False) if entries))

    def replace_state(self, new: GroupState) -> None:
        for name in new.__struct_fields__:
            setattr(self.state, name, getattr(new, name))
        self._index()

    def drop_topics_and_brokers(self, topics: set[int], brokers: set[int]) -> None:
        """Drop topics and brokers that have no queue left; the indices of all others are corrected."""
        state = self.state
        new_topic, new_broker = _new_indices(len(state.topics), topics), _new_indices(len(state.brokers), brokers)
        state.topics = [topic for index, topic in enumerate(state.topics) if index not in topics]
        state.brokers = [broker for index, broker in enumerate(state.brokers) if index not in brokers]
        for queue in state.queues:
            queue.topic, queue.broker = new_topic[queue.topic], new_broker[queue.broker]
        for topic in state.topics:
            topic.hosts = _hosted(topic.hosts, new_broker)
            topic.previous_hosts = _hosted(topic.previous_hosts, new_broker)
            topic.polls = [polls for polls in topic.polls if polls.broker in new_broker]
            for polls in topic.polls:
                polls.broker = new_broker[polls.broker]
            for copy in topic.copies.given if topic.copies is not None else ():
                copy.hosts = _hosted(copy.hosts, new_broker)
        for client in state.clients:
            client.entries = [n for index, n in enumerate(client.entries) if index not in brokers]
            client.addresses = [a for index, a in enumerate(client.addresses) if index not in brokers]
        self._index()

    def drop_clients_and_queues(self, clients: set[int], queues: set[int]) -> None:
        """Drop clients and queues, and what nothing refers to any more; the indices of all others are corrected."""
        state = self.state
        new_client = _new_indices(len(state.clients), clients)
        new_queue = _new_indices(len(state.queues), queues)
        state.clients = [client for index, client in enumerate(state.clients) if index not in clients]
        state.queues = [queue for index, queue in enumerate(state.queues) if index not in queues]
        for queue in state.queues:
            queue.owners = _moved(queue.owners, new_client)
            queue.last_stable_owners = _moved(queue.last_stable_owners, new_client)
            queue.expected = None if queue.expected is None else _moved(queue.expected, new_client)
        self._move_reports(new_queue)
        for alert in state.alerts:
            alert.queues = _moved(alert.queues, new_queue)
            alert.clients = _moved(alert.clients, new_client)
        state.setbacks = [setback for setback in state.setbacks if setback.queue in new_queue]
        for setback in state.setbacks:
            setback.queue = new_queue[setback.queue]
        state.revivals = [revival for revival in state.revivals if revival.queue in new_queue]
        for revival in state.revivals:
            revival.queue = new_queue[revival.queue]
        self._index()

    def _move_reports(self, new_queue: dict[int, int]) -> None:
        state = self.state
        running, heartbeat = state.running_profiles, state.heartbeat_profiles
        state.running_profiles, state.heartbeat_profiles = [], []
        self._running, self._heartbeats = {}, {}
        for client in state.clients:
            if client.heartbeat >= 0:
                client.heartbeat = self.heartbeat(heartbeat[client.heartbeat])
            for report in client.reports:
                report.running = self.running(running[report.running])
                report.owned = _moved(report.owned, new_queue)
                report.busy = _moved(report.busy, new_queue)
                report.popped = None if report.popped is None else _moved(report.popped, new_queue)


def _added(key: Key, thing: Thing, indices: dict[Key, int], things: list[Thing]) -> int:
    index = indices[key] = len(things)
    things.append(thing)
    return index


def _new_indices(count: int, dropped: set[int]) -> dict[int, int]:
    kept = (index for index in range(count) if index not in dropped)
    return {old: new for new, old in enumerate(kept)}


def _hosted(hosts: list[HostedQueues], new: dict[int, int]) -> list[HostedQueues]:
    return [HostedQueues(new[h.broker], h.read, h.write, h.perm) for h in hosts if h.broker in new]


def _moved(indices: list[int], new: dict[int, int]) -> list[int]:
    return [new[index] for index in indices if index in new]
