"""Every answer of RocketMQ's own classes, errors and order included."""

import gzip
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from streaming.core.allocation.strategy import NULL_POINTER, AllocationError, Strategy
from streaming.core.allocation.together import Allocation, allocate_all, sort_client_ids, sort_queues
from testing.vectors import CONSTRUCTOR, Answer, Case, read_case

VECTORS = Path(__file__).parent / "vectors.jsonl.gz"
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONFIG", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY")


def answer(case: Case, client_id: str) -> Answer:
    if isinstance(case.strategy, AllocationError):
        return case.strategy
    queues = case.queue_views.get(client_id, case.queues)
    client_ids = case.client_id_views.get(client_id, case.client_ids)
    if case.inputs_are_sorted:
        queues, client_ids = sort_queues(reversed(queues)), sort_client_ids(reversed(client_ids))
    try:
        return case.strategy.allocate(client_id, queues, client_ids)
    except AllocationError as thrown:
        return thrown


@cache
def answered() -> list[tuple[Case, dict[str, Answer]]]:
    """Every case, and what our strategies say to it."""
    with gzip.open(VECTORS) as lines:
        cases = list(map(read_case, lines))
    return [(case, {client_id: answer(case, client_id) for client_id in case.expected}) for case in cases]


def comparable(said: Answer) -> object:
    """Null is taken as empty by the client; a NullPointerException's message depends on the JVM."""
    if not isinstance(said, AllocationError):
        return said or ()
    return said.java_class if said.java_class == NULL_POINTER else (said.java_class, said.message)


def in_one_pass(strategy: Strategy, case: Case) -> Allocation | AllocationError:
    try:
        return allocate_all(strategy, reversed(case.queues), reversed(case.client_ids))
    except AllocationError as thrown:
        return thrown


@pytest.mark.slow("minutes and hours of a group are folded")
def test_the_vectors_are_all_there() -> None:
    cases = [case for case, _ in answered()]
    assert len(cases) == 1021
    assert sum(len(case.expected) for case in cases if not case.asks_constructor) == 5332
    assert {case.strategy_name for case in cases} == set(STRATEGIES)


@pytest.mark.parametrize("strategy_name", STRATEGIES)
def test_every_client_gets_what_java_gives_it(strategy_name: str) -> None:
    wrong = [
        (case.id, case.name, client_id, expected, answers[client_id])
        for case, answers in answered()
        for client_id, expected in case.expected.items()
        if case.strategy_name == strategy_name and comparable(answers[client_id]) != comparable(expected)
    ]
    assert not wrong, f"{len(wrong)} answers differ, the first: {wrong[0]}"


@pytest.mark.parametrize("strategy_name", STRATEGIES)
def test_one_pass_gives_every_client_what_java_gives_it(strategy_name: str) -> None:
    for case, _ in answered():
        clients_differ = case.queue_views or case.client_id_views or not case.inputs_are_sorted
        if case.strategy_name != strategy_name or isinstance(case.strategy, AllocationError) or clients_differ:
            continue
        expected = [comparable(case.expected[client_id]) for client_id in case.client_ids]
        got = in_one_pass(case.strategy, case)
        if isinstance(got, AllocationError):
            assert comparable(got) in expected, case.id
        else:
            assert (got.client_ids, list(got.shares)) == (case.client_ids, expected), case.id


def test_the_constructor_throws_what_javas_does() -> None:
    ((case, answers),) = [pair for pair in answered() if pair[0].asks_constructor]
    assert isinstance(case.strategy, AllocationError)
    assert comparable(answers[CONSTRUCTOR]) == comparable(case.expected[CONSTRUCTOR])


def test_queues_with_two_owners_and_with_none_are_the_same() -> None:
    for case, answers in answered():
        owners: Counter[object] = Counter(dict.fromkeys(case.queues, 0))
        for client_id in case.client_ids + case.probes:
            said = answers[client_id]
            owners.update(frozenset(() if isinstance(said, AllocationError) else said or ()))
        if case.duplicated is not None:
            assert {queue for queue, count in owners.items() if count > 1} == set(case.duplicated), case.id
        if case.orphaned is not None:
            assert {queue for queue, count in owners.items() if count == 0} == set(case.orphaned), case.id
