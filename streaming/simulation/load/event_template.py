"""Events as bytes with placeholders: encoded once, then filled in for each group and time.

This is ten times as fast as encoding each event. Each group has a list of names and a list of numbers for the
placeholders; ``Placeholders`` has their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from schemas.events import AnyEvent
from schemas.identity import MessageQueue, host_of

_NUMBER, _NAME = 888_888_888_888_888, "\N{SNOWMAN}"  # stand for a placeholder until the event is encoded
_ENCODED_NUMBER, _ENCODED_NAME = str(_NUMBER).encode(), _NAME.encode()
SEQ, TS = 0, 1  # the first two numbers: the event's seq, and when the segment began
_TIMES = frozenset({
    "ts", "round", "answered_ts", "consumed_ts", "listed_since", "routes_changed_ts",
})  # fmt: skip
_OFFSETS = frozenset({"broker_offset", "consumer_offset", "pull_offset"})


class NameKind(Enum):
    """The kind of thing that a name belongs to."""

    CLUSTER = "cluster"
    SOURCE = "source"
    GROUP = "group"
    TOPIC = "topic"
    CLIENT = "client"
    HOST = "host"


_KINDS = {
    "cluster": NameKind.CLUSTER,
    "source": NameKind.SOURCE,
    "group": NameKind.GROUP,
    "topic": NameKind.TOPIC,
    "rival_subscriptions": NameKind.TOPIC,
    "subscribed": NameKind.TOPIC,
    "client_id": NameKind.CLIENT,
    "client_ids": NameKind.CLIENT,
    "asked": NameKind.CLIENT,
    "addresses": NameKind.HOST,
}


class Placeholders:
    """The index of each name and number in a group's lists. Clients have their start time, queues an offset."""

    def __init__(self) -> None:
        self.names: dict[tuple[NameKind, str], int] = {}
        self.starts: dict[str, int] = {}
        self.offsets: dict[MessageQueue, int] = {}
        self.numbers = 2

    def name(self, kind: NameKind, text: str) -> int:
        return self.names.setdefault((kind, text), len(self.names))

    def start(self, client_id: str) -> int:
        return self._number(self.starts, client_id)

    def offset(self, queue: MessageQueue) -> int:
        return self._number(self.offsets, queue)

    def _number(self, indices: dict[Any, int], of: object) -> int:
        index = indices.setdefault(of, self.numbers)
        self.numbers += index == self.numbers
        return index


class Origin(NamedTuple):
    """The origin of times and offsets: the group at the beginning of a segment.

    ``starts``: the start time that each client reported; ``offsets``: the newest offset of each queue.
    """

    ts: int
    starts: Mapping[str, int]
    offsets: Mapping[MessageQueue, int]


class EventTemplate(NamedTuple):
    """A template with ``%b`` for names and ``%d`` for numbers. Each number: an index in the list, and an addend."""

    text: bytes
    names: tuple[int, ...]
    numbers: tuple[tuple[int, int], ...]

    def fill(self, names: list[bytes], numbers: list[int]) -> bytes:
        """Fill the template. ``names`` have each ``%`` doubled."""
        named = self.text % tuple([names[index] for index in self.names])
        return named % tuple([numbers[index] + more for index, more in self.numbers])


def event_template(event: AnyEvent, placeholders: Placeholders, origin: Origin, later_ms: int = 0) -> EventTemplate:
    """The template of an event that is sent ``later_ms`` after its time."""
    walk = _Walk(placeholders, origin, later_ms, getattr(event, "client_id", ""))
    encoded = msgspec.json.encode(walk.through(msgspec.to_builtins(event)))
    text = encoded.replace(b"%", b"%%%%").replace(_ENCODED_NUMBER, b"%%d").replace(_ENCODED_NAME, b"%b")
    return EventTemplate(text, tuple(walk.names), tuple(walk.numbers))


class _Walk:
    """A walk through an event in the order of its bytes, which notes the placeholders."""

    def __init__(self, placeholders: Placeholders, origin: Origin, later_ms: int, client_id: str) -> None:
        self.names: list[int] = []
        self.numbers: list[tuple[int, int]] = []
        self._placeholders, self._origin, self._later_ms, self._client_id = placeholders, origin, later_ms, client_id
        self._topic = self._broker = ""

    def through(self, fields: dict[str, Any]) -> dict[str, Any]:
        self._topic = fields.get("topic", self._topic)
        self._broker = fields.get("broker_name", self._broker)
        return {key: self._value(key, value, fields) for key, value in fields.items()}

    def _value(self, key: str, value: Any, fields: dict[str, Any]) -> Any:
        if isinstance(value, dict):
            return self.through(value)
        if key == "reports":
            return [self._report(*one) for one in value]
        if key == "offsets":
            return [self._offsets(*one) for one in value]
        if key == "unchanged_lists":
            return [[broker_name, version, self._time(since)] for broker_name, version, since in value]
        if key == "heartbeats":
            return [self._heartbeat(*one) for one in value]
        if isinstance(value, list | tuple):
            return [self._value(key, one, fields) for one in value]
        if isinstance(value, str):
            return self._name(_KINDS[key], value) if key in _KINDS else value
        index = self._index(key, value, fields)
        return value if index is None else self._number(*index)

    def _report(self, client_id: str, data_version: int, answered_ts: int, busy: list[int]) -> list[Any]:
        """A ``ConfirmedReport``. A data version is any number that its reports have too."""
        return [self._name(NameKind.CLIENT, client_id), data_version, self._time(answered_ts), busy]

    def _heartbeat(self, broker_name: str, client_id: str, addresses: list[str], *profile: str | None) -> list[Any]:
        """A ``ListedClient``."""
        named = [broker_name, self._name(NameKind.CLIENT, client_id)]
        return [*named, [self._name(NameKind.HOST, address) for address in addresses], *profile]

    def _offsets(self, broker_name: str, topic: str, ts: int, queues: list[list[int]]) -> list[Any]:
        """A ``TopicOffsets``."""
        named = [broker_name, self._name(NameKind.TOPIC, topic), self._time(ts)]
        return [*named, [self._queue(MessageQueue(topic, broker_name, row[0]), row) for row in queues]]

    def _queue(self, queue: MessageQueue, row: list[int]) -> list[int]:
        queue_id, broker_offset, *lags, consumed_ts = row
        if broker_offset >= 0:
            more = broker_offset - self._origin.offsets.get(queue, 0)
            broker_offset = self._number(self._placeholders.offset(queue), more)
        return [queue_id, broker_offset, *lags, self._time(consumed_ts)]

    def _time(self, ts: int) -> int:
        """A time; 0 stays 0, which means that there is none."""
        return self._number(TS, self._later(ts)) if ts else 0

    def _number(self, index: int, more: int) -> int:
        self.numbers.append((index, more))
        return _NUMBER

    def _name(self, kind: NameKind, text: str) -> str:
        port = ""
        if kind is NameKind.HOST:
            text, colon, port = text.rpartition(":")
            port = colon + port
        if kind is NameKind.CLIENT:
            self._placeholders.name(NameKind.HOST, host_of(text))
        self.names.append(self._placeholders.name(kind, text))
        return _NAME + port

    def _index(self, key: str, value: Any, fields: dict[str, Any]) -> tuple[int, int] | None:
        if key == "seq":
            return SEQ, 0
        if key in _TIMES:
            return TS, self._later(value)
        if key == "start_ts" and value is not None:
            is_known = self._origin.starts.get(self._client_id) == value
            return (self._placeholders.start(self._client_id), 0) if is_known else (TS, self._later(value))
        if key in _OFFSETS and value >= 0:
            queue = MessageQueue(self._topic, self._broker, fields["queue_id"])
            return self._placeholders.offset(queue), value - self._origin.offsets.get(queue, 0)
        return None

    def _later(self, ts: int) -> int:
        return ts - self._origin.ts + self._later_ms
