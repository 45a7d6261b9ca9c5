"""A shard: many groups in one blob, of which only those with events are decoded.

The blob is a map from ``cluster/group`` to the group's packed state and the time of its newest event.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Struct

from schemas.codec import QUARANTINED_BYTES, Rejected, decode_record
from schemas.events import AnyEvent, Round
from schemas.facts import Fact, QuarantineFact
from schemas.identity import group_key
from streaming.core.group import Group
from streaming.core.seed import SEED_TOPIC, plant
from streaming.core.settings import Settings
from streaming.core.state import new_state, pack, unpack
from streaming.core.step import Origin, Refused, take
from streaming.errors import StateVersionError


class Record(NamedTuple):
    """One Kafka record or file line, in order of arrival.

    ``length`` is the whole value's; ``value`` may be cut, and then ``sha256`` is that of the whole. ``arrival_ts`` is
    Kafka's timestamp in ms, None in files. ``offset`` is Kafka's, or a file line's ``seq``.
    """

    key: bytes | None
    value: bytes | None
    length: int
    sha256: str | None
    arrival_ts: int | None
    topic: str | None
    partition: int | None
    offset: int | None


class Tally(Struct):
    """What one fold saw of one cluster."""

    cluster: str
    events: int = 0
    rounds: int = 0
    groups: int = 0
    quarantined: int = 0
    brokers_unanswered: int = 0
    newest_round_ts: int | None = None


class Folded(NamedTuple):
    blob: bytes
    facts: list[Fact]
    tallies: list[Tally]


class _Kept(Struct, array_like=True):
    newest_ts: int
    packed: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, _Kept]).decode


def _unpack(blob: bytes) -> dict[str, _Kept]:
    try:
        return _decode(blob)
    except msgspec.MsgspecError as error:
        raise StateVersionError(
            "the checkpoint holds state that this evenkeel cannot read: run 'evenkeel reseed' to begin a new "
            "checkpoint that keeps the open alerts"
        ) from error


def fold(blob: bytes | None, records: Iterable[Record], settings: Settings) -> Folded:
    """Fold records into a shard's state. Raises StateVersionError for state of an unknown version."""
    work = _Fold(blob, settings)
    for record in records:
        work.take(record)
    return work.finish()


class _Fold:
    def __init__(self, blob: bytes | None, settings: Settings) -> None:
        self.settings = settings
        self.kept: dict[str, _Kept] = {} if blob is None else _unpack(blob)
        self.groups: dict[str, Group] = {}
        self.newest: dict[str, int] = {}
        self.facts: list[Fact] = []
        self.tallies: dict[str, Tally] = {}

    def take(self, record: Record) -> None:
        if record.topic == SEED_TOPIC:
            self._plant(record)
            return
        event = decode_record(record.key, record.value, record.length, record.arrival_ts)
        if isinstance(event, Rejected):
            self._quarantine(record, event)
            return
        key = group_key(event.cluster, event.group)
        group = self.groups.get(key) or self._open(key, event.cluster, event.group)
        self._count(event)
        if event.ts > self.newest.get(key, 0):
            self.newest[key] = event.ts
        origin = Origin(record.topic, record.partition, record.offset)
        for refused in take(group, event, origin):
            self._quarantine(_record_of(refused, key, group.state.now), refused.why)

    def _open(self, key: str, cluster: str, group: str) -> Group:
        kept = self.kept.get(key)
        state = new_state(cluster, group) if kept is None else unpack(kept.packed)
        opened = self.groups[key] = Group(state, self.settings)
        self._tally(cluster).groups += 1
        return opened

    def _plant(self, record: Record) -> None:
        """A seed of ``reseed``: it counts only where nothing has grown yet."""
        state = plant(record.value or b"")
        key = group_key(state.cluster, state.group)
        if key not in self.kept and key not in self.groups:
            self.groups[key] = Group(state, self.settings)
            self.newest[key] = state.now

    def _tally(self, cluster: str) -> Tally:
        tally = self.tallies.get(cluster)
        if tally is None:
            tally = self.tallies[cluster] = Tally(cluster)
        return tally

    def _count(self, event: AnyEvent) -> None:
        tally = self._tally(event.cluster)
        tally.events += 1
        if isinstance(event, Round):
            tally.rounds += 1
            tally.brokers_unanswered += sum(1 for answer in event.brokers if not answer.answered)
            tally.newest_round_ts = max(event.ts, tally.newest_round_ts or 0)

    def _quarantine(self, record: Record, why: Rejected) -> None:
        cluster, group = _names_in(record.key)
        self._tally(cluster).quarantined += 1
        value = record.value
        payload = QuarantineFact(
            reason=why.reason,
            detail=why.detail,
            length=record.length,
            sha256=record.sha256 or sha256(value or b"").hexdigest(),
            record_key=None if record.key is None else record.key[:1024],
            bytes=None if value is None else value[:QUARANTINED_BYTES],
            source_topic=record.topic,
            source_partition=record.partition,
            source_offset=record.offset,
        )
        self.facts.append(Fact(record.offset or 0, cluster, group, None, record.arrival_ts or 0, payload))

    def finish(self) -> Folded:
        for key, group in self.groups.items():
            self.facts.extend(group.facts)
            newest = max(self.newest.get(key, 0), self.kept[key].newest_ts if key in self.kept else 0)
            self.kept[key] = _Kept(newest, pack(group.state))
        return Folded(_encode(self.kept), self.facts, list(self.tallies.values()))


def _record_of(refused: Refused, key: str, now: int) -> Record:
    """The record as it came, as far as it is known: it is quarantined later than it arrived."""
    origin, value = refused.origin, refused.event
    encoded = key.encode("utf-8", "surrogatepass")
    return Record(encoded, value, len(value), None, now, origin.topic, origin.partition, origin.offset)


def _names_in(key: bytes | None) -> tuple[str, str]:
    """Cluster and group as a record's key has them; empty where it has not."""
    try:
        cluster, slash, group = (key or b"").decode().partition("/")
    except UnicodeDecodeError:
        return "", ""
    return (cluster, group) if slash else ("", "")
