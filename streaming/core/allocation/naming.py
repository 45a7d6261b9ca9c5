"""Strategies by RocketMQ's names: from configuration or vectors, and from what a client reports."""

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType, convert

from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely
from streaming.core.allocation.averagely_by_circle import AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.error import null_pointer
from streaming.core.allocation.machine_room_nearby import NAME_BEFORE_INNER, MachineRoomNearby
from streaming.core.allocation.strategy import Strategy

_JAVA_PACKAGE = "org.apache.rocketmq.client.consumer.rebalance."
_NAME_OF_CLASS = {
    "AllocateMessageQueueAveragely": Averagely.name,
    "AllocateMessageQueueAveragelyByCircle": AveragelyByCircle.name,
    "AllocateMessageQueueByConfig": ByConfig.name,
    "AllocateMessageQueueByMachineRoom": ByMachineRoom.name,
    "AllocateMachineRoomNearby": NAME_BEFORE_INNER,
    "AllocateMessageQueueConsistentHash": ConsistentHash.name,
}


def strategy_of_class(java_class: str) -> str | None:
    """The ``getName()`` of a class as a client reports it, or None for a class that is not RocketMQ's own.

    A client reports the object's ``toString()``, so ``@`` and a hash may follow. The strategy inside
    AllocateMachineRoomNearby cannot be seen: its name is given without the inner one.
    """
    class_name = java_class.partition("@")[0]
    return _NAME_OF_CLASS.get(class_name.removeprefix(_JAVA_PACKAGE))


def strategy_named(name: str, params: Mapping[str, object]) -> Strategy:
    """Build a strategy from its ``getName()`` and what the Java object was built with.

    Raises AllocationError where Java's constructor throws, ValueError where the name or a parameter is not one.
    """
    outer, hyphen, inner_name = name.partition("-")
    form = _FORMS.get(outer)
    if form is None or (hyphen and (outer != NAME_BEFORE_INNER or not inner_name)):
        raise ValueError(f"unknown strategy {name!r}: use one of {', '.join(_FORMS)}-<inner>")
    try:
        given = {"inner": {"strategy": inner_name}, **params} if inner_name else params
        strategy = convert(given, form).build()
    except ValueError as fault:
        raise ValueError(f"{name}: {fault}") from fault
    if inner_name and strategy.name != name:
        raise ValueError(f"{name}: its parameters are those of {strategy.name}")
    return strategy


class _Params(Struct, rename="camel", forbid_unknown_fields=True):
    """What may be said about a strategy, in the words of the vectors."""


class _AveragelyParams(_Params):
    def build(self) -> Strategy:
        return Averagely()


class _AveragelyByCircleParams(_Params):
    def build(self) -> Strategy:
        return AveragelyByCircle()


class _Queue(Struct, rename="camel", forbid_unknown_fields=True):
    topic: str
    broker_name: str
    queue_id: int


class _ConfigParams(_Params):
    message_queue_list: list[_Queue] | None

    def build(self) -> Strategy:
        if self.message_queue_list is None:
            return ByConfig(None)
        return ByConfig(tuple(MessageQueue(q.topic, q.broker_name, q.queue_id) for q in self.message_queue_list))


class _MachineRoomParams(_Params):
    consumeridcs: frozenset[str] | None

    def build(self) -> Strategy:
        return ByMachineRoom(self.consumeridcs)


class _ConsistentHashParams(_Params):
    virtual_node_cnt: int = 10

    def build(self) -> Strategy:
        return ConsistentHash(self.virtual_node_cnt)


class _Inner(Struct, forbid_unknown_fields=True):
    strategy: str
    params: dict[str, object] = {}


class _NearbyParams(_Params):
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


_Form = (
    _AveragelyParams
    | _AveragelyByCircleParams
    | _ConfigParams
    | _MachineRoomParams
    | _ConsistentHashParams
    | _NearbyParams
)
_FORMS: dict[str, type[_Form]] = {
    Averagely.name: _AveragelyParams,
    AveragelyByCircle.name: _AveragelyByCircleParams,
    ByConfig.name: _ConfigParams,
    ByMachineRoom.name: _MachineRoomParams,
    ConsistentHash.name: _ConsistentHashParams,
    NAME_BEFORE_INNER: _NearbyParams,
}
