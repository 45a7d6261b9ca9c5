"""Each strategy's rule on one example that fits on a page, and its documented oddities."""

from itertools import product

import pytest

from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom, room_of
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategy import ILLEGAL_ARGUMENT, NULL_POINTER, AllocationError, Strategy
from streaming.core.allocation.together import allocate_all

CHECKED: list[Strategy] = [
    Averagely(),
    AveragelyByCircle(),
    ByMachineRoom(frozenset({"r"})),
    ConsistentHash(),
    MachineRoomNearby(Averagely(), by_prefix="@"),
]


def queues(count: int, broker_name: str = "r@b") -> list[MessageQueue]:
    return [MessageQueue("T", broker_name, number) for number in range(count)]


def numbers(strategy: Strategy, count: int, clients: int) -> list[list[int]]:
    shares = allocate_all(strategy, queues(count), [f"c{number}" for number in range(clients)]).shares
    return [[queue.queue_id for queue in share] for share in shares]


def test_averagely_gives_the_first_clients_one_more() -> None:
    assert numbers(Averagely(), 7, 3) == [[0, 1, 2], [3, 4], [5, 6]]


def test_averagely_leaves_the_last_clients_without_when_queues_run_out() -> None:
    assert numbers(Averagely(), 2, 3) == [[0], [1], []]


def test_by_circle_deals_one_by_one() -> None:
    assert numbers(AveragelyByCircle(), 7, 3) == [[0, 3, 6], [1, 4], [2, 5]]


def test_by_machine_room_deals_the_remainder_from_the_end() -> None:
    assert numbers(ByMachineRoom(frozenset({"r"})), 8, 3) == [[0, 1, 6], [2, 3, 7], [4, 5]]


@pytest.mark.parametrize(
    ("broker_name", "room"),
    [
        ("r1@a", "r1"),
        ("r1@a@", "r1"),
        ("r1@a@@", "r1"),
        ("@b", ""),
        ("r1@", None),
        ("r1", None),
        ("r1@a@b", None),
        ("@", None),
        ("r1@@y", None),
        ("", None),
    ],
)
def test_a_broker_name_is_split_as_java_splits(broker_name: str, room: str | None) -> None:
    assert room_of(broker_name) == room


@pytest.mark.parametrize("in_one_pass", [False, True])
def test_null_rooms_throw_as_soon_as_a_broker_has_one(in_one_pass: bool) -> None:
    with pytest.raises(AllocationError) as thrown:
        _ = (
            allocate_all(ByMachineRoom(None), queues(1), ["c"])
            if in_one_pass
            else ByMachineRoom(None).allocate("c", queues(1), ["c"])
        )
    assert thrown.value.java_class == NULL_POINTER
    assert ByMachineRoom(None).allocate("c", queues(1, "plain"), ["c"]) == ()


def test_config_asks_nothing() -> None:
    listed = (MessageQueue("other", "nowhere", 77), MessageQueue("other", "nowhere", 77))
    assert ByConfig(listed).allocate("", [], []) == listed
    assert ByConfig(None).allocate("", [], []) == ()


@pytest.mark.parametrize("strategy", CHECKED, ids=lambda strategy: strategy.name)
def test_what_is_missing_is_named_own_id_first_then_queues_then_ids(strategy: Strategy) -> None:
    faults = {
        ("", 0, ""): "currentCID is empty",
        ("c", 0, ""): "mqAll is null or mqAll empty",
        ("c", 1, ""): "cidAll is null or cidAll empty",
    }
    for (client_id, count, client_ids), message in faults.items():
        with pytest.raises(AllocationError) as thrown:
            strategy.allocate(client_id, queues(count), list(client_ids))
        assert (thrown.value.java_class, thrown.value.message) == (ILLEGAL_ARGUMENT, message)


@pytest.mark.parametrize("strategy", CHECKED, ids=lambda strategy: strategy.name)
def test_a_client_that_is_not_listed_gets_nothing(strategy: Strategy) -> None:
    assert strategy.allocate("ghost", queues(4), ["c"]) == ()


@pytest.mark.parametrize("strategy", CHECKED, ids=lambda strategy: strategy.name)
def test_without_members_nobody_computes_anything(strategy: Strategy) -> None:
    assert allocate_all(strategy, [], []).shares == ()


@pytest.mark.parametrize("strategy", CHECKED, ids=lambda strategy: strategy.name)
def test_equal_strategies_are_equal_and_can_be_keys(strategy: Strategy) -> None:
    assert {strategy: 1}[strategy] == 1


def test_nearby_serves_rooms_without_clients_to_all_in_the_order_of_their_names() -> None:
    listed = [MessageQueue("T", f"{room}-b", number) for room, number in product(["r1", "r10", "r9"], range(2))]
    strategy = MachineRoomNearby(Averagely(), by_prefix="-")
    allocation = allocate_all(strategy, listed, ["r1-x", "r1-y"])
    owned = [[f"{queue.broker_name}/{queue.queue_id}" for queue in share] for share in allocation.shares]
    assert owned == [["r1-b/0", "r10-b/0", "r9-b/0"], ["r1-b/1", "r10-b/1", "r9-b/1"]]


def test_nearby_orders_rooms_as_java_orders_text() -> None:
    emoji, tilde = MessageQueue("T", "\U0001f600-b", 0), MessageQueue("T", "\uff5e-b", 0)
    strategy = MachineRoomNearby(Averagely(), by_prefix="-")
    assert allocate_all(strategy, [tilde, emoji], ["r-x"]).shares == ((emoji, tilde),)
    assert strategy.allocate("r-x", [tilde, emoji], ["r-x"]) == (emoji, tilde)


def test_nearby_asks_for_no_rooms_if_the_client_is_not_listed() -> None:
    assert MachineRoomNearby(Averagely()).allocate("ghost", queues(1), ["c"]) == ()


def test_nearby_leaves_a_client_idle_whose_room_has_no_queues_while_all_others_are_served() -> None:
    strategy = MachineRoomNearby(Averagely(), by_prefix="@")
    assert allocate_all(strategy, queues(2), ["elsewhere@1", "r@1"]).shares == ((), tuple(queues(2)))


def test_nearby_prefers_the_tables_to_the_prefix() -> None:
    strategy = MachineRoomNearby(Averagely(), {"r@b": "x"}, {"c@1": "x"}, "@")
    assert allocate_all(strategy, queues(2), ["c@1", "r@1"]).shares == (tuple(queues(2)), ())


@pytest.mark.parametrize(
    ("broker_rooms", "client_rooms", "message"),
    [
        ({}, {"c": "r"}, "Machine room is null for mq MessageQueue [topic=T, brokerName=r@b, queueId=0]"),
        ({"r@b": ""}, {}, "Machine room is null for mq MessageQueue [topic=T, brokerName=r@b, queueId=0]"),
        ({"r@b": "r"}, {"c": None}, "Machine room is null for consumer id c"),
        ({"r@b": "r"}, {"c": ""}, "Machine room is null for consumer id c"),
    ],
)
def test_nearby_refuses_what_has_no_room_queues_first(
    broker_rooms: dict[str, str | None], client_rooms: dict[str, str | None], message: str
) -> None:
    with pytest.raises(AllocationError, match="IllegalArgumentException") as thrown:
        MachineRoomNearby(Averagely(), broker_rooms, client_rooms).allocate("c", queues(1), ["c"])
    assert thrown.value.message == message


def test_nearby_takes_no_prefix_for_what_a_table_says_has_no_room() -> None:
    with pytest.raises(AllocationError, match="Machine room is null for consumer id r@1"):
        MachineRoomNearby(Averagely(), {}, {"r@1": None}, "@").allocate("r@1", queues(1), ["r@1"])


def test_nearby_cannot_add_an_inner_null() -> None:
    strategy = MachineRoomNearby(ByConfig(None), by_prefix="@")
    with pytest.raises(AllocationError) as thrown:
        strategy.allocate("r@1", queues(1), ["r@1"])
    assert thrown.value.java_class == NULL_POINTER
    with pytest.raises(AllocationError):
        allocate_all(strategy, queues(1), ["r@1"])


def test_nearby_carries_the_inner_name() -> None:
    assert MachineRoomNearby(MachineRoomNearby(Averagely())).name == "MACHINE_ROOM_NEARBY-MACHINE_ROOM_NEARBY-AVG"
