"""Two ways to the same facts: the core alone, in about a second, and the whole Spark job with its tables."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from schemas.facts import EvaluationFailedFact, Fact, QuarantineFact
from schemas.records import MAX_RECORD_BYTES, QUARANTINED_BYTES
from streaming.core.settings import Settings
from streaming.core.shard import Record, fold
from streaming.replay.alert_transitions import AlertTransition, transitions

EVENTS_FILE = "events.jsonl"
PROGRESS_EVERY_EVENTS = 1_000

T = TypeVar("T")
OnProgress = Callable[[int, int | None, str], None]


class Outcome(NamedTuple):
    """The result of a replay."""

    transitions: list[AlertTransition]
    groups: int
    quarantined: int
    failed_evaluations: int
    tables: Path | None = None


def run_core(records: Iterable[bytes], settings: Settings, on_progress: OnProgress = lambda *_: None) -> Outcome:
    """Fold the records in this process as one shard, without Spark and tables.

    ``on_progress`` gets the number done, the number of all (None: not known), and their name.
    """
    return outcome_of(core_facts(records, settings, on_progress))


def core_facts(records: Iterable[bytes], settings: Settings, on_progress: OnProgress = lambda *_: None) -> list[Fact]:
    """The facts of events in the order of their ``seq``, as in files."""
    read = _counted(map(_numbered, records), lambda count: on_progress(count, None, "events read"))
    ordered = sorted(read, key=lambda one: one[0])
    judged = _counted(ordered, lambda count: on_progress(count, len(ordered), "events judged"))
    return fold(None, (_record(seq, value) for seq, value in judged), settings).facts


def _counted(items: Iterable[T], on_progress: Callable[[int], None]) -> Iterator[T]:
    for count, item in enumerate(items, 1):
        if count % PROGRESS_EVERY_EVENTS == 0:
            on_progress(count)
        yield item


class _Seq(Struct):
    seq: int = -1


_seq_decoder = msgspec.json.Decoder(_Seq | list[_Seq])


def _numbered(value: bytes) -> tuple[int, bytes]:
    """The number of a line: ``seq`` of its first event. One without it comes first, as in Spark; it is quarantined."""
    try:
        head = _seq_decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return -1, value
    first = (head or [_Seq()])[0] if isinstance(head, list) else head
    return first.seq, value


def _record(seq: int, value: bytes) -> Record:
    whole = len(value) <= MAX_RECORD_BYTES
    kept, digest = (value, None) if whole else (value[:QUARANTINED_BYTES], sha256(value).hexdigest())
    return Record(None, kept, len(value), digest, None, EVENTS_FILE, None, seq)


def outcome_of(facts: list[Fact], tables: Path | None = None) -> Outcome:
    return Outcome(
        transitions=transitions(facts),
        groups=len({(fact.cluster, fact.group) for fact in facts if not isinstance(fact.payload, QuarantineFact)}),
        quarantined=sum(fact.payload.events for fact in facts if isinstance(fact.payload, QuarantineFact)),
        failed_evaluations=sum(isinstance(fact.payload, EvaluationFailedFact) for fact in facts),
        tables=tables,
    )
