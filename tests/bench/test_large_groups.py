"""A further member makes a round dearer, but not for every queue."""

import sys
from types import FrameType

import pytest
from msgspec.structs import replace

from bench.large_groups import LARGE_GROUPS, LargeGroup
from bench.taking import ROUND_MS, Taking
from schemas.events import Round
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.step import take

QUEUES = 512
CALLS_A_MEMBER = 300  # fewer than there are queues: nothing is called for each pair of a member and a queue
SHAPES = [
    "large_misplaced",
    "large_orphaned",
    "large_unknown_strategy",
    "large_duplicated",
    "large_stalled",
    "large_half_excluded",
    "large_lists_differ",
    "large_broadcasting_nothing",
    "largest_silent",
]
TOPICS = 32
CALLS_A_TOPIC = 2_600  # of four queues, each with a record for its rules; members and other topics do not count
SHAPES_OF_TOPICS = [
    "large_topics_lists_differ",
    "large_topics_strategies_differ",
    "largest_topics",
]


def dearest_round(group: LargeGroup) -> int:
    """Calls of functions, generators included, in the dearest round."""
    calls = dearest = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    taking = Taking("AllocateMessageQueueAveragely")
    for _ in range(group.turns):
        taking.now += ROUND_MS
        for event in group.events(taking):
            calls = 0
            if isinstance(event, Round):
                sys.setprofile(count)
            try:
                take(taking.group, event)
            finally:
                sys.setprofile(None)
            dearest = max(dearest, calls)
    return dearest


@pytest.mark.deep("rounds of thousands of queues are counted")
@pytest.mark.slow("a short measurement")
@pytest.mark.parametrize("name", SHAPES)
def test_a_round_is_not_queues_times_members(name: str) -> None:
    few, many = 64, 128
    shape = LARGE_GROUPS[name]
    part = {"excluded": few // 2} if shape.excluded else {}
    calls = [dearest_round(replace(shape, queues=QUEUES, clients=clients, **part)) for clients in (few, many)]
    assert calls[1] - calls[0] < CALLS_A_MEMBER * (many - few)


def of_topics(name: str, topics: int, clients: int) -> int:
    shape = LARGE_GROUPS[name]
    leave = clients // 2 if shape.leave else 0
    return dearest_round(replace(shape, topics=topics, queues=4 * topics, clients=clients, leave=leave))


@pytest.mark.deep("rounds of thousands of queues are counted")
@pytest.mark.slow("a short measurement")
@pytest.mark.parametrize("name", SHAPES_OF_TOPICS)
def test_a_round_is_not_topics_times_members(name: str) -> None:
    few, many = 32, 64
    calls = [of_topics(name, TOPICS, clients) for clients in (few, many)]
    assert calls[1] - calls[0] < 2 * CALLS_A_MEMBER * (many - few)


@pytest.mark.deep("rounds of thousands of queues are counted")
@pytest.mark.slow("a short measurement")
@pytest.mark.parametrize("name", [*SHAPES_OF_TOPICS, "large_topics_stalled", "large_topics_unreadable"])
def test_a_further_topic_is_not_dearer_the_more_topics_and_members_there_are(name: str) -> None:
    calls = [of_topics(name, topics, clients=32) for topics in (TOPICS, 2 * TOPICS)]
    assert calls[1] - calls[0] < CALLS_A_TOPIC * TOPICS


@pytest.mark.deep("a short measurement")
def test_a_busy_queue_is_not_searched_among_all_busy_queues_of_its_owner() -> None:
    """A search in a list is one call, however long the list is."""
    taking = Taking("AllocateMessageQueueAveragely")
    shape = replace(LARGE_GROUPS["largest_busy"], queues=QUEUES)
    taking.play(shape.events, turns=2)
    evidence = GroupEvidence(taking.group)
    busy = [evidence.busy(member) for member in evidence.members.values()]
    assert all(isinstance(queues, frozenset) and queues for queues in busy)
