"""Expected owners are kept, within a bound of memory, as they are asked for again at every evaluation."""

import tracemalloc

import pytest

from streaming.core.evidence.expected_owners import KEPT_ASKS, KEPT_BYTES, KeptOwners

AVG = ("AVG", b"{}")


def asked(number: int, clients: int = 1000, queues: int = 1024) -> tuple[object, ...]:
    """By clients of which one is another each time, as in a deploy; their ids are new strings, as in decoded state."""
    ids = tuple(sorted([f"10.0.0.{index}@{index}#1" for index in range(clients - 1)] + [f"10.1.0.1@{number}#1"]))
    return AVG, "T", (("a", queues),), ids


def test_what_is_asked_again_is_not_computed_again() -> None:
    kept = KeptOwners(1_000_000, KEPT_ASKS)
    assert kept.get(asked(1)) is kept.get(asked(1))  # type: ignore[arg-type]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_large_groups_that_change_all_the_time_keep_within_the_bound() -> None:
    kept = KeptOwners(2_000_000, KEPT_ASKS)
    tracemalloc.start()
    for number in range(20):
        kept.get(asked(number))  # type: ignore[arg-type]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept.weight <= 2_000_000
    assert held < 4_000_000
    assert kept.get(asked(19)) is kept.get(asked(19))  # type: ignore[arg-type]


def test_small_groups_of_a_large_cluster_are_all_kept() -> None:
    kept = KeptOwners(KEPT_BYTES, KEPT_ASKS)
    first = kept.get(asked(0, clients=4, queues=16))  # type: ignore[arg-type]
    for number in range(1, 400):
        kept.get(asked(number, clients=4, queues=16))  # type: ignore[arg-type]
    assert kept.get(asked(0, clients=4, queues=16)) is first  # type: ignore[arg-type]


def test_one_group_may_be_larger_than_the_bound() -> None:
    kept = KeptOwners(1_000, KEPT_ASKS)
    assert len(kept.get(asked(1))) == 1024  # type: ignore[arg-type]


def test_owners_of_clients_that_are_gone_are_dropped() -> None:
    kept = KeptOwners(KEPT_BYTES, most_asks=100)
    stays = kept.get(asked(0, clients=4, queues=16))  # type: ignore[arg-type]
    weight_of_one = kept.weight
    for number in range(1, 1_000):
        kept.get(asked(number, clients=4, queues=16))  # type: ignore[arg-type]
        assert kept.get(asked(0, clients=4, queues=16)) is stays  # type: ignore[arg-type]
    assert kept.weight <= 52 * weight_of_one  # of the last 100 asks half were for others


def test_groups_that_do_not_change_are_kept_however_often_they_are_asked_for() -> None:
    kept = KeptOwners(KEPT_BYTES, most_asks=100)
    first = kept.get(asked(0, clients=4, queues=16))  # type: ignore[arg-type]
    for _ in range(200):
        kept.get(asked(1, clients=4, queues=16))  # type: ignore[arg-type]
    assert kept.get(asked(0, clients=4, queues=16)) is first  # type: ignore[arg-type]
