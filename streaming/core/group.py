"""A group at work: its state, and the way from names to places.

The only module that knows that the state refers to things by their place in a list.
"""

from collections.abc import Iterable

from schemas.facts import Fact, Payload
from schemas.identity import MessageQueue
from streaming.core.queue import Queue
from streaming.core.settings import GroupRule, Settings, Timing
from streaming.core.state import Broker, Client, GroupState, HostedQueues, ListedAs, RunsAs, Topic, husk


class Group:
    """One consumer group while events are folded into it; ``facts`` collects what is to be told."""

    __slots__ = (
        "_brokers",
        "_clients",
        "_listed_as",
        "_queues",
        "_runs_as",
        "_topics",
        "abandoned",
        "facts",
        "rule",
        "settings",
        "state",
        "timing",
    )

    def __init__(self, state: GroupState, settings: Settings) -> None:
        self.state = state
        self.settings = settings
        self.timing: Timing = settings.timing
        self.rule: GroupRule = settings.rule_for(state.cluster, state.group)
        self.facts: list[Fact] = []
        self.abandoned: set[int] = set()  # places of topics that the evaluation under way leaves out, then drops
        self._index()

    def _index(self) -> None:
        state = self.state
        self._brokers = {broker.name: place for place, broker in enumerate(state.brokers)}
        self._topics = {topic.name: place for place, topic in enumerate(state.topics)}
        self._clients = {client.client_id: place for place, client in enumerate(state.clients)}
        self._queues = {(q.topic, q.broker, q.queue_id): place for place, q in enumerate(state.queues)}
        self._listed_as = {value: place for place, value in enumerate(state.listed_as)}
        self._runs_as = {value: place for place, value in enumerate(state.runs_as)}

    def tell(self, payload: Payload, topic: str | None = None, ts: int | None = None) -> None:
        """Add a fact under the group's next number."""
        state = self.state
        when = state.now if ts is None else ts
        self.facts.append(Fact(state.next_seq, state.cluster, state.group, topic, when, payload))
        state.next_seq += 1

    def disturb(self) -> None:
        """Something that evaluation goes by has changed: evaluate at the next marker."""
        self.state.due_ts = 0

    def broker(self, name: str) -> int:
        place = self._brokers.get(name)
        if place is None:
            place = self._brokers[name] = len(self.state.brokers)
            self.state.brokers.append(Broker(name))
        return place

    def topic(self, name: str) -> int:
        place = self._topics.get(name)
        if place is None:
            place = self._topics[name] = len(self.state.topics)
            self.state.topics.append(Topic(name))
            self.disturb()
        return place

    def client(self, client_id: str) -> int:
        place = self._clients.get(client_id)
        if place is None:
            place = self._clients[client_id] = len(self.state.clients)
            self.state.clients.append(Client(client_id))
        return place

    def queue(self, topic: int, broker: int, queue_id: int) -> int:
        key = (topic, broker, queue_id)
        place = self._queues.get(key)
        if place is None:
            place = self._queues[key] = len(self.state.queues)
            self.state.queues.append(Queue(topic, broker, queue_id))
        return place

    def listed_as(self, value: ListedAs) -> int:
        place = self._listed_as.get(value)
        if place is None:
            place = self._listed_as[value] = len(self.state.listed_as)
            self.state.listed_as.append(value)
        return place

    def runs_as(self, value: RunsAs) -> int:
        place = self._runs_as.get(value)
        if place is None:
            place = self._runs_as[value] = len(self.state.runs_as)
            self.state.runs_as.append(value)
        return place

    def message_queue(self, place: int) -> MessageQueue:
        queue = self.state.queues[place]
        return MessageQueue(self.state.topics[queue.topic].name, self.state.brokers[queue.broker].name, queue.queue_id)

    def has_queue(self, queue: MessageQueue) -> bool:
        """Whether anything is known of the queue."""
        topic, broker = self._topics.get(queue.topic), self._brokers.get(queue.broker_name)
        return topic is not None and broker is not None and (topic, broker, queue.queue_id) in self._queues

    def queue_place(self, queue: MessageQueue) -> int:
        return self.queue(self.topic(queue.topic), self.broker(queue.broker_name), queue.queue_id)

    def client_ids(self, places: Iterable[int]) -> tuple[str, ...]:
        clients = self.state.clients
        return tuple(sorted(clients[place].client_id for place in places))

    def renew(self) -> None:
        """Forget everything but what outlives a group."""
        kept = husk(self.state)
        for name in kept.__struct_fields__:
            setattr(self.state, name, getattr(kept, name))
        self._index()

    def forget_places(self, topics: set[int], brokers: set[int]) -> None:
        """Drop topics and brokers of which no queue is left; everything else moves up."""
        state = self.state
        new_topic, new_broker = _places(len(state.topics), topics), _places(len(state.brokers), brokers)
        state.topics = [topic for place, topic in enumerate(state.topics) if place not in topics]
        state.brokers = [broker for place, broker in enumerate(state.brokers) if place not in brokers]
        for queue in state.queues:
            queue.topic, queue.broker = new_topic[queue.topic], new_broker[queue.broker]
        for topic in state.topics:
            topic.hosts = _hosted(topic.hosts, new_broker)
            topic.previous_hosts = _hosted(topic.previous_hosts, new_broker)
            for copy in topic.copies.given if topic.copies is not None else ():
                copy.hosts = _hosted(copy.hosts, new_broker)
        for client in state.clients:
            client.entries = [n for place, n in enumerate(client.entries) if place not in brokers]
            client.addresses = [a for place, a in enumerate(client.addresses) if place not in brokers]
        self._index()

    def forget(self, clients: set[int], queues: set[int]) -> None:
        """Drop clients and queues, and what nobody refers to any more; everything else moves up."""
        state = self.state
        new_client = _places(len(state.clients), clients)
        new_queue = _places(len(state.queues), queues)
        state.clients = [client for place, client in enumerate(state.clients) if place not in clients]
        state.queues = [queue for place, queue in enumerate(state.queues) if place not in queues]
        for queue in state.queues:
            queue.owners = _moved(queue.owners, new_client)
            queue.settled = _moved(queue.settled, new_client)
            queue.expected = None if queue.expected is None else _moved(queue.expected, new_client)
        self._move_reports(new_queue)
        for alert in state.alerts:
            alert.queues = _moved(alert.queues, new_queue)
            alert.clients = _moved(alert.clients, new_client)
        self._index()

    def _move_reports(self, new_queue: dict[int, int]) -> None:
        state = self.state
        runs_as, listed_as = state.runs_as, state.listed_as
        state.runs_as, state.listed_as = [], []
        self._runs_as, self._listed_as = {}, {}
        for client in state.clients:
            if client.listed_as >= 0:
                client.listed_as = self.listed_as(listed_as[client.listed_as])
            for report in client.reports:
                report.runs_as = self.runs_as(runs_as[report.runs_as])
                report.owned = _moved(report.owned, new_queue)
                report.busy = _moved(report.busy, new_queue)


def _places(count: int, dropped: set[int]) -> dict[int, int]:
    kept = (place for place in range(count) if place not in dropped)
    return {old: new for new, old in enumerate(kept)}


def _hosted(hosts: list[HostedQueues], new: dict[int, int]) -> list[HostedQueues]:
    return [HostedQueues(new[h.broker], h.read, h.write, h.perm) for h in hosts if h.broker in new]


def _moved(places: list[int], new: dict[int, int]) -> list[int]:
    return [new[place] for place in places if place in new]
