"""Who may pop what: the answers of a real broker, and what holds for any group.

The vectors are what a broker of 5.3.3 answered to QUERY_ASSIGNMENT (400), written by ``python -m
tests.real.pop_assignments``.
"""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events import ANY_QUEUE
from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely
from streaming.core.allocation.popping import BY_BROKERS, allocate_pop, poppers
from streaming.core.allocation.strategy import AllocationError
from tests.real.pop_assignments import PopVector

VECTORS = Path(__file__).parent / "pop_vectors.jsonl"
STRATEGIES = {strategy.name: strategy for strategy in BY_BROKERS}


def vectors() -> list[PopVector]:
    return [msgspec.json.decode(line, type=PopVector) for line in VECTORS.read_bytes().splitlines()]


@pytest.mark.parametrize("vector", vectors(), ids=PopVector.__str__)
def test_a_real_broker_answers_the_same(vector: PopVector) -> None:
    if vector.strategy not in STRATEGIES:
        assert set(vector.assigned.values()) == {None}
        return
    allocated = allocate_pop(
        STRATEGIES[vector.strategy], vector.message_queues, reversed(vector.client_ids), vector.share_queue_num
    )
    for client_id, share in zip(allocated.client_ids, allocated.shares, strict=True):
        assert sorted((queue.broker_name, queue.queue_id) for queue in share) == vector.assigned[client_id]


def test_vectors_cover_each_way() -> None:
    shapes = {
        (len(v.client_ids) > len(v.message_queues), 0 < v.share_queue_num < len(v.client_ids) - 1) for v in vectors()
    }
    assert len(shapes) == 4
    assert any(len(set(v.client_ids)) < len(v.client_ids) for v in vectors())
    assert {v.strategy for v in vectors()} > set(STRATEGIES)


QUEUES = st.lists(
    st.builds(MessageQueue, st.just("T"), st.sampled_from("ab"), st.integers(0, 9)),
    min_size=1,
    max_size=12,
    unique=True,
)
CLIENT_IDS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=9, unique=True)
GROUPS = st.tuples(st.sampled_from(BY_BROKERS), QUEUES, CLIENT_IDS, st.integers(-1, 10))


@pytest.mark.slow("minutes and hours of a group are folded")
@settings(deadline=None, max_examples=100)
@given(GROUPS)
def test_every_queue_has_as_many_poppers_as_the_setting_says(group) -> None:  # type: ignore[no-untyped-def]
    strategy, queues, client_ids, number = group
    allocated = allocate_pop(strategy, queues, client_ids, number)
    numbers = {len(poppers(allocated, queue)) for queue in queues}
    if not 0 < number < len(client_ids) - 1:
        assert numbers == {len(client_ids)}
        assert {queue.queue_id for share in allocated.shares for queue in share} == {ANY_QUEUE}
    elif len(client_ids) <= len(queues):
        assert numbers == {number + 1}
    else:
        assert max(numbers) - min(numbers) <= 1
        assert sum(len(share) for share in allocated.shares) == len(client_ids)


@settings(deadline=None, max_examples=50)
@given(GROUPS)
def test_every_client_has_something_to_pop(group) -> None:  # type: ignore[no-untyped-def]
    assert all(allocate_pop(*group).shares)


def test_an_id_that_is_listed_twice_may_leave_a_queue_to_nobody() -> None:
    """Both instances take the share of its first entry, and its first entry is also the one after itself."""
    queues = [MessageQueue("T", "b", n) for n in range(4)]
    allocated = allocate_pop(Averagely(), queues, ["x", "x", "y", "z"], 1)
    assert {queue.queue_id: poppers(allocated, queue) for queue in queues} == {
        0: ("x", "z"), 1: (), 2: ("y",), 3: ("y", "z"),
    }  # fmt: skip


def test_without_queues_the_broker_fails() -> None:
    assert allocate_pop(Averagely(), [], ["x"], 0).shares == ((),)
    for clients, number in ((["x", "y", "z"], 1), ([], 1)):
        if clients:
            with pytest.raises(AllocationError):
                allocate_pop(Averagely(), [], clients, number)
        else:
            assert allocate_pop(Averagely(), [], clients, number).shares == ()
