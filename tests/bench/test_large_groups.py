"""A further member makes a round dearer, but not for every queue."""

import sys
from types import FrameType

import pytest
from msgspec.structs import replace

from bench.large_groups import LARGE_GROUPS, LargeGroup
from bench.taking import ROUND_MS, Taking
from schemas.events import Round
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


@pytest.mark.parametrize("name", SHAPES)
def test_a_round_is_not_queues_times_members(name: str) -> None:
    few, many = 64, 128
    shape = LARGE_GROUPS[name]
    part = {"excluded": few // 2} if shape.excluded else {}
    calls = [dearest_round(replace(shape, queues=QUEUES, clients=clients, **part)) for clients in (few, many)]
    assert calls[1] - calls[0] < CALLS_A_MEMBER * (many - few)
