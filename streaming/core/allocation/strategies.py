"""One row for each of RocketMQ's strategies: its name, its Java class, and what it is built with.

Everybody who has a name or a class of a strategy asks here: the configuration, vectors, and what clients report.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType, convert

from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import NAME_BEFORE_INNER, MachineRoomNearby
from streaming.core.allocation.strategy import Strategy, null_pointer

_ROCKETMQ_PACKAGE = "org.apache.rocketmq."


def class_name(reported: str) -> str:
    """``AllocateMessageQueueAveragely`` of RocketMQ's own class, ``com.acme.Mine`` of another's.

    A client reports the object's ``toString()``, so ``@`` and a hash may follow.
    """
    name = reported.partition("@")[0]
    return simple_class_name(name) if name.startswith(_ROCKETMQ_PACKAGE) else name


def simple_class_name(reported: str) -> str:
    """Without the package, which builds that shade RocketMQ's client change."""
    return reported.partition("@")[0].rpartition(".")[2]


def strategy_of_class(reported: str) -> str | None:
    """The ``getName()`` of a class that a client reports; None for a class that is not RocketMQ's own.

    The strategy inside AllocateMachineRoomNearby cannot be seen: its name is given without the inner one.
    """
    simple_name = class_name(reported)
    return next((name for name, row in _ROWS.items() if row.java_class == simple_name), None)


def class_of_strategy(name: str) -> str:
    """The simple name of the Java class of a ``getName()``."""
    return _ROWS[name.partition("-")[0]].java_class


def needs_no_parameters(name: str) -> bool:
    """True if the class alone says what a client computes."""
    return not _ROWS[name].params.__struct_fields__


def strategy_named(name: str, params: Mapping[str, object]) -> Strategy:
    """Build a strategy from its ``getName()`` and what the Java object was built with.

    Raises AllocationError where Java's constructor throws, ValueError where the name or a parameter is not one.
    """
    outer, hyphen, inner_name = name.partition("-")
    row = _ROWS.get(outer)
    if row is None or (hyphen and (outer != NAME_BEFORE_INNER or not inner_name)):
        raise ValueError(f"unknown strategy {name!r}: use one of {', '.join(_ROWS)}-<inner>")
    try:
        given = {"inner": {"strategy": inner_name}, **params} if inner_name else params
        built = convert(given, row.params)
        strategy = built if isinstance(built, Strategy) else built.build()
    except ValueError as fault:
        raise ValueError(f"{name}: {fault}") from fault
    if inner_name and strategy.name != name:
        raise ValueError(f"{name}: its parameters are those of {strategy.name}")
    return strategy


class QueueParam(Struct, rename="camel", forbid_unknown_fields=True):
    topic: str
    broker_name: str
    queue_id: int

    def queue(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class _ConfigParams(Struct, rename="camel", forbid_unknown_fields=True):
    message_queue_list: list[QueueParam] | None

    def build(self) -> Strategy:
        listed = self.message_queue_list
        return ByConfig(None if listed is None else tuple(one.queue() for one in listed))


class _Inner(Struct, forbid_unknown_fields=True):
    strategy: str
    params: dict[str, object] = {}


class _NearbyParams(Struct, rename="camel", forbid_unknown_fields=True):
    inner: _Inner | None
    broker_rooms: dict[str, str | None] | UnsetType = UNSET
    client_rooms: dict[str, str | None] | UnsetType = UNSET
    by_prefix: str = ""

    def build(self) -> Strategy:
        if self.inner is None:
            raise null_pointer("allocateMessageQueueStrategy is null")
        if self.broker_rooms is UNSET and self.client_rooms is UNSET and not self.by_prefix:
            raise ValueError("no room is known: give brokerRooms and clientRooms, or byPrefix")
        inner = strategy_named(self.inner.strategy, self.inner.params)
        return MachineRoomNearby(inner, self.broker_rooms or {}, self.client_rooms or {}, self.by_prefix)


class _Row(NamedTuple):
    java_class: str
    params: type[Strategy] | type[_ConfigParams] | type[_NearbyParams]


_ROWS: dict[str, _Row] = {
    Averagely.name: _Row("AllocateMessageQueueAveragely", Averagely),
    AveragelyByCircle.name: _Row("AllocateMessageQueueAveragelyByCircle", AveragelyByCircle),
    ByConfig.name: _Row("AllocateMessageQueueByConfig", _ConfigParams),
    ByMachineRoom.name: _Row("AllocateMessageQueueByMachineRoom", ByMachineRoom),
    ConsistentHash.name: _Row("AllocateMessageQueueConsistentHash", ConsistentHash),
    NAME_BEFORE_INNER: _Row("AllocateMachineRoomNearby", _NearbyParams),
}
