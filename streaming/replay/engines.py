"""Two ways to the same facts: the core alone, in about a second, and the whole Spark job with its tables."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from schemas.codec import MAX_EVENT_BYTES, QUARANTINED_BYTES
from schemas.facts import EvaluationFailedFact, Fact, QuarantineFact
from streaming.core.settings import Settings
from streaming.core.shard import Record, fold
from streaming.replay.alerts import Transition, transitions

EVENTS_FILE = "events.jsonl"


class Outcome(NamedTuple):
    """What came of a replay."""

    transitions: list[Transition]
    groups: int
    quarantined: int
    failed_evaluations: int
    tables: Path | None = None


def run_core(records: Iterable[bytes], settings: Settings) -> Outcome:
    """Fold in this process, as one shard: no Spark, no tables."""
    return outcome_of(core_facts(records, settings))


def core_facts(records: Iterable[bytes], settings: Settings) -> list[Fact]:
    """The facts of events in the order that files have: that of their ``seq``."""
    ordered = sorted(map(_numbered, records), key=lambda one: one[0])
    return fold(None, (_record(seq, value) for seq, value in ordered), settings).facts


class _Seq(Struct):
    seq: int = -1


_seq_decoder = msgspec.json.Decoder(_Seq)


def _numbered(value: bytes) -> tuple[int, bytes]:
    """A line without a readable number comes before all others, as in Spark: it is only to be quarantined."""
    try:
        return _seq_decoder.decode(value).seq, value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return -1, value


def _record(seq: int, value: bytes) -> Record:
    whole = len(value) <= MAX_EVENT_BYTES
    kept, digest = (value, None) if whole else (value[:QUARANTINED_BYTES], sha256(value).hexdigest())
    return Record(None, kept, len(value), digest, None, EVENTS_FILE, None, seq)


def outcome_of(facts: list[Fact], tables: Path | None = None) -> Outcome:
    return Outcome(
        transitions=transitions(facts),
        groups=len({(fact.cluster, fact.group) for fact in facts if not isinstance(fact.payload, QuarantineFact)}),
        quarantined=sum(isinstance(fact.payload, QuarantineFact) for fact in facts),
        failed_evaluations=sum(isinstance(fact.payload, EvaluationFailedFact) for fact in facts),
        tables=tables,
    )
