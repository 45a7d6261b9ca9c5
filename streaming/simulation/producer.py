"""The producer: which queues it writes to, and how it keeps away from brokers that are slow or fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.identity import MessageQueue
from streaming.simulation.name_server import PERM_WRITE, TopicRouteData

if TYPE_CHECKING:
    from streaming.simulation.fleet import Fleet

POLL_ROUTES_MS = 30_000
DEFAULT_TOPIC_QUEUE_NUMS = 4  # DefaultMQProducer.defaultTopicQueueNums
# MQFaultStrategy of 5.x: what took at least so long keeps a broker out for so long.
LATENCY_MAX_MS = (50, 100, 550, 1_800, 3_000, 5_000, 15_000)
NOT_AVAILABLE_MS = (0, 0, 2_000, 5_000, 6_000, 10_000, 30_000)
ISOLATED_LATENCY_MS = 10_000  # what a failed send counts as


def publish_info(route: TopicRouteData) -> tuple[MessageQueue, ...]:
    """``topicRouteData2TopicPublishInfo``: by ``orderTopicConf`` (``broker-a:8;broker-b:8``), else by the write queues.

    Only brokers with a master and with permission to write, in the order of their names.
    """
    if route.order_topic_conf:
        parts = (part.rpartition(":") for part in route.order_topic_conf.split(";") if part)
        return tuple(MessageQueue(route.topic, name, i) for name, _, count in parts for i in range(int(count)))
    with_master = {data.broker_name for data in route.broker_datas if data.has_master}
    return tuple(
        MessageQueue(route.topic, data.broker_name, queue_id)
        for data in sorted(route.queue_datas)
        if data.perm & PERM_WRITE and data.broker_name in with_master
        for queue_id in range(data.write_queue_nums)
    )


class LatencyFaultTolerance:
    """Brokers that were slow are left out for a time (``LatencyFaultToleranceImpl``)."""

    def __init__(self) -> None:
        self._out_until: dict[str, int] = {}

    def update(self, broker_name: str, latency_ms: int, now: int) -> None:
        """A send took so long; ``ISOLATED_LATENCY_MS`` if it failed."""
        for slow_ms, out_ms in zip(reversed(LATENCY_MAX_MS), reversed(NOT_AVAILABLE_MS), strict=True):
            if latency_ms >= slow_ms:
                self._out_until[broker_name] = now + out_ms
                return
        self._out_until[broker_name] = now

    def is_available(self, broker_name: str, now: int) -> bool:
        return now >= self._out_until.get(broker_name, 0)


@dataclass(slots=True)
class Selection:
    """``TopicPublishInfo.selectOneMessageQueue``: round robin that avoids the broker that failed last."""

    queues: tuple[MessageQueue, ...]
    position: int = 0

    def next(self, last_broker: str | None = None) -> MessageQueue:
        for _ in self.queues:
            queue = self._step()
            if queue.broker_name != last_broker:
                return queue
        return self._step()

    def next_available(self, faults: LatencyFaultTolerance, now: int) -> MessageQueue:
        """With fault tolerance: the next whose broker is not kept out, else the next."""
        for _ in self.queues:
            queue = self._step()
            if faults.is_available(queue.broker_name, now):
                return queue
        return self._step()

    def _step(self) -> MessageQueue:
        self.position += 1
        return self.queues[(self.position - 1) % len(self.queues)]


class Producer:
    """Writes topics at a rate. As a flow, round robin is an even share for each queue, and hot keys a larger one."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._rates: dict[str, int] = {}
        self._hot: dict[str, float] = {}
        self.faults = LatencyFaultTolerance()
        self._polls = False

    def write(self, topic: str, rate: int, hot: float = 0.0) -> None:
        """From now on ``rate`` messages a second; the share ``hot`` of them goes by its key to the first queue.

        A topic that there is none of is made by the brokers with the first message (``autoCreateTopicEnable``).
        """
        if not any(topic in broker.topics for broker in self._fleet.brokers.values()):
            self._fleet.put_topic(topic, dict.fromkeys(self._fleet.brokers, DEFAULT_TOPIC_QUEUE_NUMS))
        self._rates[topic], self._hot[topic] = rate, hot
        self._spread(topic)
        if not self._polls:
            self._polls = True
            self._fleet.agenda.after(POLL_ROUTES_MS, self._poll)

    @property
    def topics(self) -> tuple[str, ...]:
        """Those that it writes to, or did."""
        return tuple(self._rates)

    def _poll(self) -> None:
        for topic in self._rates:
            self._spread(topic)
        self._fleet.agenda.after(POLL_ROUTES_MS, self._poll)

    def sent(self, broker_name: str, latency_ms: int) -> None:
        """Sends to a broker took so long, or failed (``ISOLATED_LATENCY_MS``): those that follow go elsewhere."""
        self.faults.update(broker_name, latency_ms, self._fleet.now)
        for topic in self._rates:
            self._spread(topic)

    def _spread(self, topic: str) -> None:
        fleet, now = self._fleet, self._fleet.now
        route = fleet.name_server.route(topic)
        queues = () if route is None else publish_info(route)
        up = {name for name, broker in fleet.brokers.items() if broker.is_up}
        available = [q for q in queues if q.broker_name in up and self.faults.is_available(q.broker_name, now)]
        shares = self._shares(topic, available or [q for q in queues if q.broker_name in up])
        for broker in fleet.brokers.values():
            for queue, log in broker.logs.items():
                rate = shares.get(queue, 0)
                if queue.topic == topic and log.rate != rate:
                    progress = broker.progress(fleet.group, queue, now)
                    progress.settle(now)
                    log.write(rate, now)
                    fleet.truth.note(progress)

    def _shares(self, topic: str, queues: list[MessageQueue]) -> dict[MessageQueue, int]:
        """Messages a second of each queue."""
        if not queues:
            return {}
        rate, hot = self._rates[topic], int(self._rates[topic] * self._hot[topic])
        each, more = divmod(rate - hot, len(queues))
        shares = {queue: each + (place < more) for place, queue in enumerate(queues)}
        shares[queues[0]] += hot
        return shares
