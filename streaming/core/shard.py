"""A shard: many groups in one blob, of which only those with events are decoded.

The blob is a map from ``cluster/group`` to the group's packed state and its clock. The state of a group that has been
silent for long is compacted (see ``retention``).
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec import Struct

from schemas.events import AnyEvent, Round
from schemas.facts import Contradiction, Fact, QuarantineFact
from schemas.records import MAX_KEY_BYTES, QUARANTINED_BYTES, Rejected, decode_record, group_key
from streaming.core.intake.refused_events import OF_THEIR_GROUP, note_refused
from streaming.core.retention import can_be_compacted, compacted, silent_before
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.state.packing import RESEED, pack, unpack
from streaming.core.state.restore import SEED_TOPIC, restore
from streaming.core.step import Origin, Refused, take
from streaming.errors import StateVersionError

QUARANTINE_FACTS_AT_MOST = 256  # of one shard and batch: 16 MB of values; all others are counted
CLUSTERS_AT_MOST = 1_000  # that one shard and batch counts by their names: anybody may make some up
NO_CLUSTER = ""  # what is counted of all others


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


class ClusterCounts(Struct):
    """The counts of one cluster in one fold. ``newest_round_ts``: the newest time to which a group's clock was moved.

    ``contradicting``: rounds that were refused because they contradict others, and the newest of them.
    """

    cluster: str
    events: int = 0
    rounds: int = 0
    groups: int = 0
    quarantined: int = 0
    brokers_unanswered: int = 0
    newest_round_ts: int | None = None
    contradicting: int = 0
    contradiction: Contradiction | None = None


class Folded(NamedTuple):
    blob: bytes
    facts: list[Fact]
    cluster_counts: list[ClusterCounts]


class _Kept(Struct, array_like=True):
    """A group's state and its clock. 0: no round yet, or it was silent and has been checked for compaction.

    What 0.2.0 wrote behind these two is ignored.
    """

    clock: int
    packed: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, _Kept]).decode


def _unpack(blob: bytes) -> dict[str, _Kept]:
    try:
        return _decode(blob)
    except msgspec.MsgspecError as error:
        raise StateVersionError(f"the checkpoint holds state that this evenkeel cannot read: {RESEED}") from error


def fold(blob: bytes | None, records: Iterable[Record], settings: Settings) -> Folded:
    """Fold records into a shard's state. Raises StateVersionError for state of an unknown version."""
    work = _Fold(blob, settings)
    key: bytes | None = None
    for record in _by_key(records):
        if record.key != key:
            work.close_groups()
            key = record.key
        work.take(record)
    work.close_groups()
    return work.finish()


def _by_key(records: Iterable[Record]) -> Iterator[Record]:
    """Those of one key one after the other, so that a group is unpacked, used and packed while it is in the caches.

    A group's records in Kafka have one key, and others are refused. Lines of files have none. These come as they are,
    and so do seeds, which are before all others.
    """
    by_key: dict[bytes, list[Record]] = {}
    for record in records:
        if record.key is None or record.topic == SEED_TOPIC:
            yield record
        else:
            by_key.setdefault(record.key, []).append(record)
    yield from chain.from_iterable(by_key.values())


class _Fold:
    def __init__(self, blob: bytes | None, settings: Settings) -> None:
        self.settings = settings
        self.kept: dict[str, _Kept] = {} if blob is None else _unpack(blob)
        self.groups: dict[str, Group] = {}  # those that are unpacked
        self.opened_ts: dict[str, int] = {}  # the clock of each that is unpacked, as it was then
        self.seen: set[str] = set()  # groups that have been unpacked
        self.clocks: dict[str, int] = {}  # of each cluster, the newest of its groups' clocks
        self.facts: list[Fact] = []
        self.refused = 0  # how many have a fact of their own
        self.refused_besides: dict[str, tuple[int, Record]] = {}  # by reason: how many more, and the newest of them
        self.cluster_counts: dict[str, ClusterCounts] = {}

    def take(self, record: Record) -> None:
        if record.topic == SEED_TOPIC:
            self._restore(record)
            return
        origin = Origin(record.topic, record.partition, record.offset)
        for event in decode_record(record.key, record.value, record.length, record.arrival_ts):
            if isinstance(event, Rejected):
                self._quarantine(_part_of(record, event), event)
            else:
                self._take_event(event, origin)

    def _take_event(self, event: AnyEvent, origin: Origin) -> None:
        key = group_key(event.cluster, event.group)
        group = self.groups.get(key) or self._open(key, event.cluster, event.group)
        self._count(event)
        for refused in take(group, event, origin):
            self._quarantine(_record_of(refused, key, group.state.now), refused.why)
            if refused.contradiction is not None:
                counts = self._counts_of(event.cluster)
                counts.contradicting += 1
                counts.contradiction = refused.contradiction

    def _open(self, key: str, cluster: str, group: str) -> Group:
        kept = self.kept.get(key)
        state = new_state(cluster, group) if kept is None else unpack(kept.packed)
        opened = self.groups[key] = Group(state, self.settings)
        self.opened_ts[key] = state.now
        self._counts_of(cluster).groups += key not in self.seen
        self.seen.add(key)
        return opened

    def _restore(self, record: Record) -> None:
        """Takes a seed of ``reseed``. It counts only for a group that has no state yet."""
        state = restore(record.value or b"", self.settings)
        key = group_key(state.cluster, state.group)
        if key not in self.kept and key not in self.groups:
            self.groups[key] = Group(state, self.settings)

    def _counts_of(self, cluster: str) -> ClusterCounts:
        counts = self.cluster_counts.get(cluster)
        if counts is None:
            name = cluster if len(self.cluster_counts) < CLUSTERS_AT_MOST else NO_CLUSTER
            counts = self.cluster_counts.setdefault(name, ClusterCounts(name))
        return counts

    def _count(self, event: AnyEvent) -> None:
        counts = self._counts_of(event.cluster)
        counts.events += 1
        if isinstance(event, Round):
            counts.rounds += event.part == 0
            counts.brokers_unanswered += [answer.answered for answer in event.brokers].count(False)

    def _quarantine(self, record: Record, why: Rejected) -> None:
        cluster, group = _names_in(record.key)
        if cluster and group and why.reason in OF_THEIR_GROUP and record.arrival_ts is not None:
            key = group_key(cluster, group)
            note_refused(self.groups.get(key) or self._open(key, cluster, group), why, record.arrival_ts)
        self._counts_of(cluster).quarantined += why.events
        if self.refused < QUARANTINE_FACTS_AT_MOST:
            self.refused += 1
            self.facts.append(_quarantine_fact(record, why, cluster, group))
        else:
            events, _ = self.refused_besides.get(why.reason, (0, record))
            self.refused_besides[why.reason] = events + why.events, record

    def close_groups(self) -> None:
        for key, group in self.groups.items():
            state = group.state
            self.facts.extend(group.facts)
            self.clocks[state.cluster] = max(self.clocks.get(state.cluster, 0), state.now)
            if state.now != self.opened_ts.get(key):
                counts = self._counts_of(state.cluster)
                counts.newest_round_ts = max(state.now, counts.newest_round_ts or 0)
            if key not in self.kept and state == new_state(state.cluster, state.group):
                continue  # nothing was said of it
            self.kept[key] = _Kept(state.now, pack(state))
        self.groups.clear()
        self.opened_ts.clear()

    def finish(self) -> Folded:
        for reason, (events, newest) in self.refused_besides.items():  # one fact each, which belongs to no group
            detail = f"and {events} more of this shard and batch, of any group; this is the newest of them"
            self.facts.append(_quarantine_fact(newest, Rejected(reason, detail, events=events), "", ""))
        self._compact_silent_groups()
        return Folded(_encode(self.kept), self.facts, list(self.cluster_counts.values()))

    def _compact_silent_groups(self) -> None:
        """Checks each silent group once, by the time of its cluster, and compacts it if it can be."""
        timing = self.settings.timing
        limit = silent_before(max(self.clocks.values(), default=0), timing)
        for key in [key for key, kept in self.kept.items() if 0 < kept.clock < limit]:
            kept = self.kept[key]
            if kept.clock < silent_before(self.clocks.get(key.partition("/")[0], 0), timing):
                state = unpack(kept.packed)
                self.kept[key] = _Kept(0, pack(compacted(state)) if can_be_compacted(state) else kept.packed)


def _part_of(record: Record, why: Rejected) -> Record:
    """The record, with only the event that is rejected."""
    return record if why.value is None else record._replace(value=why.value, length=len(why.value), sha256=None)


def _record_of(refused: Refused, key: str, now: int) -> Record:
    """The record as it came, as far as it is known: it is quarantined only after it was held."""
    origin, value = refused.origin, refused.event
    encoded = key.encode("utf-8", "surrogatepass")
    return Record(encoded, value, len(value), None, now, origin.topic, origin.partition, origin.offset)


def _quarantine_fact(record: Record, why: Rejected, cluster: str, group: str) -> Fact:
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
        events=why.events,
    )
    return Fact(record.offset or 0, cluster, group, None, record.arrival_ts or 0, payload)


def _names_in(key: bytes | None) -> tuple[str, str]:
    """Cluster and group from a record's key; empty if the key has none, or is too long to have any."""
    if key is not None and len(key) > MAX_KEY_BYTES:
        return "", ""
    try:
        cluster, slash, group = (key or b"").decode().partition("/")
    except UnicodeDecodeError:
        return "", ""
    return (cluster, group) if slash else ("", "")
