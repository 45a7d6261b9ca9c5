"""Checks our strategies against answers of RocketMQ's own classes: ``evenkeel conformance FILE``."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from schemas.identity import MessageQueue, queue_order
from streaming.core.allocation import AllocationError, ByConfig, allocate_all, sort_client_ids, sort_queues
from streaming.core.allocation.java import NULL_POINTER
from streaming.core.allocation.vectors import CONSTRUCTOR, Answer, Case, Queues, read_case

SHOWN_MISMATCHES = 20
SHOWN_ITEMS = 10

# The file's value or ours: an answer, or ids in their order.
Said = Answer | tuple[str, ...]
# The name of the compared value, the file's value, ours.
Pair = tuple[str, Said, Said]


class UnreadableError(Exception):
    """The file, or one line of it, cannot be read."""


@dataclass(slots=True)
class _Score:
    cases: int = 0
    allocations: int = 0
    mismatches: int = 0


def run_conformance(path: Path, out: TextIO) -> int:
    """Recompute every case of the file: 0 if all answers are equal, 1 if any differs, 2 if it cannot be read."""
    score = _Score()
    try:
        for case in _cases(path):
            _count(case, score, out)
        if not score.cases:
            raise UnreadableError("it holds no cases")
    except UnreadableError as fault:
        print(_printable(f"error: {path}: {fault}"), file=out)
        return 2
    print(f"cases {score.cases}\nallocations {score.allocations}\nmismatches {score.mismatches}", file=out)
    return 1 if score.mismatches else 0


def _cases(path: Path) -> Iterator[Case]:
    for line_number, line in enumerate(_lines(path), start=1):
        if line.isspace():
            continue
        try:
            yield read_case(line)
        except ValueError as fault:
            raise UnreadableError(f"line {line_number}: {fault}") from fault


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of the file. Its first bytes, not its name, show whether it is compressed."""
    try:
        with path.open("rb") as file:
            compressed = file.peek(2)[:2] == b"\x1f\x8b"
            yield from gzip.GzipFile(fileobj=file) if compressed else file
    except (OSError, EOFError, zlib.error) as fault:
        raise UnreadableError(f"it cannot be read: {fault}") from fault


def _count(case: Case, score: _Score, out: TextIO) -> None:
    score.cases += 1
    score.allocations += len(case.expected)
    for subject, expected, got in _pairs(case):
        if not _are_equal(expected, got):
            score.mismatches += 1
            if score.mismatches <= SHOWN_MISMATCHES:
                _show(case, subject, expected, got, out)


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
    """Sorted lists of the file, and our own order of the same items in another order: sorting is part of the
    strategy.
    """
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
    if case.duplicated is not None:
        yield "duplicated", case.duplicated, _sorted_where(owners, lambda count: count > 1)
    if case.orphaned is not None:
        yield "orphaned", case.orphaned, _sorted_where(owners, lambda count: count == 0)


def _sorted_where(owners: Counter[MessageQueue], holds: Callable[[int], bool]) -> Queues:
    return tuple(sorted((queue for queue, count in owners.items() if holds(count)), key=queue_order))


def _are_equal(expected: Said, got: Said) -> bool:
    if not (isinstance(expected, AllocationError) and isinstance(got, AllocationError)):
        return expected == got
    same_message = expected.message == got.message or expected.java_class == NULL_POINTER
    return expected.java_class == got.java_class and same_message


def _show(case: Case, subject: str, expected: Said, got: Said, out: TextIO) -> None:
    start = _first_difference(expected, got) if isinstance(expected, tuple) and isinstance(got, tuple) else 0
    print(_printable(f"mismatch {case.id} {case.name} {case.strategy_name}: {subject}"), file=out)
    print(_printable(f"  expected {_text(expected, start)}"), file=out)
    print(_printable(f"  got      {_text(got, start)}"), file=out)


def _first_difference(expected: tuple[object, ...], got: tuple[object, ...]) -> int:
    shorter = min(len(expected), len(got))
    return next((index for index in range(shorter) if expected[index] != got[index]), shorter)


def _text(said: Said, start: int) -> str:
    """The number of items, and the items from the first difference on."""
    if not isinstance(said, tuple):
        return "null" if said is None else f"throws {said}"
    shown = said[start : start + SHOWN_ITEMS]
    words = ["..."] * (start > 0) + [_item(item) for item in shown] + ["..."] * (start + len(shown) < len(said))
    return " ".join([f"({len(said)})", *words])


def _item(item: MessageQueue | str) -> str:
    return item if isinstance(item, str) else f"{item.topic}/{item.broker_name}/{item.queue_id}"


def _printable(text: str) -> str:
    """ASCII, since ids may hold what a terminal cannot show."""
    return text.encode("ascii", "backslashreplace").decode()
