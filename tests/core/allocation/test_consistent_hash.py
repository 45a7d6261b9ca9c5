"""The ring itself: places, collisions, and that it is kept."""

from array import array

import pytest

from schemas.identity import MessageQueue
from streaming.core.allocation.consistent_hash import ConsistentHash, Ring, place_of, places_of, ring_of
from streaming.core.allocation.strategy import AllocationError
from streaming.core.allocation.together import allocate_all

QUEUES = tuple(MessageQueue("T", "broker-a", number) for number in range(8))
MEMBERS = ("10.0.0.1@1", "10.0.0.2@1", "10.0.0.3@1")


@pytest.fixture(autouse=True)
def _no_ring_is_kept() -> None:
    ring_of.cache_clear()
    places_of.cache_clear()


def test_the_ring_is_built_once_while_members_do_not_change() -> None:
    for topic in ("T", "%RETRY%g", "T2"):
        allocate_all(ConsistentHash(), [queue._replace(topic=topic) for queue in QUEUES], reversed(MEMBERS))
    ConsistentHash().allocate(MEMBERS[0], QUEUES, MEMBERS)
    assert ring_of.cache_info().misses == 1


def test_another_member_or_another_count_is_another_ring() -> None:
    allocate_all(ConsistentHash(), QUEUES, MEMBERS)
    allocate_all(ConsistentHash(), QUEUES, [*MEMBERS, "10.0.0.4@1"])
    allocate_all(ConsistentHash(11), QUEUES, MEMBERS)
    assert ring_of.cache_info().misses == 3


def test_places_of_queues_are_kept_while_the_route_does_not_change() -> None:
    for members in (MEMBERS, MEMBERS[:2], MEMBERS[:1]):
        allocate_all(ConsistentHash(), QUEUES, members)
    assert places_of.cache_info().misses == 1


def test_what_is_kept_is_bounded() -> None:
    assert ring_of.cache_info().maxsize == places_of.cache_info().maxsize == 1024


def test_a_queue_belongs_to_the_node_at_its_place_or_after_and_the_ring_has_no_end() -> None:
    ring = Ring(array("I", [10, 20]), array("I", [1, 0]))
    assert [ring.owner(place) for place in (0, 9, 10, 11, 20, 21, 2**32 - 1)] == [1, 1, 1, 0, 0, 1, 1]


def test_an_empty_ring_gives_nobody_anything() -> None:
    assert Ring(array("I"), array("I")).owner(5) is None
    assert allocate_all(ConsistentHash(0), QUEUES, MEMBERS).shares == ((), (), ())


def test_a_place_is_the_first_four_bytes_of_md5() -> None:
    assert place_of("") == 0xD41D8CD9


def test_half_a_surrogate_pair_hashes_as_a_question_mark_and_two_halves_as_one_character() -> None:
    assert place_of("a\ud800x") == place_of("a?x")
    assert place_of("\ud83d\ude00\udc00") == place_of("\U0001f600?")


def nodes_of(client_id: str) -> set[int]:
    return {place_of(f"{client_id}-{number}") for number in range(2)}


def test_where_two_nodes_meet_the_later_client_stays() -> None:
    first, second = "pc@57324", "pc@74945"
    (met,) = nodes_of(first) & nodes_of(second)
    assert ring_of((first, second), 2).owner(met) == 1
    assert ring_of((second, first), 2).owner(met) == 1


def test_an_id_that_is_listed_twice_has_twice_the_nodes_all_of_the_first_position() -> None:
    ring = ring_of(("x", "x", "y"), 10)
    assert list(ring.owners).count(0) == 20
    assert list(ring.owners).count(2) == 10
    assert {place_of(f"x-{number}") for number in range(20)} <= set(ring.places)


def test_both_clients_of_one_id_own_the_same() -> None:
    allocation = allocate_all(ConsistentHash(), QUEUES, ["x", "x", "y"])
    assert allocation.shares[0] == allocation.shares[1]
    assert {*allocation.shares[0], *allocation.shares[2]} == set(QUEUES)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(AllocationError, match="IllegalArgumentException: illegal virtualNodeCnt :-1"):
        ConsistentHash(-1)
