"""A push consumer: one JVM of one group (``MQClientInstance`` with its ``DefaultMQPushConsumerImpl``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from schemas.identity import MessageQueue, host_of, retry_topic
from streaming.collector.wire.answers import SUCCESS, Connection, RunningInfoAnswer, SubscriptionData
from streaming.collector.wire.answers import ProcessQueue as ProcessQueueInfo
from streaming.core.allocation.strategies import class_of_strategy
from streaming.simulation.broker import Broker, Channel
from streaming.simulation.client_config import POLL_ROUTES_MS, ClientConfig
from streaming.simulation.message_queue import MessageLog
from streaming.simulation.name_server import TopicRoute
from streaming.simulation.network import Network
from streaming.simulation.process_queue import PERSIST_FIRST_MS, PERSIST_MS, ProcessQueue, Progress
from streaming.simulation.rebalance import Rebalance

RESUMES_MS = (500, 1_500)  # so long after a pause a client notices that its connections are dead
BEATS_ALREADY = 0.11  # share of starts in which a first heartbeat still runs after the first rebalance
FIRST_CALL_MS = (5, 200)  # the first call of a new JVM to a broker is slow
HEARTBEAT_FIRST_MS, HEARTBEAT_MS = 1_000, 30_000  # ClientConfig.heartbeatBrokerInterval
LOCK_FIRST_MS, LOCK_MS = 1_000, 20_000  # ProcessQueue.REBALANCE_LOCK_INTERVAL

JAVA_PACKAGE = "org.apache.rocketmq.client.consumer.rebalance."

Timer = Callable[[], None]


class Consumer:
    """A client: timers, connections and queues. The fleet and the faults decide what happens to it.

    ``races`` decides the outcome of what is a race in a real client.
    """

    def __init__(
        self, network: Network, group: str, client_id: str, config: ClientConfig, random: Random, races: Random
    ) -> None:
        self.group, self.client_id, self.config, self.random = group, client_id, config, random
        self.address = f"{host_of(client_id)}:{random.randrange(20_000, 60_000)}"
        self.start_ts = network.clock.now
        self.clock_offset_ms = 0
        self.is_running, self.is_paused, self.pull_service_is_dead = False, False, False
        self.cannot_reach: set[str] = set()  # names of brokers
        self.cannot_reach_name_server = False
        self.orderly, self.speed = config.orderly, config.speed
        self.topics = dict(config.topics)
        if not config.broadcasting:
            self.topics[retry_topic(group)] = "*"
        self.versions = dict.fromkeys(self.topics, self.start_ts)  # SubscriptionData.subVersion, by its own clock
        self.routes: dict[str, TopicRoute | None] = {}
        self.rebalance = Rebalance(self, network)
        self._network, self._races = network, races
        self._local_offsets: dict[MessageQueue, Progress] = {}  # of a broadcasting client
        self._channels: dict[str, Channel] = {}
        self._missed_timers: dict[Timer, None] = {}  # timers that were due during the pause

    @property
    def _now(self) -> int:
        return self._network.clock.now

    # --- life

    def start(self) -> None:
        """Start: read the routes, send a heartbeat to each broker in turn, then rebalance for the first time."""
        self.is_running = True
        self.poll_routes()
        clock, random, delay = self._network.clock, self.random, 0
        for name in self._known_brokers():
            clock.after(delay, self._send_heartbeat, name)
            delay += random.randrange(*FIRST_CALL_MS)
        clock.after(delay, self.rebalance.wakeup)
        clock.after(HEARTBEAT_FIRST_MS, self._repeat, self.send_heartbeats, HEARTBEAT_MS)
        clock.after(POLL_ROUTES_MS + random.randrange(50), self._repeat, self.poll_routes, POLL_ROUTES_MS)
        if self.orderly:
            clock.after(LOCK_FIRST_MS, self._repeat, self.rebalance.renew_locks, LOCK_MS)

    def stop(self) -> None:
        """Shut down gracefully: commit offsets, release locks, unregister at the brokers."""
        for queue in self.queues():
            queue.persist(self._now)
        for queue in self.queues():
            self.rebalance.unlock(queue)
        self._end()
        for channel, broker in self._live_channels():
            broker.unregister(channel)

    def kill(self, is_noticed: bool = True) -> None:
        """``kill -9``. Brokers notice the closed connection; if the whole machine is lost, they do not."""
        self.catch_up()
        self._end()
        if is_noticed:
            for channel, broker in self._live_channels():
                self._network.clock.after(self._network.latency(), broker.unregister, channel)

    def _end(self) -> None:
        self.is_running = False
        self.rebalance.release()

    def pause(self) -> None:
        """SIGSTOP, or a frozen machine: connections stay open, the client does nothing."""
        self.catch_up()
        self.is_paused = True
        self._network.truth.observe_all(self.queues())

    def resume(self) -> None:
        """Do what was due during the pause; heartbeats are sent as soon as dead connections are noticed."""
        self.catch_up()
        self.is_paused = False
        for queue in self.queues():
            queue.resume()
        self._network.truth.observe_all(self.queues())
        for timer in self._missed_timers:
            self._network.clock.after(self.random.randrange(*RESUMES_MS), self._run, timer)
        self._missed_timers.clear()

    def _repeat(self, timer: Timer, period_ms: int) -> None:
        if self.is_running:
            self._run(timer)
            self._network.clock.after(period_ms, self._repeat, timer, period_ms)

    def _run(self, timer: Timer) -> None:
        if not self.is_running:
            return
        if self.is_paused:
            self.defer(timer)
        else:
            timer()

    def defer(self, timer: Timer) -> None:
        """Keep a timer that is due until the client runs again."""
        self._missed_timers[timer] = None

    # --- routes and heartbeats

    def poll_routes(self) -> None:
        """Read the routes again. Queues change only with the next rebalance."""
        if self.cannot_reach_name_server:
            return
        for topic in self.topics:
            self.routes[topic] = self._network.route(self.client_id, topic)

    def send_heartbeats(self) -> None:
        """Send a heartbeat to every broker of the routes, over a new connection if the old one is closed."""
        for name in self._known_brokers():
            self._send_heartbeat(name)

    def _send_heartbeat(self, name: str) -> None:
        broker = self._network.reach(name, self.cannot_reach)
        if broker is None or not self.is_running:
            return
        channel, group = self._channels.get(name), broker.groups.get(self.group)
        if channel is None or group is None or channel not in group.channels:
            channel = self._connect(name)
        broker.heartbeat(channel, self.versions, self._now)

    def queues_changed(self, topic: str) -> None:
        """``messageQueueChanged``. If the client's queues of a topic change, it sends a newer subscription version.

        It sends none while another heartbeat runs (``lockHeartbeat``): brokers refuse its pulls until the next one.
        """
        self.versions[topic] = self._now + self.clock_offset_ms
        is_first = self._now - self.start_ts <= HEARTBEAT_FIRST_MS
        if is_first and self._races.random() < BEATS_ALREADY:
            for queue in self.rebalance.process_queues():
                self._network.check_pull(queue)
        else:
            self.send_heartbeats()

    def _known_brokers(self) -> dict[str, None]:
        routes = (route for route in self.routes.values() if route is not None)
        return dict.fromkeys(name for route in routes for name in route.broker_names)

    def _connect(self, name: str) -> Channel:
        number = self._channels[name].number + 1 if name in self._channels else 0
        host, _, port = self.address.rpartition(":")
        config = self.config
        address = f"{host}:{int(port) + number}"
        connection = Connection(self.client_id, address, config.sdk.language, config.version_ordinal)
        channel = Channel(self, number, connection, config.sdk.consume_type, config.message_model)
        self._channels[name] = channel
        return channel

    def lose_connections(self) -> None:
        """The network fails for a moment. The client reconnects; brokers keep dead connections until they expire."""
        for name in list(self._channels):
            self._connect(name)
        self._network.clock.after(self._network.latency(), self._run, self.send_heartbeats)

    def lose_connection(self, name: str) -> None:
        """One connection closes, and the broker notices: it does not list the client until its next heartbeat."""
        if name in self._channels:
            self._network.brokers[name].unregister(self._channels[name])

    def _live_channels(self) -> list[tuple[Channel, Broker]]:
        channels = self._channels.items()
        return [(channel, self._network.brokers[name]) for name, channel in channels if name not in self.cannot_reach]

    # --- requests from brokers

    def consumer_ids_changed(self) -> None:
        self._run(self.rebalance.wakeup)

    @property
    def answers(self) -> bool:
        return self.is_running and not self.is_paused and self.config.sdk.answers

    def running_info(self, broker_name: str, asked_ts: int, dur_ms: int) -> RunningInfoAnswer:
        """The answer. ``mqTable`` also has dropped queues that the client has not released yet."""
        config, sdk = self.config, self.config.sdk
        if sdk.tells_queues:
            self.catch_up()
        return RunningInfoAnswer(
            ts=asked_ts,
            dur_ms=dur_ms,
            broker=broker_name,
            code=SUCCESS,
            client_id=self.client_id,
            mq_table=tuple(map(self._process_queue_info, self.queues())) if sdk.tells_queues else None,
            subscriptions=tuple(SubscriptionData(topic, expression) for topic, expression in self.topics.items()),
            start_timestamp=self.start_ts + self.clock_offset_ms,
            strategy=JAVA_PACKAGE + class_of_strategy(config.strategy.name) if sdk.tells_strategy else None,
            orderly=self.orderly if sdk.tells_queues else None,
            client_rebalance=True if sdk.tells_strategy and sdk.tells_queues else None,
            message_model=config.message_model if sdk.tells_model else None,
            consume_type=sdk.consume_type,
        )

    def _process_queue_info(self, queue: ProcessQueue) -> ProcessQueueInfo:
        """An entry of ``mqTable``. An orderly listener has one message in work (consumeMessageBatchMaxSize) beside."""
        in_work = min(1, queue.cached_msg_count) if self.orderly else 0
        return ProcessQueueInfo(
            *queue.progress.log.queue,
            cached_msg_count=queue.cached_msg_count - in_work,
            droped=queue.dropped,
            transaction_msg_count=in_work or None,
        )

    # --- queues of the client

    def queues(self) -> list[ProcessQueue]:
        return list(self.rebalance.process_queues())

    def owned(self) -> Iterator[MessageQueue]:
        """The queues that the client reports as owned: ``mqTable`` without dropped queues."""
        return (queue.progress.log.queue for queue in self.rebalance.process_queues() if not queue.dropped)

    def progress(self, log: MessageLog, of_group: Progress) -> Progress:
        """The offsets that count: the group's; if the client broadcasts, its own, which begin at the queue's end."""
        if not self.config.broadcasting:
            return of_group
        if log.queue not in self._local_offsets:
            offset = log.max_offset(self._now)
            self._local_offsets[log.queue] = own = Progress(log, offset, consumed=offset, of_group=of_group)
            of_group.of_single_clients.append(own)
        return self._local_offsets[log.queue]

    def catch_up(self) -> None:
        """Compute what the client has consumed up to now."""
        for queue in self.queues():
            queue.progress.catch_up(self._now)

    def last_persist(self, now: int) -> int:
        """The time of its last commit of offsets, which happens every 5 s."""
        first = self.start_ts + PERSIST_FIRST_MS
        return first + (now - first) // PERSIST_MS * PERSIST_MS if now >= first else 0

    def subscribe(self, topics: dict[str, str]) -> None:
        """Subscribe to these topics from now on. Queues of other topics are dropped at the next rebalance."""
        if not self.is_running:
            return
        retry = {name: expression for name, expression in self.topics.items() if name == retry_topic(self.group)}
        self.topics = {**topics, **retry}
        self.versions = dict.fromkeys(self.topics, self._now + self.clock_offset_ms)
        self._network.subscribers_changed()
        self.routes = {name: route for name, route in self.routes.items() if name in self.topics}
        self.poll_routes()
        self.send_heartbeats()

    @property
    def subscribes_to(self) -> frozenset[tuple[str, frozenset[str]]]:
        """The topics of its subscriptions, each with its filter as a set of tags."""
        wanted = ((topic, text) for topic, text in self.topics.items() if topic != retry_topic(self.group))
        return frozenset((topic, frozenset(tag.strip() for tag in text.split("||"))) for topic, text in wanted)

    def set_speed(self, speed: int) -> None:
        """Set how many messages a second the listener consumes of one queue from now on; 0: it is stuck."""
        self.catch_up()
        self.speed = speed
        for queue in self.queues():
            queue.speed = speed
        self._network.truth.observe_all(self.queues())

    def stop_pull_service(self) -> None:
        """The pull service dies; everything else goes on (apache/rocketmq #1918)."""
        self.catch_up()
        self.pull_service_is_dead = True
        self._network.truth.observe_all(self.queues())
