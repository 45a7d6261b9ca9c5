"""Recordings to events: where rounds begin and end, and to which group a line belongs.

A recording has all answers (streaming.collector.wire.answers) in the order in which they came. A group's
round ends at a ``round`` line. In recordings without such lines it ends when a broker lists the group's members again.
A line without cluster or group belongs to those of the last ``meta`` line.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.events import AnyEvent
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.translation.group import GroupTranslation
from streaming.collector.wire.answers import LINES, ConsumerListAnswer, GroupAnswer, Line, Meta, RoundEnd, RouteAnswer
from streaming.errors import SourceError
from streaming.replay.input_lines import FileLine, read_lines

DEFAULT_CLUSTER = "recording"
SKIPPED_KINDS = frozenset({"truth", "consumed"})


class _Kind(Struct):
    kind: str
    ts: int


_kind_decoder = msgspec.json.Decoder(_Kind)
_decoders = {str(line.__struct_config__.tag): msgspec.json.Decoder(line) for line in LINES}


class RecordingTranslation:
    """The translation of lines to events. ``confirms``: as in ``ClusterTranslation``."""

    def __init__(self, cluster: str = DEFAULT_CLUSTER, source: str = "recording", confirms: bool = True) -> None:
        self._confirms = confirms
        self._source = source
        self._cluster_name = cluster
        self._default_cluster = cluster
        self._group_name: str | None = None
        self._marked = False
        self._clusters: dict[str, ClusterTranslation] = {}

    def feed(self, line: Line) -> list[AnyEvent]:
        """The events that a line gives. Raises SourceError for an answer about no group."""
        if isinstance(line, Meta):
            self._take_meta(line)
            return []
        cluster = self._cluster(line)
        if isinstance(line, RouteAnswer):
            cluster.routes.take(line)
            return []
        if isinstance(line, RoundEnd):
            return self._end_marked(cluster, line)
        assert isinstance(line, GroupAnswer)
        return self._take(cluster, line)

    def finish(self) -> list[AnyEvent]:
        """The last events. A round without some broker's answer may have been cut off, so it gets no marker."""
        events: list[AnyEvent] = []
        for cluster in self._clusters.values():
            for group in cluster.groups.values():
                if group.times.is_open and group.has_all_lists() and not self._marked:
                    events += self._end(cluster, group)
        return events

    def _cluster(self, line: Line) -> ClusterTranslation:
        name = line.cluster or self._cluster_name
        if name not in self._clusters:
            self._clusters[name] = ClusterTranslation(name, self._source, self._confirms)
        return self._clusters[name]

    def _take_meta(self, line: Meta) -> None:
        self._cluster_name = line.cluster or self._default_cluster
        self._group_name = line.group
        cluster = self._cluster(line)
        if line.group is None:
            cluster.know_brokers(line.brokers or ())
        else:
            cluster.group(line.group).know(line.brokers or (), line.topics or ())

    def _take(self, cluster: ClusterTranslation, answer: GroupAnswer) -> list[AnyEvent]:
        name = answer.group or self._group_name
        if not name:
            raise SourceError("names no group, and no meta line before it does")
        group = cluster.group(name)
        events: list[AnyEvent] = []
        if isinstance(answer, ConsumerListAnswer):
            if group.is_outdated(answer):
                return []
            if group.times.is_open and group.has_list_of(answer.broker):
                events += self._end(cluster, group)
            if not group.times.is_open:
                group.begin_round(answer.ts)
        elif not group.times.is_open and not group.times.is_late(answer.ts):
            group.begin_round(answer.ts)
        return events + group.take(answer)

    def _end(self, cluster: ClusterTranslation, group: GroupTranslation) -> list[AnyEvent]:
        cluster.routes.still_stand(group.times.newest_ts)
        return group.end_round()

    def _end_marked(self, cluster: ClusterTranslation, line: RoundEnd) -> list[AnyEvent]:
        self._marked = True
        names = [line.group] if line.group else list(cluster.groups)
        events: list[AnyEvent] = []
        for group in (cluster.groups[name] for name in names if name in cluster.groups):
            if group.times.is_open:
                cluster.routes.still_stand(line.ts)
                events += group.end_round(line.ts, line.asked, line.not_asked, line.look)
        return events


def decode_line(text: bytes) -> tuple[Line | None, str, int]:
    """The answer of a line (None for a kind that a replay does not need), its kind and its time."""
    head = _kind_decoder.decode(text)
    decoder = _decoders.get(head.kind)
    return (None if decoder is None else decoder.decode(text)), head.kind, head.ts


class Recording:
    """One recording file. ``first_ts`` is known once ``events`` has been read."""

    def __init__(self, path: Path, warn: Callable[[str], None], cluster: str = DEFAULT_CLUSTER) -> None:
        self.path = path
        self.first_ts: int | None = None
        self._warn = warn
        self._cluster = cluster
        self._unknown_kinds: set[str] = set()

    def events(self, source: str = "recording", confirms: bool = True) -> Iterator[AnyEvent]:
        """All events in the order of the file. Raises SourceError, with the line, if this is no recording."""
        translation = RecordingTranslation(self._cluster, source, confirms)
        for line in read_lines(self.path, self._warn):
            answer = self._decode(line)
            if answer is None:
                continue
            try:
                yield from translation.feed(answer)
            except SourceError as error:
                raise SourceError(f"{self.path}:{line.number}: {error}") from None
        yield from translation.finish()

    def _decode(self, line: FileLine) -> Line | None:
        try:
            answer, kind, ts = decode_line(line.text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if line.ends or isinstance(error, msgspec.ValidationError):
                raise SourceError(f"{self.path}:{line.number}: not a line of a recording: {error}") from None
            self._warn(f"{self.path}:{line.number}: the file ends in the middle of a line; going on without it")
            return None
        if self.first_ts is None:
            self.first_ts = ts
        if answer is None and kind not in SKIPPED_KINDS and kind not in self._unknown_kinds:
            self._unknown_kinds.add(kind)
            self._warn(f"{self.path}:{line.number}: lines of kind {kind!r} are not known here and are left out")
        return answer
