"""What holds of the strategies for any input, or fails to hold only in the documented way."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom, room_of
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategy import AllocationError, Strategy
from streaming.core.allocation.together import Allocation, allocate_all, sort_client_ids, sort_queues

for_any = settings(deadline=None, max_examples=60)

# Few letters, so that ids resemble each other; among them some that Java sorts unlike Python, and lone surrogates.
LETTERS = st.sampled_from("ab1@-\uff5e\U0001f600\ud800\udc00")
NAMES = st.text(LETTERS, min_size=1, max_size=4)
ROOMS = st.sampled_from(["", "r1", "r2", "r3", "\uff5e", "\U0001f600"])
BROKERS = st.builds("{}{}{}".format, ROOMS, st.sampled_from(["@", "-", "@@"]), st.sampled_from(["", "a", "b@", "c@d"]))
QUEUES = st.lists(
    st.builds(MessageQueue, st.sampled_from(["T", "\uff5e"]), BROKERS | NAMES, st.integers(0, 12)),
    min_size=1,
    max_size=25,
    unique=True,
)
CLIENT_IDS = st.lists(NAMES, min_size=1, max_size=9, unique=True)
SPREADING: st.SearchStrategy[Strategy] = st.one_of(
    st.just(Averagely()), st.just(AveragelyByCircle()), st.builds(ConsistentHash, st.integers(1, 12))
)
PLAIN: st.SearchStrategy[Strategy] = st.one_of(
    SPREADING,
    st.just(ConsistentHash(0)),
    st.builds(ByMachineRoom, st.none() | st.frozensets(ROOMS)),
    st.builds(ByConfig, st.none() | QUEUES.map(tuple)),
)


def around(inner: st.SearchStrategy[Strategy]) -> st.SearchStrategy[Strategy]:
    rooms = st.dictionaries(BROKERS | NAMES, st.none() | ROOMS, max_size=3)
    return st.builds(MachineRoomNearby, inner, rooms, rooms, st.sampled_from(["", "-", "@"]))


ANY = st.recursive(PLAIN, around, max_leaves=3)


def owners_of(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> dict[MessageQueue, str]:
    allocation = allocate_all(strategy, queues, client_ids)
    return {queue: i for i, share in zip(allocation.client_ids, allocation.shares, strict=True) for queue in share}


def times_owned(shares: Sequence[Sequence[MessageQueue]]) -> Counter[MessageQueue]:
    return Counter(queue for share in shares for queue in share)


def answer(
    strategy: Strategy, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> tuple[MessageQueue, ...] | str:
    try:
        return strategy.allocate(client_id, queues, client_ids)
    except AllocationError as thrown:
        return str(thrown)


def answer_in_one_pass(
    strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> Allocation | str:
    try:
        return allocate_all(strategy, queues, client_ids)
    except AllocationError as thrown:
        return str(thrown)


@settings(deadline=None, max_examples=250)
@given(ANY, st.just([]) | QUEUES, st.lists(NAMES | st.just(""), max_size=9))
@pytest.mark.slow("minutes and hours of a group are folded")
def test_one_pass_says_what_each_client_says(
    strategy: Strategy, queues: list[MessageQueue], client_ids: list[str]
) -> None:
    listed = sort_client_ids(client_ids)
    answers = [answer(strategy, client_id, sort_queues(queues), listed) for client_id in listed]
    thrown = [said for said in answers if isinstance(said, str)]

    at_once = answer_in_one_pass(strategy, queues, client_ids)

    if thrown:
        assert at_once in thrown
    else:
        assert isinstance(at_once, Allocation)
        assert (at_once.client_ids, list(at_once.shares)) == (listed, answers)


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(SPREADING, QUEUES, CLIENT_IDS)
def test_every_queue_has_one_owner(strategy: Strategy, queues: list[MessageQueue], client_ids: list[str]) -> None:
    shares = allocate_all(strategy, queues, client_ids).shares
    assert times_owned(shares) == Counter(queues)


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(st.sampled_from([Averagely(), AveragelyByCircle()]), QUEUES, CLIENT_IDS)
def test_shares_differ_by_at_most_one_queue(
    strategy: Strategy, queues: list[MessageQueue], client_ids: list[str]
) -> None:
    sizes = [len(share) for share in allocate_all(strategy, queues, client_ids).shares]
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(QUEUES, CLIENT_IDS)
def test_slices_in_order_of_the_clients_are_the_queues_in_order(
    queues: list[MessageQueue], client_ids: list[str]
) -> None:
    shares = allocate_all(Averagely(), queues, client_ids).shares
    assert sum(shares, ()) == sort_queues(queues)


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(ANY, st.data())
def test_order_of_the_input_does_not_matter(strategy: Strategy, data: st.DataObject) -> None:
    queues, client_ids = data.draw(QUEUES), data.draw(CLIENT_IDS)
    other_queues, other_ids = data.draw(st.permutations(queues)), data.draw(st.permutations(client_ids))
    assert answer_in_one_pass(strategy, other_queues, other_ids) == answer_in_one_pass(strategy, queues, client_ids)


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(st.sampled_from([Averagely(), AveragelyByCircle()]), QUEUES, CLIENT_IDS, st.data())
def test_two_clients_with_one_id_double_the_first_share_and_orphan_the_next(
    strategy: Strategy, queues: list[MessageQueue], client_ids: list[str], data: st.DataObject
) -> None:
    doubled = data.draw(st.sampled_from(client_ids))
    listed = sort_client_ids([*client_ids, doubled])
    first = listed.index(doubled)
    unhindered = strategy.shares(sort_queues(queues), listed)

    owned = times_owned(allocate_all(strategy, queues, [*client_ids, doubled]).shares)

    assert all(owned[queue] == 2 for queue in unhindered[first])
    assert all(owned[queue] == 0 for queue in unhindered[first + 1])
    others = set(queues) - {*unhindered[first], *unhindered[first + 1]}
    assert all(owned[queue] == 1 for queue in others)


def test_of_two_clients_with_one_id_both_own_the_first_half() -> None:
    queues = [MessageQueue("T", "broker-a", number) for number in range(4)]
    allocation = allocate_all(Averagely(), queues, ["x", "x"])
    assert allocation.client_ids == ("x", "x")
    assert allocation.shares == (tuple(queues[:2]), tuple(queues[:2]))


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(st.integers(1, 12), QUEUES, CLIENT_IDS, NAMES)
def test_consistent_hash_moves_only_queues_to_who_joins_and_from_who_leaves(
    virtual_node_cnt: int, queues: list[MessageQueue], client_ids: list[str], joining: str
) -> None:
    strategy = ConsistentHash(virtual_node_cnt)
    without = owners_of(strategy, queues, [client_id for client_id in client_ids if client_id != joining])
    having = owners_of(strategy, queues, list({*client_ids, joining}))
    assert all(having[queue] in (joining, owner) for queue, owner in without.items())


@for_any
@given(st.frozensets(ROOMS), QUEUES, CLIENT_IDS)
def test_machine_room_shares_out_the_queues_of_its_rooms_and_no_others(
    rooms: frozenset[str], queues: list[MessageQueue], client_ids: list[str]
) -> None:
    shares = allocate_all(ByMachineRoom(rooms), queues, client_ids).shares
    assert times_owned(shares) == Counter(queue for queue in queues if room_of(queue.broker_name) in rooms)
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(SPREADING, QUEUES, CLIENT_IDS, st.data())
def test_nearby_gives_every_queue_one_owner_and_one_of_its_room_where_there_is_one(
    inner: Strategy, queues: list[MessageQueue], client_ids: list[str], data: st.DataObject
) -> None:
    room = ROOMS.filter(bool)
    broker_rooms = {queue.broker_name: data.draw(room) for queue in queues}
    client_rooms = {client_id: data.draw(room) for client_id in client_ids}
    strategy = MachineRoomNearby(inner, broker_rooms, client_rooms)

    owners = owners_of(strategy, queues, client_ids)

    assert times_owned(allocate_all(strategy, queues, client_ids).shares) == Counter(queues)
    for queue, owner in owners.items():
        room_of_queue = broker_rooms[queue.broker_name]
        assert client_rooms[owner] == room_of_queue or room_of_queue not in client_rooms.values()


@pytest.mark.slow("minutes and hours of a group are folded")
@for_any
@given(st.none() | QUEUES.map(tuple), QUEUES, CLIENT_IDS)
def test_config_gives_its_list_to_everyone(
    listed: tuple[MessageQueue, ...] | None, queues: list[MessageQueue], client_ids: list[str]
) -> None:
    assert set(allocate_all(ByConfig(listed), queues, client_ids).shares) == {listed or ()}
