"""The part of the cluster that a client uses: name servers, brokers, and a clock."""

from collections.abc import Callable
from random import Random

from streaming.simulation.allocation_cache import AllocationCache
from streaming.simulation.broker import Broker
from streaming.simulation.ground_truth import GroundTruth
from streaming.simulation.name_server import NameServer, TopicRoute
from streaming.simulation.process_queue import ProcessQueue
from streaming.simulation.proxy import Proxy
from streaming.simulation.virtual_clock import VirtualClock

LATENCY_MS = (2, 60)  # of a notification or a closed connection
PULL_AGAIN_MS = 3_000  # DefaultMQPushConsumerImpl.pullTimeDelayMillsWhenException


class Network:
    """The network of a client. Requests take no time; one-way messages take ``latency`` milliseconds.

    Clients report their queues to ``truth``. It answers nothing.
    """

    truth: GroundTruth

    def __init__(self, group: str, seed: int | str, start_ts: int) -> None:
        self.group, self.seed = group, seed
        self.clock = VirtualClock(start_ts)
        self.random, self._retries = Random(f"{seed}/fleet"), Random(f"{seed}/retries")
        self.name_server = NameServer()
        self.ask_name_server: Callable[[str, str, int], TopicRoute | None] | None = None  # where several differ
        self.brokers: dict[str, Broker] = {}
        self.proxies: dict[str, Proxy] = {}  # by their names in events
        self.allocations = AllocationCache()
        self._refused: dict[ProcessQueue, None] = {}

    @property
    def now(self) -> int:
        return self.clock.now

    def latency(self) -> int:
        return self.random.randrange(*LATENCY_MS)

    def route(self, asker: str, topic: str) -> TopicRoute | None:
        """The route by the name server that ``asker`` (a client's id, a collector's source) reaches."""
        ask = self.ask_name_server
        return self.name_server.route(topic) if ask is None else ask(asker, topic, self.now)

    def reach(self, name: str, cannot_reach: set[str]) -> Broker | None:
        """The broker, if it is up and requests reach it."""
        broker = self.brokers[name]
        return broker if broker.is_up and name not in cannot_reach else None

    def subscribers_changed(self) -> None:
        """A client joined, left, or changed its topics."""
        raise NotImplementedError

    def waiting_polls(self, broker: str, topic: str) -> int | None:
        """How many polls of the group wait there. None: the broker does not know the request."""
        return None

    # --- pulls

    def check_pull(self, process_queue: ProcessQueue) -> None:
        """Set for the queue whether the broker accepts the client's pulls."""
        queue, client = process_queue.progress.log.queue, process_queue.client
        broker = self.reach(queue.broker_name, client.cannot_reach)
        version = client.versions.get(queue.topic, 0)
        is_refused = broker is None or not broker.accepts_pull(self.group, queue, version)
        if is_refused != process_queue.is_refused:
            process_queue.progress.catch_up(self.now)
            process_queue.is_refused = is_refused
            self.truth.observe(process_queue.progress)
        if is_refused:
            self._refused[process_queue] = None
        else:
            self._refused.pop(process_queue, None)

    def pulls_changed(self, broker_name: str, is_all: bool) -> None:
        if is_all:
            self.check_all_pulls(self.brokers[broker_name])
            return
        for refused in list(self._refused):
            if refused.dropped:
                del self._refused[refused]
            elif refused.progress.log.queue.broker_name == broker_name:
                self.clock.after(self._retries.randrange(PULL_AGAIN_MS), self.check_pull, refused)

    def check_all_pulls(self, broker: Broker) -> None:
        """Check the pulls of the broker's queues. Refused pulls are tried again within 3 s."""
        for progress in broker.progresses(self.group):
            for holder in list(progress.holders):
                delay = self.random.randrange(PULL_AGAIN_MS) if holder.is_refused else 0
                self.clock.after(delay, self.check_pull, holder)
