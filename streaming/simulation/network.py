"""The part of the cluster that a client uses: name servers, brokers, and a clock."""

from typing import Protocol

from streaming.simulation.allocation_cache import AllocationCache
from streaming.simulation.broker import Broker
from streaming.simulation.ground_truth import GroundTruth
from streaming.simulation.name_server import TopicRoute
from streaming.simulation.process_queue import ProcessQueue
from streaming.simulation.virtual_clock import VirtualClock


class Network(Protocol):
    """The network of a client. Requests take no time; one-way messages take ``latency`` milliseconds.

    Clients report their queues to ``truth``. It answers nothing.
    """

    clock: VirtualClock
    truth: GroundTruth
    allocations: AllocationCache

    def latency(self) -> int: ...

    def route(self, asker: str, topic: str) -> TopicRoute | None:
        """GET_ROUTEINFO_BY_TOPIC, from the name server that ``asker`` uses."""

    def broker(self, name: str) -> Broker: ...

    def reach(self, name: str, cannot_reach: set[str]) -> Broker | None:
        """The broker, if it is up and requests reach it."""

    def check_pull(self, process_queue: ProcessQueue) -> None:
        """The client tries to pull: set whether the broker accepts it."""

    def subscribers_changed(self) -> None:
        """Note that the client has changed its topics."""
