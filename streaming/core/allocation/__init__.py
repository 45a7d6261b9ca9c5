"""RocketMQ's six allocation strategies: who owns which queue, by the client's own arithmetic.

One file a strategy. All are proven against answers of RocketMQ's own classes, errors and order included.
"""

from streaming.core.allocation.averagely import Averagely
from streaming.core.allocation.averagely_by_circle import AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.java import AllocationError
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategies import (
    class_name,
    class_of_strategy,
    needs_no_parameters,
    simple_class_name,
    strategy_named,
    strategy_of_class,
)
from streaming.core.allocation.strategy import Strategy
from streaming.core.allocation.together import Allocation, allocate_all, sort_client_ids, sort_queues

__all__ = [
    "Allocation",
    "AllocationError",
    "Averagely",
    "AveragelyByCircle",
    "ByConfig",
    "ByMachineRoom",
    "ConsistentHash",
    "MachineRoomNearby",
    "Strategy",
    "allocate_all",
    "class_name",
    "class_of_strategy",
    "needs_no_parameters",
    "simple_class_name",
    "sort_client_ids",
    "sort_queues",
    "strategy_named",
    "strategy_of_class",
]
