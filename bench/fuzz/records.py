"""Records of real groups, damaged, through what the job does with a record."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from bench.fuzz.folding import FoldedShard, watched
from bench.fuzz.mutations import damaged
from schemas.events import AnyEvent, Forget, Round, encode_event
from schemas.records import MAX_RECORD_BYTES, decode_record, group_key, record_values
from streaming.core.shard import Record
from streaming.replay.recording import Recording

BATCH = 100
ORIGINALS = 0.5  # of the records that are damaged, those that come as they are, too
RECORDINGS = Path("streaming/demo/recordings")
TOPIC = "fuzz"


class Seed(NamedTuple):
    """A record as it is, and the time of its last event."""

    key: bytes
    value: bytes
    ts: int


def seeds() -> list[Seed]:
    """The records of recordings, by old producers and by new ones, with operators' records between them."""
    found: list[Seed] = []
    for path in sorted(RECORDINGS.glob("*.gz")):
        for confirms in (True, False):
            cluster = f"{path.name.partition('.')[0]}-{'new' if confirms else 'old'}"
            found += _records(Recording(path, print, cluster).events(confirms=confirms))
    return found


def _records(events: Iterator[AnyEvent]) -> Iterator[Seed]:
    """As a collector joins them: those of a round in one record."""
    unfinished: dict[bytes, list[bytes]] = {}
    rounds = 0
    for event in events:
        key = group_key(event.cluster, event.group).encode()
        unfinished.setdefault(key, []).append(encode_event(event))
        if isinstance(event, Round):
            rounds += 1
            for joined in record_values(unfinished.pop(key)):
                yield Seed(key, joined.value, event.ts)
            if rounds % 50 == 0:
                forget = Forget(
                    schema=1, cluster=event.cluster, group=event.group, ts=event.ts, round=0, seq=0, source="forget"
                )
                yield Seed(key, encode_event(forget), event.ts)


def fuzz_records(number: int, seed: int, note: Callable[[int], None]) -> dict[str, float]:
    """``note`` is called with how many have been taken, after each batch. Raises what evenkeel must not raise."""
    shard, known, slowest, taken = FoldedShard(), seeds(), [0.0], 0
    batch = 0
    while taken < number:
        at = batch * BATCH % len(known)
        if at < BATCH:
            shard.forget()  # the recordings begin again
        random = Random(f"{seed}/{batch}")
        made = list(_damaged(known[at : at + BATCH], known, random, number - taken))
        records = [record._replace(offset=offset) for offset, (record, _) in enumerate(made)]
        before = shard.counts["events"] + shard.counts["quarantined"]
        try:
            with watched(slowest):
                shard.take(records)
        except Exception as error:
            raise RuntimeError(f"batch {batch} of seed {seed}: {_culprit(records) or records!r}"[:4_000]) from error
        assert shard.counts["events"] + shard.counts["quarantined"] - before >= len(records), f"batch {batch}"
        taken += sum(is_damaged for _, is_damaged in made)
        batch += 1
        note(taken)
    return {"records": taken, "slowest_batch_s": round(slowest[0], 3), **shard.counts}


def _damaged(some: list[Seed], known: list[Seed], random: Random, most: int) -> Iterator[tuple[Record, bool]]:
    for one in some[:most]:
        if random.random() < ORIGINALS:
            yield _record(one.key, one.value, one.ts), False
        key, value, ts = one.key, damaged(one.value, random.choice(known).value, random), one.ts
        kind = random.randrange(50)
        if kind == 0:
            key = damaged(key, random.choice(known).key, random)
        elif kind == 1:
            ts += random.choice((-1, 1)) * random.choice((1, 10**6, 10**15))
        record = _record(key, value, ts)
        yield record._replace(value=None) if kind == 2 else record._replace(key=None) if kind == 3 else record, True


def _record(key: bytes, value: bytes, ts: int) -> Record:
    """As the job reads it from Kafka: a value that is too long is cut."""
    length = len(value)
    return Record(key, value[:MAX_RECORD_BYTES], length, None, ts, TOPIC, 0, 0)


def _culprit(records: list[Record]) -> Record | None:
    """The record that alone raises an error, in decoding or in a group without state."""
    for record in records:
        try:
            decode_record(record.key, record.value, record.length, record.arrival_ts)
            FoldedShard().take([record])
        except Exception:
            return record
    return None
