"""One line of a file of vectors: a case with what RocketMQ's own classes answered to it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, Struct, UnsetType, convert

from schemas.identity import MessageQueue
from streaming.core.allocation.strategies import QueueParam, strategy_named
from streaming.core.allocation.strategy import AllocationError, Strategy

Queues = tuple[MessageQueue, ...]
# What a client gets: its queues, an exception, or Java's null.
Answer = Queues | AllocationError | None

CONSTRUCTOR = "constructor"


@dataclass(frozen=True, slots=True)
class Case:
    """A question and its answers, by client id; a case about the constructor asks only that."""

    id: str
    name: str
    strategy_name: str
    strategy: Strategy | AllocationError
    asks_constructor: bool
    inputs_are_sorted: bool
    queues: Queues
    client_ids: tuple[str, ...]
    probes: tuple[str, ...]
    queue_views: Mapping[str, Queues]
    client_id_views: Mapping[str, tuple[str, ...]]
    expected: Mapping[str, Answer]
    duplicated: Queues | None
    orphaned: Queues | None


class _Queue(QueueParam, forbid_unknown_fields=False):
    """Vectors may say more of a queue."""


class _Thrown(Struct, rename={"java_class": "class"}):
    java_class: str
    message: str | None = None


class _Refusal(Struct):
    error: _Thrown


class _Line(Struct, rename="camel"):
    case: str
    id: str
    strategy: str
    params: dict[str, Any]
    expected: dict[str, Any]
    sorted: bool = True
    queues: list[_Queue] | UnsetType = UNSET
    client_ids: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    queue_views: dict[str, list[_Queue]] = {}
    client_id_views: dict[str, tuple[str, ...]] = {}
    duplicated: list[_Queue] | None = None
    orphaned: list[_Queue] | None = None


def read_case(text: bytes) -> Case:
    """Raises ValueError naming the fault if the line is not a case."""
    try:
        line = convert(json.loads(text), _Line)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return Case(
        id=line.id,
        name=line.case,
        strategy_name=line.strategy,
        strategy=_constructed(line),
        asks_constructor=line.queues is UNSET,
        inputs_are_sorted=line.sorted,
        queues=_queues(line.queues or ()),
        client_ids=line.client_ids,
        probes=line.probes,
        queue_views={client_id: _queues(view) for client_id, view in line.queue_views.items()},
        client_id_views=line.client_id_views,
        expected=_expected(line),
        duplicated=None if line.duplicated is None else _queues(line.duplicated),
        orphaned=None if line.orphaned is None else _queues(line.orphaned),
    )


def _constructed(line: _Line) -> Strategy | AllocationError:
    try:
        return strategy_named(line.strategy, line.params)
    except AllocationError as thrown:
        return thrown


def _expected(line: _Line) -> dict[str, Answer]:
    if line.queues is UNSET:
        return {CONSTRUCTOR: _answer(line.expected)}
    asked = {*line.client_ids, *line.probes}
    for client_id in sorted(asked ^ line.expected.keys()):
        raise ValueError(f"client {client_id!r} must be both asked and in `expected`")
    for client_id in sorted((line.queue_views.keys() | line.client_id_views.keys()) - asked):
        raise ValueError(f"client {client_id!r} has a view, but is not asked")
    return {client_id: _answer(answer) for client_id, answer in line.expected.items()}


def _answer(given: object) -> Answer:
    answer = convert(given, list[_Queue] | _Refusal | None)
    if isinstance(answer, _Refusal):
        return AllocationError(answer.error.java_class, answer.error.message or "")
    return None if answer is None else _queues(answer)


def _queues(listed: Iterable[_Queue]) -> Queues:
    return tuple(one.queue() for one in listed)
