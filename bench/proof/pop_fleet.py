"""A cluster with proxies whose group is of gRPC clients: which proxy serves each, and which brokers it polls."""

from collections.abc import Iterable
from random import Random

from bench.proof.grpc_consumer import MAJOR_VERSION, THREADS, GrpcConsumer
from bench.proof.popping import INVISIBLE_MS, PoppedQueue, Popping
from schemas.identity import MessageQueue, is_retry_topic, retry_topic
from streaming.collector.wire.answers import Connection, QueueData
from streaming.core.state.group_state import PERM_READ
from streaming.simulation.consumer import Consumer
from streaming.simulation.fleet import Fleet
from streaming.simulation.message_queue import MessageLog
from streaming.simulation.name_server import PERM_READ_AND_WRITE
from streaming.simulation.process_queue import Progress
from streaming.simulation.proxy import CHANNEL_EXPIRED_MS, HEARTBEAT_MS, LISTED, SCAN_MS, SYNC_MS, Proxy

FIRST_POLL_MS = (50, 1_500)  # a client asks for the route, then for its brokers
FINDS_BROKER_MS = (1_000, 25_000)  # a proxy keeps a route for 20 s, and a client asks for its brokers every 5 s
MOVES_MS = (1_000, 3_000)  # until a client whose stream broke is served by another proxy
STOPPED_MS = 1_000  # a proxy or a client that stops gives back what it has in hand (ReceiptHandle, clearAllHandle)
RECEIVES_MS = 500  # a SimpleConsumer's receives are counted together for so long
FOR_EVER = 1 << 62
RECEIVES_AT_MOST = 32  # messages, if each takes longer (maxMessageNum)


class PopFleet(Fleet):
    """``topic``: the only one of the group. ``invisible_ms``: that of its SimpleConsumers. Methods are what happens."""

    def __init__(
        self,
        group: str,
        topic: str,
        brokers: Iterable[str],
        proxies: Iterable[str],
        seed: int | str,
        is_orderly: bool = False,
        invisible_ms: int = INVISIBLE_MS,
    ) -> None:
        self.topic, self.retries = topic, f"{retry_topic(group)}_{topic}"
        self.poppings: dict[str, Popping] = {}
        self.consumers: list[GrpcConsumer] = []
        super().__init__(group, brokers, seed)
        self._pop_random = Random(f"{seed}/pop")
        self.proxies |= {proxy.name: proxy for proxy in map(Proxy, proxies)}
        self.invisible_ms = invisible_ms
        self._in_hand: dict[GrpcConsumer, tuple[Popping, int]] = {}
        for broker in self.brokers.values():
            broker.is_orderly = is_orderly
            number = len(self.brokers)
            self.poppings[broker.name] = Popping(broker.name, is_orderly, number, self.clock, self._pop_random)
            broker.put_topic(self.retries, QueueData(broker.name, 1, 1, PERM_READ_AND_WRITE), self.now)
            broker.progress(group, MessageQueue(self.retries, broker.name, 0), self.now)

    def _new_progress(self, log: MessageLog) -> Progress:
        if log.queue.topic not in (self.topic, self.retries):
            return Progress(log)
        popping = self.poppings[log.queue.broker_name]
        queue = PoppedQueue(log, popping=popping)
        popping.queues.append(queue)
        return queue

    def waiting_polls(self, broker: str, topic: str) -> int | None:
        return self.poppings[broker].waiting_polls() if topic == self.topic else 0

    def listed(self) -> set[str]:
        """Also those that a proxy lists."""
        at_proxies = (one for proxy in self._proxies_up() for one in proxy.client_ids(self.now))
        return {*super().listed(), *at_proxies}

    def _within(self, span: tuple[int, int]) -> int:
        return self._pop_random.randrange(*span)

    # --- proxies

    def _proxies_up(self) -> list[Proxy]:
        return [proxy for proxy in self.proxies.values() if proxy.is_up]

    def stop_proxy(self, proxy: Proxy, is_clean: bool) -> None:
        """Its streams end at once. Other proxies list its clients until their connections expire."""
        proxy.is_up = False
        proxy.listed.clear()
        for consumer in self._served_by(proxy):
            self._expire(consumer)
            self._cut(consumer, STOPPED_MS if is_clean else INVISIBLE_MS, leaves_polls=not is_clean)
            if consumer.home is None:
                self.clock.after(self._within(MOVES_MS), self._connect, consumer)

    def start_proxy(self, proxy: Proxy) -> None:
        """It has nobody's settings. It learns of the clients of others by their next heartbeats."""
        proxy.is_up = True
        for consumer in self.consumers:
            if consumer.connection is not None:
                self.clock.after(self._within((0, HEARTBEAT_MS)), self._list_at, proxy, consumer, consumer.connection)
            elif consumer.home in (None, proxy):
                self._come_back(consumer)

    def add_proxy(self, host: str) -> Proxy:
        """Start a proxy on a host that had none."""
        proxy = Proxy(host, is_up=False)
        self.proxies[proxy.name] = proxy
        self.start_proxy(proxy)
        return proxy

    def _come_back(self, consumer: GrpcConsumer) -> None:
        after_ms = consumer.again_after_ms(self.now, self._pop_random)
        if after_ms is not None:
            self.clock.after(after_ms, self._connect, consumer)

    def _served_by(self, proxy: Proxy) -> list[GrpcConsumer]:
        return [consumer for consumer in self.consumers if consumer.proxy is proxy]

    def _expire(self, consumer: GrpcConsumer) -> None:
        """Its last heartbeat was the last that proxies know of."""
        until_ts = self.now - self._within((0, HEARTBEAT_MS)) + CHANNEL_EXPIRED_MS + self._within((0, SCAN_MS))
        connection = consumer.connection
        for proxy in self._proxies_up():
            if connection is not None and connection in proxy.listed:
                proxy.listed[connection] = until_ts

    def _list_at(self, proxy: Proxy, consumer: GrpcConsumer, connection: Connection) -> None:
        """The proxy gets a heartbeat of the client, if that is still connected so."""
        if proxy.is_up and consumer.connection is connection:
            proxy.listed[connection] = LISTED
            proxy.consume_type, proxy.topics = consumer.consume_type, (self.topic,)

    # --- clients

    def start_consumer(self, consumer: GrpcConsumer) -> None:
        self.truth.change("joined", consumer.client_id)
        self.consumers.append(consumer)
        self._connect(consumer)

    def leave(self, client: Consumer | GrpcConsumer) -> None:
        """It unregisters. Proxies tell each other at once."""
        if isinstance(client, Consumer):
            return super().leave(client)
        self._end(client)
        for proxy in self._proxies_up() if client.connection is not None else ():
            ms = 0 if proxy is client.proxy else self._within(SYNC_MS)
            self.clock.after(ms, proxy.listed.pop, client.connection, None)
        return self._cut(client, STOPPED_MS, leaves_polls=False)

    def kill(self, client: Consumer | GrpcConsumer, is_noticed: bool = True) -> None:
        """``kill -9``."""
        if isinstance(client, Consumer):
            return super().kill(client, is_noticed)
        self._end(client)
        self._expire(client)
        return self._cut(client, INVISIBLE_MS, leaves_polls=True)

    def _end(self, consumer: GrpcConsumer) -> None:
        self.truth.change("left", consumer.client_id)
        consumer.is_running = False
        self.consumers.remove(consumer)

    def mute(self, consumer: GrpcConsumer) -> None:
        """It asks for no message from now on, and goes on sending heartbeats."""
        consumer.is_mute = True
        for popping in self.poppings.values():
            popping.stop_polling(consumer)

    def unmute(self, consumer: GrpcConsumer) -> None:
        consumer.is_mute = False
        self._begin_to_poll(consumer)

    def move_consumer(self, consumer: GrpcConsumer) -> None:
        """Its connection breaks, as when a load balancer drains, and it is served by any proxy again."""
        if consumer.connection is not None:
            self._expire(consumer)
            self._cut(consumer, INVISIBLE_MS, leaves_polls=True)
            self.clock.after(self._within(MOVES_MS), self._connect, consumer)

    def _connect(self, consumer: GrpcConsumer) -> None:
        """To the proxy of its configuration, or to any. While there is none it waits until one starts."""
        reachable = [proxy for proxy in self._proxies_up() if consumer.home in (None, proxy)]
        if not reachable or not consumer.is_running or consumer.connection is not None:
            return
        consumer.proxy = self._pop_random.choice(reachable)
        address = f"{consumer.client_id.partition('@')[0]}:{self._pop_random.randrange(30_000, 61_000)}"
        consumer.connection = Connection(consumer.client_id, address, consumer.sdk.language, MAJOR_VERSION)
        self._list_at(consumer.proxy, consumer, consumer.connection)
        for proxy in self._proxies_up():
            if proxy is not consumer.proxy:
                self.clock.after(self._within(SYNC_MS), self._list_at, proxy, consumer, consumer.connection)
        self._begin_to_poll(consumer)

    def _cut(self, consumer: GrpcConsumer, lost_ms: int, leaves_polls: bool) -> None:
        """No proxy serves it any more. What it has in hand comes again after ``lost_ms``."""
        consumer.connection = consumer.proxy = None
        held = self._in_hand.pop(consumer, None)
        if held is not None:
            self.clock.after(self.invisible_ms, held[0].revive, held[1])
        for popping in self.poppings.values():
            popping.lose(consumer, lost_ms)
            popping.stop_polling(consumer, leaves_polls)

    # --- polls

    def _begin_to_poll(self, consumer: GrpcConsumer) -> None:
        for name in self.brokers:
            self.clock.after(self._within(FIRST_POLL_MS), self.poll, consumer, name)
        if consumer.pulls and consumer.connection is not None:
            self.clock.after(self._within(FIRST_POLL_MS), self._receive, consumer, consumer.connection)

    def poll(self, consumer: GrpcConsumer, name: str) -> None:
        """The client polls the broker from now on, if it can. A SimpleConsumer does when its turn comes."""
        broker = self.brokers[name]
        data = broker.topics.get(self.topic)
        lets_read = broker.is_up and broker.consume_enable and (broker.knows_group or broker.makes_groups)
        is_able = consumer.connection is not None and not consumer.is_mute and name not in consumer.cannot_reach
        if is_able and lets_read and data is not None and data.perm & PERM_READ:
            broker.knows_group |= not consumer.pulls
            self.poppings[name].poll(consumer)

    def stop_polls_at(self, name: str) -> None:
        for consumer in list(self.poppings[name].pollers):
            self.poppings[name].stop_polling(consumer)

    def begin_polls_at(self, name: str) -> None:
        """Clients and proxies learn that the broker is there, or lets them read."""
        for consumer in self.consumers:
            self.clock.after(self._within(FINDS_BROKER_MS), self.poll, consumer, name)

    def stop_broker(self, name: str) -> None:
        self.stop_polls_at(name)
        super().stop_broker(name)

    def start_broker(self, name: str) -> None:
        super().start_broker(name)
        self.begin_polls_at(name)

    def write_to(self, queue: PoppedQueue, messages: int) -> None:
        """Write so many to one queue at once. Of the retry topic nobody does."""
        if not is_retry_topic(queue.log.queue.topic):
            queue.catch_up(self.now)
            queue.log.append(messages, self.now)

    def block(self, queue: PoppedQueue) -> None:
        """The first message of a FIFO queue is not acknowledged from now on. Its invisible time is renewed."""
        queue.catch_up(self.now)
        self.poppings[queue.log.queue.broker_name].blocked[queue] = FOR_EVER

    def unblock(self, queue: PoppedQueue) -> None:
        queue.catch_up(self.now)
        self.poppings[queue.log.queue.broker_name].blocked.pop(queue, None)

    # --- SimpleConsumers

    def _receive(self, consumer: GrpcConsumer, connection: Connection) -> None:
        """``receive()``: of one broker after the other."""
        if consumer.connection is not connection or consumer.is_mute:
            return
        name = tuple(self.brokers)[consumer.turn % len(self.brokers)]
        consumer.turn += 1
        popping = self.poppings[name]
        if consumer not in popping.pollers:
            self.clock.after(RECEIVES_MS, self._receive, consumer, connection)
            return
        self.brokers[name].knows_group = True
        if not self._work(consumer, connection, popping):
            popping.receiving.add(consumer)
            wait_ms = max(RECEIVES_MS, popping.until_next_message())
            self.clock.after(wait_ms, self._received, consumer, connection, popping)

    def _received(self, consumer: GrpcConsumer, connection: Connection, popping: Popping) -> None:
        popping.receiving.discard(consumer)
        is_there = consumer.connection is connection and consumer in popping.pollers
        if not (is_there and self._work(consumer, connection, popping)):
            self._receive(consumer, connection)

    def _work(self, consumer: GrpcConsumer, connection: Connection, popping: Popping) -> bool:
        """Work off what is there, and acknowledge it: too late if its invisible time is over by then."""
        taken = popping.receive(max(RECEIVES_AT_MOST, THREADS * RECEIVES_MS // consumer.work_ms))
        if taken:
            works_ms = max(RECEIVES_MS, -(-taken // THREADS) * consumer.work_ms)
            if works_ms > self.invisible_ms:
                self.clock.after(self.invisible_ms, popping.revive, taken)
            else:
                self._in_hand[consumer] = popping, taken
            self.clock.after(works_ms, self._acknowledge, consumer, connection)
        return taken > 0

    def _acknowledge(self, consumer: GrpcConsumer, connection: Connection) -> None:
        if consumer.connection is connection:
            self._in_hand.pop(consumer, None)
            self._receive(consumer, connection)

    # --- results

    def messages_wait(self) -> bool:
        return any(
            queue.waiting(self.now)
            for popping in self.poppings.values()
            for queue in popping.queues
            if not is_retry_topic(queue.log.queue.topic)
        )
