"""The producer: which queues it writes to, and how it keeps away from brokers that fail."""

from collections.abc import Callable, Mapping

from schemas.identity import MessageQueue
from streaming.simulation.broker import Broker
from streaming.simulation.client_config import POLL_ROUTES_MS
from streaming.simulation.message_queue import MessageLog
from streaming.simulation.name_server import NameServer
from streaming.simulation.virtual_clock import VirtualClock

NOT_AVAILABLE_MS = 10_000  # MQFaultStrategy of 5.x: a failed send keeps its broker out for so long


class Producer:
    """Writes topics at a rate. As a flow, round robin is an even share for each queue.

    ``set_rate`` makes a broker's queue get so many messages a second from now on.
    """

    def __init__(
        self,
        clock: VirtualClock,
        name_server: NameServer,
        brokers: Mapping[str, Broker],
        set_rate: Callable[[Broker, MessageLog, int], None],
    ) -> None:
        self._clock, self._name_server, self._brokers = clock, name_server, brokers
        self._set_rate = set_rate
        self._rates: dict[str, int] = {}
        self._out_until: dict[str, int] = {}  # LatencyFaultToleranceImpl
        self._polls = False

    def write(self, topic: str, rate: int) -> None:
        """From now on ``rate`` messages a second."""
        self._rates[topic] = rate
        self._spread(topic)
        if not self._polls:
            self._polls = True
            self._clock.after(POLL_ROUTES_MS, self._poll)

    @property
    def topics(self) -> tuple[str, ...]:
        """Those that it writes to, or did."""
        return tuple(self._rates)

    def _poll(self) -> None:
        self._spread_all()
        self._clock.after(POLL_ROUTES_MS, self._poll)

    def broker_changed(self, broker: Broker) -> None:
        """Sends to it fail from now on, or no longer do: those that follow go elsewhere."""
        self._out_until[broker.name] = self._clock.now + (0 if broker.is_up else NOT_AVAILABLE_MS)
        self._spread_all()

    def _spread_all(self) -> None:
        for topic in self._rates:
            self._spread(topic)

    def _spread(self, topic: str) -> None:
        route = self._name_server.route(topic)
        up = [queue for queue in route.publish_info() if self._brokers[queue.broker_name].is_up] if route else []
        available = [queue for queue in up if self._clock.now >= self._out_until.get(queue.broker_name, 0)]
        rates = self._rate_by_queue(topic, available or up)
        for broker in self._brokers.values():
            for queue, log in broker.logs.items():
                rate = rates.get(queue, 0)
                if queue.topic == topic and log.rate != rate:
                    self._set_rate(broker, log, rate)

    def _rate_by_queue(self, topic: str, queues: list[MessageQueue]) -> dict[MessageQueue, int]:
        """Messages a second of each queue."""
        each, more = divmod(self._rates[topic], max(1, len(queues)))
        return {queue: each + (index < more) for index, queue in enumerate(queues)}
