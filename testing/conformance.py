"""Recompute the answers of RocketMQ's own strategy classes: python -m testing.conformance FILE.

It ends with 0 if all answers are equal, 1 if any differs, 2 if the file cannot be read.
"""

import gzip
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from schemas.identity import queue_order
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.strategy import NULL_POINTER, AllocationError
from streaming.core.allocation.together import allocate_all, sort_client_ids, sort_queues
from streaming.errors import SourceError
from testing.vectors import CONSTRUCTOR, Answer, Case, read_case

SHOWN_MISMATCHES = 20
SHOWN_ITEMS = 10

# The file's value or ours: an answer, or ids in their order.
Said = Answer | tuple[str, ...]
# The name of the compared value, the file's value, ours.
Pair = tuple[str, Said, Said]


def run_conformance(path: Path, out: TextIO) -> int:
    """Recompute every case of the file: 0 if all answers are equal, 1 if any differs, 2 if it cannot be read."""
    cases = allocations = mismatches = 0
    try:
        for case in _cases(path):
            cases += 1
            allocations += len(case.expected)
            wrong = [pair for pair in _pairs(case) if not _are_equal(*pair[1:])]
            for pair in wrong[: max(0, SHOWN_MISMATCHES - mismatches)]:
                _show(case, *pair, out)
            mismatches += len(wrong)
        if not cases:
            raise SourceError("it holds no cases")
    except SourceError as fault:
        _print(f"error: {path}: {fault}", out)
        return 2
    print(f"cases {cases}\nallocations {allocations}\nmismatches {mismatches}", file=out)
    return 1 if mismatches else 0


def _cases(path: Path) -> Iterator[Case]:
    for line_number, line in enumerate(_lines(path), start=1):
        if line.isspace():
            continue
        try:
            yield read_case(line)
        except ValueError as fault:
            raise SourceError(f"line {line_number}: {fault}") from fault


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of the file. Its first bytes, not its name, show whether it is compressed."""
    try:
        with path.open("rb") as file:
            compressed = file.peek(2)[:2] == b"\x1f\x8b"
            yield from gzip.GzipFile(fileobj=file) if compressed else file
    except (OSError, EOFError, zlib.error) as fault:
        raise SourceError(f"it cannot be read: {fault}") from fault


def _pairs(case: Case) -> Iterator[Pair]:
    """All values of a case that can be compared."""
    if case.asks_constructor:
        thrown = case.strategy if isinstance(case.strategy, AllocationError) else None
        yield CONSTRUCTOR, case.expected[CONSTRUCTOR], thrown
        return
    answers = {client_id: _answer(case, client_id) for client_id in case.expected}
    for client_id, answer in answers.items():
        yield f"client {json.dumps(client_id)}", case.expected[client_id], answer
    yield from _orders(case)
    yield from _all_at_once(case, answers)
    yield from _sums(case, answers)


def _answer(case: Case, client_id: str) -> Answer:
    """The queues that the client computes from what it sees."""
    strategy = case.strategy
    if isinstance(strategy, AllocationError):
        return strategy
    if isinstance(strategy, ByConfig) and strategy.message_queue_list is None:
        return None
    queues = case.queue_views.get(client_id, case.queues)
    client_ids = case.client_id_views.get(client_id, case.client_ids)
    if case.inputs_are_sorted:
        queues, client_ids = sort_queues(queues), sort_client_ids(client_ids)
    try:
        return strategy.allocate(client_id, queues, client_ids)
    except AllocationError as thrown:
        return thrown


def _orders(case: Case) -> Iterator[Pair]:
    """Sorted lists of the file, and our own order of the same items, mixed: sorting is part of the strategy."""
    if not case.inputs_are_sorted:
        return
    for queues in (case.queues, *case.queue_views.values()):
        yield "order of the queues", queues, sort_queues(reversed(queues))
    for client_ids in (case.client_ids, *case.client_id_views.values()):
        yield "order of the clients", client_ids, sort_client_ids(reversed(client_ids))


def _all_at_once(case: Case, answers: Mapping[str, Answer]) -> Iterator[Pair]:
    """The shares of all clients, which the monitor computes in one pass: they must equal each client's own."""
    thrown = any(isinstance(answer, AllocationError) for answer in answers.values())
    all_see_the_same = case.inputs_are_sorted and not case.queue_views and not case.client_id_views
    if isinstance(case.strategy, AllocationError) or thrown or not all_see_the_same:
        return
    allocation = allocate_all(case.strategy, reversed(case.queues), reversed(case.client_ids))
    for client_id, share in zip(allocation.client_ids, allocation.shares, strict=True):
        yield f"all clients in one pass, {json.dumps(client_id)}", answers[client_id] or (), share


def _sums(case: Case, answers: Mapping[str, Answer]) -> Iterator[Pair]:
    """The queues with two owners and those without one. An id that is listed twice owns twice."""
    owners = Counter(dict.fromkeys(case.queues, 0))
    for client_id in case.client_ids + case.probes:
        answer = answers[client_id]
        owners.update(() if isinstance(answer, AllocationError) else frozenset(answer or ()))
    twice = [queue for queue, number in owners.items() if number > 1]
    nowhere = [queue for queue, number in owners.items() if not number]
    for name, expected, found in (("duplicated", case.duplicated, twice), ("orphaned", case.orphaned, nowhere)):
        if expected is not None:
            yield name, expected, tuple(sorted(found, key=queue_order))


def _are_equal(expected: Said, got: Said) -> bool:
    if not (isinstance(expected, AllocationError) and isinstance(got, AllocationError)):
        return expected == got
    same_message = expected.message == got.message or expected.java_class == NULL_POINTER
    return expected.java_class == got.java_class and same_message


def _show(case: Case, subject: str, expected: Said, got: Said, out: TextIO) -> None:
    start = 0
    if isinstance(expected, tuple) and isinstance(got, tuple):
        shorter = min(len(expected), len(got))
        start = next((index for index in range(shorter) if expected[index] != got[index]), shorter)
    _print(f"mismatch {case.id} {case.name} {case.strategy_name}: {subject}", out)
    _print(f"  expected {_text(expected, start)}", out)
    _print(f"  got      {_text(got, start)}", out)


def _text(said: Said, start: int) -> str:
    """The number of items, and the items from the first difference on."""
    if not isinstance(said, tuple):
        return "null" if said is None else f"throws {said}"
    shown = said[start : start + SHOWN_ITEMS]
    items = [one if isinstance(one, str) else f"{one.topic}/{one.broker_name}/{one.queue_id}" for one in shown]
    words = ["..."] * (start > 0) + items + ["..."] * (start + len(shown) < len(said))
    return " ".join([f"({len(said)})", *words])


def _print(text: str, out: TextIO) -> None:
    """Print ASCII, since ids may hold what a terminal cannot show."""
    print(text.encode("ascii", "backslashreplace").decode(), file=out)


if __name__ == "__main__":
    sys.exit(run_conformance(Path(sys.argv[1]), sys.stdout))
