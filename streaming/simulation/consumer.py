"""A push consumer: one JVM of one group (``MQClientInstance`` with its ``DefaultMQPushConsumerImpl``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from schemas.identity import MessageQueue, retry_topic
from streaming.core.allocation import Averagely, Strategy
from streaming.simulation.broker import Broker, Channel
from streaming.simulation.client_sdk import JAVA, Sdk
from streaming.simulation.message_queue import MessageLog, Progress
from streaming.simulation.name_server import TopicRouteData
from streaming.simulation.process_queue import PERSIST_FIRST_MS, PERSIST_MS, SPEED, ProcessQueue
from streaming.simulation.rebalance import Rebalance

if TYPE_CHECKING:
    from streaming.simulation.fleet import Fleet

HEARTBEAT_FIRST_MS, HEARTBEAT_MS = 1_000, 30_000  # heartbeatBrokerInterval
POLL_ROUTES_MS = 30_000  # pollNameServerInterval
RESUMES_MS = (500, 1_500)  # a client that was stopped first finds that its connections are dead
BEATS_ALREADY = 0.11  # how often one of the first heartbeats is still under way after the first rebalance
FIRST_CALL_MS = (5, 200)  # a JVM that has just started takes its time for the first call to a broker
LOCK_FIRST_MS, LOCK_MS = 1_000, 20_000  # ProcessQueue.REBALANCE_LOCK_INTERVAL

AVERAGELY = Averagely()


@dataclass(frozen=True, slots=True)
class Manner:
    """How a client runs. ``topics`` are those it subscribes to, each with its filter. ``version``: 4 or 5."""

    topics: tuple[tuple[str, str], ...]
    strategy: Strategy = AVERAGELY
    orderly: bool = False
    broadcasting: bool = False
    version: int = 5
    speed: int = SPEED
    sdk: Sdk = JAVA


class Consumer:
    """Timers, connections and what it owns. What befalls it is set from outside: ``fleet`` and the faults."""

    def __init__(self, fleet: Fleet, group: str, client_id: str, manner: Manner, random: Random) -> None:
        self.fleet, self.group, self.client_id, self.manner, self.random = fleet, group, client_id, manner, random
        self.address = f"{client_id.partition('@')[0]}:{random.randrange(20_000, 60_000)}"
        self.start_ts = fleet.now
        self.clock_is_off_ms = 0
        self.is_running, self.is_paused, self.pulls_no_more = False, False, False
        self.cannot_reach: set[str] = set()  # brokers
        self.loses_heartbeats_to: set[str] = set()  # brokers that can be reached otherwise
        self.cannot_reach_name_server = False
        self.orderly, self.speed = manner.orderly, manner.speed
        self.topics = dict(manner.topics)
        if not manner.broadcasting:
            self.topics[retry_topic(group)] = "*"
        self.versions = dict.fromkeys(self.topics, self.start_ts)  # SubscriptionData.subVersion, by its own clock
        self.routes: dict[str, TopicRouteData | None] = {}
        self.local_offsets: dict[MessageQueue, Progress] = {}  # of a broadcasting client
        self.rebalance = Rebalance(self)
        self._races = Random(f"{fleet.seed}/{client_id}/{fleet.now}")
        self._channels: dict[str, Channel] = {}
        self._missed: dict[str, None] = {}  # timers that fell due while it was paused

    # --- life

    def start(self) -> None:
        """Routes, a heartbeat to one broker after the other, and then the first rebalance."""
        self.is_running = True
        self.poll_routes()
        agenda, random, delay = self.fleet.agenda, self.random, 0
        for name in self._known_brokers():
            agenda.after(delay, self._beat_one, name)
            delay += random.randrange(*FIRST_CALL_MS)
        agenda.after(delay, self.wake)
        agenda.after(HEARTBEAT_FIRST_MS, self._each, "beat", HEARTBEAT_MS)
        agenda.after(POLL_ROUTES_MS + random.randrange(50), self._each, "poll_routes", POLL_ROUTES_MS)
        if self.orderly:
            agenda.after(LOCK_FIRST_MS, self._each, "lock_all", LOCK_MS)

    def stop(self) -> None:
        """Gracefully: offsets are committed, locks given back, the brokers told."""
        self.persist()
        for queue in self.queues():
            self.rebalance.unlock(queue)
        self._end()
        for channel, broker in self._live_channels():
            broker.unregister(channel)

    def kill(self, is_noticed: bool = True) -> None:
        """``kill -9``: brokers see the connection close; if the machine went away with it, they do not notice."""
        self.settle()
        self._end()
        if is_noticed:
            for channel, broker in self._live_channels():
                self.fleet.agenda.after(self.fleet.latency(), broker.unregister, channel)

    def _end(self) -> None:
        self.is_running = False
        self.rebalance.let_go()

    def pause(self) -> None:
        """SIGSTOP, or a machine that is frozen: connections stay, nothing is done."""
        self.settle()
        self.is_paused = True
        self.fleet.truth.note_all(self.queues())

    def resume(self) -> None:
        """What fell due meanwhile is done now; the heartbeats come as soon as dead connections are noticed."""
        self.settle()
        self.is_paused = False
        for queue in self.queues():
            queue.go_on()
        self.fleet.truth.note_all(self.queues())
        for name in self._missed:
            self.fleet.agenda.after(self.random.randrange(*RESUMES_MS), self._do, name)
        self._missed.clear()

    def _each(self, name: str, period_ms: int) -> None:
        if self.is_running:
            self._do(name)
            self.fleet.agenda.after(period_ms, self._each, name, period_ms)

    def _do(self, name: str) -> None:
        if not self.is_running:
            return
        if self.is_paused:
            self.put_off(name)
        else:
            getattr(self, name)()

    def put_off(self, name: str) -> None:
        """To be done once it runs again."""
        self._missed[name] = None

    # --- routes and heartbeats

    def poll_routes(self) -> None:
        """Nothing follows from it at once: queues are shared out anew at the next rebalance."""
        if self.cannot_reach_name_server:
            return
        for topic in self.topics:
            self.routes[topic] = self.fleet.name_servers.of(self.client_id, self.fleet.now).route(topic)

    def beat(self) -> None:
        """A heartbeat to every broker of its routes, over a new connection where the old one is gone."""
        for name in self._known_brokers():
            self._beat_one(name)

    def _beat_one(self, name: str) -> None:
        broker = self.fleet.reach(self, name)
        if broker is None or not self.is_running or name in self.loses_heartbeats_to:
            return
        channel = self._channels.get(name)
        if channel is None or not self._stands(name, channel):
            channel = self._connect(name)
        broker.heartbeat(channel, self.versions, self.fleet.now)

    def moved(self, topic: str) -> None:
        """``messageQueueChanged``: what it got or lost of a topic makes the subscription a newer one, and it tells so.

        Not while another heartbeat is under way (``lockHeartbeat``): then brokers refuse its pulls until the next one.
        """
        self.versions[topic] = self.fleet.now + self.clock_is_off_ms
        is_first = self.fleet.now - self.start_ts <= HEARTBEAT_FIRST_MS
        if is_first and self._races.random() < BEATS_ALREADY:
            for queue in self.rebalance.process_queues():
                self.fleet.refuse_or_serve(queue)
        else:
            self.beat()

    def _known_brokers(self) -> dict[str, None]:
        routes = (route for route in self.routes.values() if route is not None)
        return dict.fromkeys(name for route in routes for name in route.broker_names)

    def _stands(self, name: str, channel: Channel) -> bool:
        group = self.fleet.brokers[name].groups.get(self.group)
        return group is not None and channel in group.channels

    def _connect(self, name: str) -> Channel:
        number = self._channels[name].number + 1 if name in self._channels else 0
        host, _, port = self.address.rpartition(":")
        channel = self._channels[name] = Channel(self, number, f"{host}:{int(port) + number}")
        return channel

    def lose_connections(self) -> None:
        """The network drops for a moment: the client connects anew, brokers keep dead connections until they expire."""
        for name in list(self._channels):
            self._connect(name)
        self.fleet.agenda.after(self.fleet.latency(), self._do, "beat")

    def lose_connection(self, name: str) -> None:
        """One connection is closed, and the broker notices: it lists the client no more until its next heartbeat."""
        if name in self._channels:
            self.fleet.brokers[name].unregister(self._channels[name])

    def _live_channels(self) -> list[tuple[Channel, Broker]]:
        brokers = self.fleet.brokers
        return [(c, brokers[name]) for name, c in self._channels.items() if name not in self.cannot_reach]

    # --- what it owns

    def queues(self) -> list[ProcessQueue]:
        return list(self.rebalance.process_queues())

    def owned(self) -> Iterator[MessageQueue]:
        """What it says it owns: ``mqTable`` without what is dropped."""
        return (queue.progress.log.queue for queue in self.rebalance.process_queues() if not queue.dropped)

    def progress(self, log: MessageLog, of_group: Progress) -> Progress:
        """Whose offsets count: the group's, or, broadcasting, its own, which begin at the end."""
        if not self.manner.broadcasting:
            return of_group
        now = self.fleet.now
        return self.local_offsets.setdefault(
            log.queue, Progress(log, log.max_offset(now), consumed=log.max_offset(now))
        )

    def settle(self) -> None:
        for queue in self.queues():
            queue.progress.settle(self.fleet.now)

    def persist(self) -> None:
        for queue in self.queues():
            queue.persist(self.fleet.now)

    def last_persist(self, now: int) -> int:
        """When it last committed its offsets, which it does every 5 s."""
        first = self.start_ts + PERSIST_FIRST_MS
        return first + (now - first) // PERSIST_MS * PERSIST_MS if now >= first else 0

    def lock_all(self) -> None:
        self.rebalance.renew_locks()

    def notified(self) -> None:
        """NOTIFY_CONSUMER_IDS_CHANGED."""
        self._do("wake")

    def wake(self) -> None:
        self.rebalance.wake()

    def subscribe(self, topics: dict[str, str]) -> None:
        """From now on these topics: those no longer in it are dropped at the next rebalance."""
        if not self.is_running:
            return
        retry = {name: expression for name, expression in self.topics.items() if name == retry_topic(self.group)}
        self.topics = {**topics, **retry}
        self.versions = dict.fromkeys(self.topics, self.fleet.now + self.clock_is_off_ms)
        self.fleet.subscribers_changed()
        self.routes = {name: route for name, route in self.routes.items() if name in self.topics}
        self.poll_routes()
        self.beat()

    def work_at(self, speed: int) -> None:
        """From now on its own code takes so many messages a second of one queue; 0: it is stuck."""
        self.settle()
        self.speed = speed
        for queue in self.queues():
            queue.speed = speed
        self.fleet.truth.note_all(self.queues())

    def pull_no_more(self) -> None:
        """Its pull service has died: everything else goes on (apache/rocketmq #1918)."""
        self.settle()
        self.pulls_no_more = True
        self.fleet.truth.note_all(self.queues())
