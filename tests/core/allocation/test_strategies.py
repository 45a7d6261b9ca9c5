"""From names and parameters to strategies, and from what clients report to names."""

import pytest

from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategies import class_name, class_of_strategy, strategy_named, strategy_of_class
from streaming.core.allocation.strategy import NULL_POINTER, AllocationError, Strategy

PACKAGE = "org.apache.rocketmq.client.consumer.rebalance."
LISTED = [{"topic": "T", "brokerName": "b", "queueId": 3}]
BROKER_ROOMS: dict[str, str | None] = {"b": "r", "c": None}
CLIENT_ROOMS: dict[str, str | None] = {"x@1": "r"}
ROOMS: dict[str, object] = {"brokerRooms": BROKER_ROOMS, "clientRooms": CLIENT_ROOMS}


@pytest.mark.parametrize(
    ("name", "params", "strategy"),
    [
        ("AVG", {}, Averagely()),
        ("AVG_BY_CIRCLE", {}, AveragelyByCircle()),
        ("CONFIG", {"messageQueueList": LISTED}, ByConfig((MessageQueue("T", "b", 3),))),
        ("CONFIG", {"messageQueueList": None}, ByConfig(None)),
        ("MACHINE_ROOM", {"consumeridcs": ["r2", "r1", "r1"]}, ByMachineRoom(frozenset({"r1", "r2"}))),
        ("MACHINE_ROOM", {"consumeridcs": None}, ByMachineRoom(None)),
        ("CONSISTENT_HASH", {}, ConsistentHash(10)),
        ("CONSISTENT_HASH", {"virtualNodeCnt": 3}, ConsistentHash(3)),
        ("MACHINE_ROOM_NEARBY-AVG", {"byPrefix": "-"}, MachineRoomNearby(Averagely(), by_prefix="-")),
        (
            "MACHINE_ROOM_NEARBY",
            {"inner": {"strategy": "AVG"}, **ROOMS},
            MachineRoomNearby(Averagely(), BROKER_ROOMS, CLIENT_ROOMS),
        ),
        (
            "MACHINE_ROOM_NEARBY-CONSISTENT_HASH",
            {"inner": {"strategy": "CONSISTENT_HASH", "params": {"virtualNodeCnt": 3}}, **ROOMS},
            MachineRoomNearby(ConsistentHash(3), BROKER_ROOMS, CLIENT_ROOMS),
        ),
    ],
)
def test_a_strategy_is_built_from_its_name_and_parameters(
    name: str, params: dict[str, object], strategy: Strategy
) -> None:
    built = strategy_named(name, params)
    assert built == strategy
    assert built.name.startswith(name)


@pytest.mark.parametrize(
    ("name", "params", "fault"),
    [
        ("AVERAGE", {}, "unknown strategy 'AVERAGE': use one of AVG, "),
        ("AVG-AVG", {}, "unknown strategy 'AVG-AVG'"),
        ("MACHINE_ROOM_NEARBY-", {"byPrefix": "-"}, "unknown strategy 'MACHINE_ROOM_NEARBY-'"),
        ("AVG", {"virtualNodeCnt": 3}, "AVG: Object contains unknown field `virtualNodeCnt`"),
        ("CONFIG", {}, "CONFIG: Object missing required field `messageQueueList`"),
        ("CONFIG", {"messageQueueList": [{"topic": "T"}]}, r"missing required field `brokerName`.*\[0\]"),
        ("MACHINE_ROOM", {}, "MACHINE_ROOM: Object missing required field `consumeridcs`"),
        ("MACHINE_ROOM", {"consumeridcs": "r1"}, "got `str` - at `[$].consumeridcs`"),
        ("CONSISTENT_HASH", {"virtualNodeCnt": "ten"}, "got `str` - at `[$].virtualNodeCnt`"),
        ("CONSISTENT_HASH", {"virtualNodeCnt": True}, "got `bool`"),
        ("MACHINE_ROOM_NEARBY", {"byPrefix": "-"}, "missing required field `inner`"),
        ("MACHINE_ROOM_NEARBY-AVG", {}, "no room is known: give brokerRooms and clientRooms, or byPrefix"),
        ("MACHINE_ROOM_NEARBY-AVG", {"brokerRooms": {"b": 1}}, "got `int` - at `[$].brokerRooms"),
        ("MACHINE_ROOM_NEARBY-OWN", {"byPrefix": "-"}, "MACHINE_ROOM_NEARBY-OWN: unknown strategy 'OWN'"),
        (
            "MACHINE_ROOM_NEARBY-AVG",
            {"byPrefix": "-", "inner": {"strategy": "CONSISTENT_HASH"}},
            "its parameters are those of MACHINE_ROOM_NEARBY-CONSISTENT_HASH",
        ),
    ],
)
def test_a_fault_is_named(name: str, params: dict[str, object], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        strategy_named(name, params)


def test_what_the_java_constructor_refuses_is_its_exception() -> None:
    with pytest.raises(AllocationError, match="illegal virtualNodeCnt :-1"):
        strategy_named("CONSISTENT_HASH", {"virtualNodeCnt": -1})
    with pytest.raises(AllocationError, match="allocateMessageQueueStrategy is null") as thrown:
        strategy_named("MACHINE_ROOM_NEARBY", {"inner": None, **ROOMS})
    assert thrown.value.java_class == NULL_POINTER


@pytest.mark.parametrize(
    ("simple_name", "name"),
    [
        ("AllocateMessageQueueAveragely", "AVG"),
        ("AllocateMessageQueueAveragelyByCircle", "AVG_BY_CIRCLE"),
        ("AllocateMessageQueueByConfig", "CONFIG"),
        ("AllocateMessageQueueByMachineRoom", "MACHINE_ROOM"),
        ("AllocateMachineRoomNearby", "MACHINE_ROOM_NEARBY"),
        ("AllocateMessageQueueConsistentHash", "CONSISTENT_HASH"),
        ("", None),
        ("OurOwnStrategy", None),
    ],
)
def test_a_class_is_known_by_its_simple_name_its_full_name_and_an_objects_text(
    simple_name: str, name: str | None
) -> None:
    assert strategy_of_class(simple_name) == name
    assert strategy_of_class(PACKAGE + simple_name) == name
    assert strategy_of_class(f"{PACKAGE}{simple_name}@71677e61") == name


def test_a_namesake_in_another_package_is_not_known() -> None:
    assert strategy_of_class("com.example.AllocateMessageQueueAveragely") is None


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE", "CONFIG", "MACHINE_ROOM", "CONSISTENT_HASH"])
def test_a_name_and_its_class_lead_to_each_other(name: str) -> None:
    assert strategy_of_class(class_of_strategy(name)) == name


def test_the_class_of_a_strategy_around_another_is_the_outer_one() -> None:
    assert class_of_strategy("MACHINE_ROOM_NEARBY-AVG") == "AllocateMachineRoomNearby"


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("AllocateMessageQueueAveragely", "AllocateMessageQueueAveragely"),
        (f"{PACKAGE}AllocateMessageQueueAveragely@71677e61", "AllocateMessageQueueAveragely"),
        ("com.acme.AllocateMessageQueueAveragely@1", "com.acme.AllocateMessageQueueAveragely"),
    ],
)
def test_only_rocketmqs_own_package_is_left_out(reported: str, name: str) -> None:
    assert class_name(reported) == name
