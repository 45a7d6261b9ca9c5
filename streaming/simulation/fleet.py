"""A cluster with one consumer group: name server, brokers, clients and producer, all on one clock, from one seed."""

from collections.abc import Iterable, Mapping
from functools import partial
from random import Random

from schemas.identity import MessageQueue, retry_topic
from streaming.collector.wire.answers import QueueData
from streaming.simulation.broker import REGISTER_MS, SCAN_MS, Broker
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.consumer import Consumer
from streaming.simulation.ground_truth import GroundTruth
from streaming.simulation.message_queue import MessageLog
from streaming.simulation.name_server import PERM_READ_AND_WRITE
from streaming.simulation.network import Network
from streaming.simulation.process_queue import Client, Progress
from streaming.simulation.producer import Producer

T0 = 1_700_000_000_000


class Fleet(Network):
    """A cluster. ``group``: the watched group. The methods do what happens to clients and brokers."""

    def __init__(self, group: str, brokers: Iterable[str], seed: int | str, start_ts: int = T0) -> None:
        super().__init__(group, seed, start_ts)
        self.clients: list[Consumer] = []
        self._subscriber_counts: dict[str, int] = {}
        self._subscribed: set[str] = set()
        self.producer = Producer(self.clock, self.name_server, self.brokers, self._set_rate)
        self.truth = GroundTruth(lambda: self.clock.now, self._in_route, self._subscribers)
        for name in brokers:
            self._add_broker(name)

    def run(self, seconds: float) -> None:
        self.clock.run_until(self.now + round(seconds * 1000))

    def _notify(self, client: Client) -> None:
        self.clock.after(self.latency(), client.consumer_ids_changed)

    # --- brokers and topics

    def _add_broker(self, name: str) -> None:
        changed = partial(self._listing_changed, name)
        broker = Broker(name, self._notify, self.pulls_changed, changed, self._new_progress)
        broker.put_topic(retry_topic(self.group), QueueData(name, 1, 1, PERM_READ_AND_WRITE), self.now)
        self.brokers[name] = broker
        self._register(broker)
        self.clock.after(self.random.randrange(SCAN_MS), self._scan_broker, broker)
        self.clock.after(self.random.randrange(REGISTER_MS), self._register_again, broker)

    def _new_progress(self, log: MessageLog) -> Progress:
        return Progress(log)

    def put_topic(self, topic: str, queues: Mapping[str, int | tuple[int, int, int]]) -> None:
        """``updateTopic``: create or change a topic; the name server knows it at once.

        ``queues``: by broker, a number of queues, or (read, write, perm).
        """
        for name, numbers in queues.items():
            given = (numbers, numbers, PERM_READ_AND_WRITE) if isinstance(numbers, int) else numbers
            broker = self.brokers[name]
            broker.put_topic(topic, QueueData(name, *given), self.now)
            if broker.is_up:
                self._register(broker)
            self.check_all_pulls(broker)
        self.truth.change("route", topic)
        self._observe_route()

    def stop_broker(self, name: str) -> None:
        """``kill -9``. Its connections close, the name server drops it at once, its queues cannot be pulled."""
        broker = self.brokers[name]
        self._catch_up(broker)
        broker.stop()
        self.name_server.unregister(name)
        self._broker_changed(broker)

    def start_broker(self, name: str) -> None:
        """Start a broker again. It has what is on its disk: topics and offsets, but no members and no locks."""
        broker = self.brokers[name]
        broker.is_up = True
        self._register(broker)
        self._broker_changed(broker)

    def _broker_changed(self, broker: Broker) -> None:
        self.truth.change("broker", broker.name)
        self.check_all_pulls(broker)
        self.producer.broker_changed(broker)
        self._observe_route()

    def _register(self, broker: Broker) -> None:
        self.name_server.register(broker.name, broker.topics)

    def _register_again(self, broker: Broker) -> None:
        if broker.is_up:
            self._register(broker)
        self.clock.after(REGISTER_MS, self._register_again, broker)

    def _scan_broker(self, broker: Broker) -> None:
        if broker.is_up:
            broker.scan(self.now, lambda: self.random.random() < 0.5)
        self.clock.after(SCAN_MS, self._scan_broker, broker)

    def _set_rate(self, broker: Broker, log: MessageLog, rate: int) -> None:
        progress = broker.progress(self.group, log.queue, self.now)
        progress.catch_up(self.now)
        log.write(rate, self.now)
        self.truth.observe(progress)

    def is_readable(self, queue: MessageQueue) -> bool:
        """True if the route has the queue now."""
        route = self.name_server.route(queue.topic)
        return route is not None and queue in route.readable

    def _in_route(self, queue: MessageQueue) -> bool | None:
        return self.is_readable(queue) or (False if self.brokers[queue.broker_name].is_up else None)

    def _subscribers(self, topic: str) -> int:
        """The number of clients that share the topic. Broadcasting clients do not count: they share nothing."""
        count = self._subscriber_counts.get(topic)
        if count is None:
            sharing = (one for one in self.clients if one.is_running and not one.config.broadcasting)
            count = self._subscriber_counts[topic] = sum(topic in one.topics for one in sharing)
        return count or (not self.clients and bool(self.listed()))

    def subscribers_changed(self) -> None:
        """A client joined, left, or changed its topics: a topic may have its first subscriber, or lost its last."""
        self._subscriber_counts.clear()
        running = [client for client in self.clients if client.is_running]
        self.truth.observe_subscriptions(len({client.subscribes_to for client in running}) < 2)
        subscribed = {topic for client in running for topic in client.topics}
        if subscribed != self._subscribed:
            self._subscribed = subscribed
            self._observe_route()

    def _observe_route(self) -> None:
        """Observe all queues: some may be new in the route, or gone from it."""
        for broker in self.brokers.values():
            for queue in broker.logs:
                self.truth.observe(broker.progress(self.group, queue, self.now))

    # --- clients

    def join(self, client_id: str, config: ClientConfig) -> Consumer:
        """A client starts. If another runs with the same id, two instances have this id."""
        random = Random(f"{self.seed}/{client_id}/{len(self.clients)}")
        races = Random(f"{self.seed}/{client_id}/{self.now}")
        client = Consumer(self, self.group, client_id, config, random, races)
        self.clients.append(client)
        self.truth.change("joined", client_id)
        client.start()
        self._members_changed()
        return client

    def leave(self, client: Consumer) -> None:
        self.truth.change("left", client.client_id)
        client.stop()
        self._members_changed()

    def kill(self, client: Consumer, is_noticed: bool = True) -> None:
        self.truth.change("left", client.client_id)
        client.kill(is_noticed)
        self._members_changed()

    def _members_changed(self) -> None:
        self.clients = [client for client in self.clients if client.is_running]
        self.subscribers_changed()

    def _listing_changed(self, broker_name: str, client_id: str) -> None:
        self.truth.listed(broker_name, client_id)
        if not any(client.is_running for client in self.clients) and not self.listed():
            self._observe_route()

    def listed(self) -> set[str]:
        """The ids that any broker lists, also of a dead client whose connection was not closed."""
        return {client_id for broker in self.brokers.values() for client_id in broker.client_ids(self.group)}

    def set_consume_enable(self, may_consume: bool) -> None:
        """Forbid the group to consume, or allow it again, as an operator does (``mqadmin updateSubGroup -c``)."""
        self.truth.may_consume = may_consume
        for broker in self.brokers.values():
            broker.consume_enable = may_consume
            self.check_all_pulls(broker)

    def disconnect(self, client: Consumer, broker_name: str) -> None:
        """Cut the client from the broker from now on; the broker keeps the connection until it expires."""
        client.catch_up()
        client.cannot_reach.add(broker_name)
        self._check_pulls_of(client)

    def reconnect(self, client: Consumer, broker_name: str) -> None:
        client.cannot_reach.discard(broker_name)
        self._check_pulls_of(client)

    def _check_pulls_of(self, client: Consumer) -> None:
        for process_queue in client.queues():
            self.check_pull(process_queue)

    # --- results

    def _catch_up(self, broker: Broker) -> None:
        for progress in broker.progresses(self.group):
            progress.catch_up(self.now)

    def progresses(self) -> list[Progress]:
        """The group's progress in every queue, as of now."""
        for broker in self.brokers.values():
            self._catch_up(broker)
        return [progress for broker in self.brokers.values() for progress in broker.progresses(self.group)]

    def messages_wait(self) -> bool:
        return any(one.log.max_offset(self.now) > max(0, one.committed) for one in self.progresses())

    def is_misplaced(self, topic: str) -> bool:
        """True if a client has another's queue, by the first client's strategy and the brokers' lists."""
        route = self.name_server.route(topic)
        if route is None or not self.clients:
            return False
        held = self.assignment()
        for name in route.broker_names:
            members = self.allocations.members(self.brokers[name].client_ids(self.group))
            shares = self.allocations.shares(self.clients[0].config.strategy, route, members)
            expected = {queue: client_id for client_id, share in shares.items() for queue in share}
            if any(held[queue] and held[queue] != (expected.get(queue),) for queue in route.subscribe_info):
                return True
        return False

    def assignment(self) -> dict[MessageQueue, tuple[str, ...]]:
        """The owners of each readable queue now."""
        held: dict[MessageQueue, list[str]] = {}
        for broker in self.brokers.values():
            held |= {queue: [] for queue in broker.logs if self.is_readable(queue)}
        for client in self.clients:
            for queue in client.owned():
                held.setdefault(queue, []).append(client.client_id)
        return {queue: tuple(sorted(owners)) for queue, owners in held.items()}
