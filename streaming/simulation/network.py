"""What a client needs of its cluster: to reach name servers and brokers, and a clock. It knows no more of it."""

from typing import Protocol

from streaming.simulation.allocation_cache import AllocationCache
from streaming.simulation.broker import Broker
from streaming.simulation.ground_truth import GroundTruth
from streaming.simulation.name_server import TopicRoute
from streaming.simulation.process_queue import ProcessQueue
from streaming.simulation.virtual_clock import VirtualClock


class Network(Protocol):
    """Requests take no time; what is sent without waiting for an answer takes ``latency`` milliseconds.

    Clients tell ``truth`` what they hold. It answers nothing.
    """

    clock: VirtualClock
    truth: GroundTruth
    allocations: AllocationCache

    def latency(self) -> int: ...

    def route(self, asker: str, topic: str) -> TopicRoute | None:
        """GET_ROUTEINFO_BY_TOPIC, from a name server of the asker's choice."""

    def broker(self, name: str) -> Broker: ...

    def reach(self, name: str, cannot_reach: set[str]) -> Broker | None:
        """The broker, if it is up and requests get there."""

    def check_pull(self, process_queue: ProcessQueue) -> None:
        """The client pulls, or tries to: whether the broker lets it."""

    def subscribers_changed(self) -> None:
        """The client subscribes to other topics than before."""
