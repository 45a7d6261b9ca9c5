"""The producer: the queues it writes to, and how it avoids brokers that fail."""

from collections.abc import Callable, Mapping

from streaming.simulation.broker import Broker
from streaming.simulation.client_config import POLL_ROUTES_MS
from streaming.simulation.message_queue import MessageLog
from streaming.simulation.name_server import NameServer
from streaming.simulation.virtual_clock import VirtualClock

NOT_AVAILABLE_MS = 10_000  # MQFaultStrategy of 5.x: after a failed send its broker is avoided so long


class Producer:
    """A producer that writes to topics at a rate. Round robin gives each queue an equal share of the rate.

    ``set_rate`` sets how many messages a second a broker's queue gets from now on.
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
        """Write ``rate`` messages a second from now on."""
        self._rates[topic] = rate
        self._spread(topic)
        if not self._polls:
            self._polls = True
            self._clock.after(POLL_ROUTES_MS, self._poll)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it writes to, or has written to."""
        return tuple(self._rates)

    def _poll(self) -> None:
        self._spread_all()
        self._clock.after(POLL_ROUTES_MS, self._poll)

    def broker_changed(self, broker: Broker) -> None:
        """Sends to the broker fail from now on, or succeed again. After a failure messages go to other brokers."""
        self._out_until[broker.name] = self._clock.now + (0 if broker.is_up else NOT_AVAILABLE_MS)
        self._spread_all()

    def _spread_all(self) -> None:
        for topic in self._rates:
            self._spread(topic)

    def _spread(self, topic: str) -> None:
        route = self._name_server.route(topic)
        up = [queue for queue in route.publish_info() if self._brokers[queue.broker_name].is_up] if route else []
        available = [queue for queue in up if self._clock.now >= self._out_until.get(queue.broker_name, 0)]
        queues = available or up
        each, more = divmod(self._rates[topic], max(1, len(queues)))
        rates = {queue: each + (index < more) for index, queue in enumerate(queues)}  # messages a second
        for broker in self._brokers.values():
            for queue, log in broker.logs.items():
                rate = rates.get(queue, 0)
                if queue.topic == topic and log.rate != rate:
                    self._set_rate(broker, log, rate)
