"""A cluster with one consumer group in it: name server, brokers, clients, producer, all on one clock, from one seed."""

from collections.abc import Iterable, Mapping
from functools import partial
from random import Random

from schemas.identity import MessageQueue, retry_topic
from streaming.simulation.allocation_cache import Allocations
from streaming.simulation.broker import REGISTER_MS, SCAN_MS, Broker
from streaming.simulation.consumer import Consumer, Manner
from streaming.simulation.ground_truth import Truth
from streaming.simulation.message_queue import Progress
from streaming.simulation.name_server import SCAN_MS as NAME_SERVER_SCAN_MS
from streaming.simulation.name_server import NameServer, NameServers, OneNameServer, QueueData, TopicRouteData
from streaming.simulation.process_queue import ProcessQueue
from streaming.simulation.producer import ISOLATED_LATENCY_MS, Producer
from streaming.simulation.virtual_clock import Agenda

LATENCY_MS = (2, 60)  # of a notification or a closed connection
PULL_AGAIN_MS = 3_000  # DefaultMQPushConsumerImpl.pullTimeDelayMillsWhenException
T0 = 1_700_000_000_000


class Fleet:
    """``group`` is the one that is watched. What befalls its clients and brokers is done through methods of theirs."""

    def __init__(self, group: str, brokers: Iterable[str], seed: int | str, start_ts: int = T0) -> None:
        self.group, self.seed = group, seed
        self.consume_enable = True
        self.agenda = Agenda(start_ts)
        self.random, self._retries = Random(f"{seed}/fleet"), Random(f"{seed}/retries")
        self.name_server = NameServer()
        self.name_servers: NameServers = OneNameServer(self.name_server)
        self.brokers: dict[str, Broker] = {}
        self.clients: list[Consumer] = []
        self.allocations = Allocations()
        self._subscriber_counts: dict[str, int] = {}
        self._subscribed: set[str] = set()
        self._refused: dict[ProcessQueue, None] = {}
        self.producer = Producer(self)
        self.truth = Truth(lambda: self.agenda.now, self._in_route, self._subscribers)
        self.agenda.after(NAME_SERVER_SCAN_MS, self._scan_name_server)
        for name in brokers:
            self._add_broker(name)

    @property
    def now(self) -> int:
        return self.agenda.now

    def run(self, seconds: float) -> None:
        self.agenda.run_until(self.now + round(seconds * 1000))

    def latency(self) -> int:
        return self.random.randrange(*LATENCY_MS)

    # --- brokers and topics

    def _add_broker(self, name: str) -> None:
        broker = Broker(name, self._notify, self._serve_anew, partial(self._listing_changed, name))
        broker.put_topic(retry_topic(self.group), QueueData(name, 1, 1), self.now)
        self.brokers[name] = broker
        self._register(broker)
        self.agenda.after(self.random.randrange(SCAN_MS), self._scan_broker, broker)
        self.agenda.after(self.random.randrange(REGISTER_MS), self._register_again, broker)

    def put_topic(
        self, topic: str, queues: Mapping[str, int | tuple[int, int, int]], order_conf: str | None = None
    ) -> None:
        """``updateTopic``: made or changed, at once known to the name server. Numbers, or (read, write, perm)."""
        for name, numbers in queues.items():
            given = (numbers, numbers, 6) if isinstance(numbers, int) else numbers
            broker = self.brokers[name]
            broker.put_topic(topic, QueueData(name, *given), self.now)
            if broker.is_up:
                self._register(broker)
            self._serve_all(broker)
        if order_conf is not None:
            self.name_server.put_order_conf(topic, order_conf)
        self.truth.change("route", topic)
        self._note_route()

    def stop_broker(self, name: str) -> None:
        """``kill -9``: its connections close, the name server drops it at once, its queues cannot be pulled."""
        broker = self.brokers[name]
        self._settle(broker)
        broker.stop()
        self.name_server.unregister(name, broker.broker_id)
        self._broker_changed(broker)

    def start_broker(self, name: str) -> None:
        """It comes back with what is on its disk: topics and offsets, neither members nor locks."""
        broker = self.brokers[name]
        broker.is_up = True
        self._register(broker)
        self._broker_changed(broker)

    def cut_off_broker(self, name: str) -> None:
        """The name server no longer hears it; clients do. It is dropped after 120 s."""
        self.brokers[name].hears_name_server = False

    def _broker_changed(self, broker: Broker) -> None:
        self.truth.change("broker", broker.name)
        self._serve_all(broker)
        self.producer.sent(broker.name, 0 if broker.is_up else ISOLATED_LATENCY_MS)
        self._note_route()

    def _register(self, broker: Broker) -> None:
        self.name_server.register(broker.name, broker.broker_id, broker.topics, self.now)

    def _register_again(self, broker: Broker) -> None:
        if broker.is_up and broker.hears_name_server:
            self._register(broker)
        self.agenda.after(REGISTER_MS, self._register_again, broker)

    def _scan_name_server(self) -> None:
        for name in self.name_server.scan(self.now):
            self._broker_changed(self.brokers[name])
        self.agenda.after(NAME_SERVER_SCAN_MS, self._scan_name_server)

    def _scan_broker(self, broker: Broker) -> None:
        if broker.is_up:
            broker.scan(self.now, lambda: self.random.random() < 0.5)
        self.agenda.after(SCAN_MS, self._scan_broker, broker)

    def is_readable(self, queue: MessageQueue) -> bool:
        """Whether the route has the queue now."""
        route = self.name_server.route(queue.topic)
        return route is not None and queue in route.readable

    def _in_route(self, queue: MessageQueue) -> bool | None:
        return self.is_readable(queue) or (False if self.brokers[queue.broker_name].is_up else None)

    def _subscribers(self, topic: str) -> int:
        """Of a topic that everybody has to himself there is nothing to be shared out."""
        count = self._subscriber_counts.get(topic)
        if count is None:
            sharing = (one for one in self.clients if one.is_running and not one.manner.broadcasting)
            count = self._subscriber_counts[topic] = sum(topic in one.topics for one in sharing)
        return count or (not self.clients and bool(self.listed()))

    def subscribers_changed(self) -> None:
        """A client came, went, or subscribes to other topics: a topic may have got its first, or lost its last."""
        self._subscriber_counts.clear()
        running = [client for client in self.clients if client.is_running]
        self.truth.note_subscriptions(len({frozenset(client.topics.items()) for client in running}) < 2)
        subscribed = {topic for client in running for topic in client.topics}
        if subscribed != self._subscribed:
            self._subscribed = subscribed
            self._note_route()

    def _note_route(self) -> None:
        """Queues may have come to or gone from the route."""
        for broker in self.brokers.values():
            for queue in broker.logs:
                self.truth.note(broker.progress(self.group, queue, self.now))

    # --- clients

    def join(self, client_id: str, manner: Manner) -> Consumer:
        """A client starts; where one lives under the same id, two instances carry it."""
        random = Random(f"{self.seed}/{client_id}/{len(self.clients)}")
        client = Consumer(self, self.group, client_id, manner, random)
        if manner.broadcasting:
            for broker in self.brokers.values():
                broker.broadcasting.add(self.group)
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

    def living(self) -> int:
        return sum(client.is_running for client in self.clients)

    def _notify(self, client: Consumer) -> None:
        self.agenda.after(self.latency(), client.notified)

    def reach(self, client: Consumer, broker_name: str) -> Broker | None:
        """The broker, if the client's requests get there."""
        broker = self.brokers[broker_name]
        return broker if broker.is_up and broker_name not in client.cannot_reach else None

    def ask_members(self, client: Consumer, route: TopicRouteData) -> tuple[str, ...] | None:
        """``findConsumerIdList``: of one random broker of the topic; None if it gives none."""
        broker = self.reach(client, client.random.choice(route.broker_names))
        ids = () if broker is None or not broker.answers_lists else broker.client_ids(self.group)
        return self.allocations.members(ids) if ids else None

    # --- pulls

    def refuse_or_serve(self, process_queue: ProcessQueue) -> None:
        """Whether the broker lets the client pull."""
        queue, client = process_queue.progress.log.queue, process_queue.client
        broker = self.reach(client, queue.broker_name)
        is_refused = broker is None or not broker.serves(self.group, queue, client.versions.get(queue.topic, 0))
        if is_refused != process_queue.is_refused:
            process_queue.progress.settle(self.now)
            process_queue.is_refused = is_refused
            self.truth.note(process_queue.progress)
        if is_refused:
            self._refused[process_queue] = None
        else:
            self._refused.pop(process_queue, None)

    def _listing_changed(self, broker_name: str, client_id: str) -> None:
        self.truth.listed(broker_name, client_id)
        if not self.living() and not self.listed():
            self._note_route()

    def listed(self) -> set[str]:
        """Whom any broker lists: a client that has died without a word, too."""
        return {client_id for broker in self.brokers.values() for client_id in broker.client_ids(self.group)}

    def _serve_anew(self, broker_name: str, is_all: bool) -> None:
        if is_all:
            self._serve_all(self.brokers[broker_name])
            return
        for refused in list(self._refused):
            if refused.dropped:
                del self._refused[refused]
            elif refused.progress.log.queue.broker_name == broker_name:
                self.agenda.after(self._retries.randrange(PULL_AGAIN_MS), self.refuse_or_serve, refused)

    def _serve_all(self, broker: Broker) -> None:
        """What was refused is tried again within 3 s."""
        for progress in broker.progresses(self.group):
            for holder in list(progress.holders):
                delay = self.random.randrange(PULL_AGAIN_MS) if holder.is_refused else 0
                self.agenda.after(delay, self.refuse_or_serve, holder)

    def cut(self, client: Consumer, broker_name: str) -> None:
        """From now on the client cannot reach the broker; the broker keeps its connection until it expires."""
        client.settle()
        client.cannot_reach.add(broker_name)
        for process_queue in client.queues():
            self.refuse_or_serve(process_queue)

    def mend(self, client: Consumer, broker_name: str) -> None:
        client.cannot_reach.discard(broker_name)
        for process_queue in client.queues():
            self.refuse_or_serve(process_queue)

    # --- what it comes to

    def _settle(self, broker: Broker) -> None:
        for progress in broker.progresses(self.group):
            progress.settle(self.now)

    def settle(self) -> None:
        for broker in self.brokers.values():
            self._settle(broker)

    def progresses(self) -> list[Progress]:
        """The group in every queue, settled."""
        self.settle()
        return [progress for broker in self.brokers.values() for progress in broker.progresses(self.group)]

    def messages_wait(self) -> bool:
        return any(one.log.max_offset(self.now) > max(0, one.committed) for one in self.progresses())

    def is_misplaced(self, topic: str) -> bool:
        """Whether a client holds a queue that another should, by the first client's strategy and the brokers' lists."""
        route = self.name_server.route(topic)
        if route is None or not self.clients:
            return False
        held = self.assignment()
        for name in route.broker_names:
            members = self.allocations.members(self.brokers[name].client_ids(self.group))
            shares = self.allocations.shares(self.clients[0].manner.strategy, route, members)
            wanted = {queue: client_id for client_id, share in shares.items() for queue in share}
            if any(held[queue] and held[queue] != (wanted.get(queue),) for queue in route.subscribe_info):
                return True
        return False

    def assignment(self) -> dict[MessageQueue, tuple[str, ...]]:
        """Who holds each readable queue now."""
        held: dict[MessageQueue, list[str]] = {}
        for broker in self.brokers.values():
            held |= {queue: [] for queue in broker.logs if self.is_readable(queue)}
        for client in self.clients:
            for queue in client.owned():
                held.setdefault(queue, []).append(client.client_id)
        return {queue: tuple(sorted(owners)) for queue, owners in held.items()}
