"""Maps whose keys are message queues, as in running info (307) and consume stats (208), to a row for each queue.

A group's clients and brokers send many of them. So tables as RocketMQ's SDKs write them become arrays by one regular
expression, and msgspec reads the whole body at once. Every other table is read slowly, key by key, with the same
result.
"""

import json
import re
from collections.abc import Collection
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from streaming.collector.wire import answers
from streaming.collector.wire.fastjson import FastJsonError, loads

T = TypeVar("T")
NO_QUEUES, NO_QUEUES_MENDED = b'{"mqTable":},', b'{"mqTable":{},'  # as librocketmq writes that a client owns none

MOST_QUOTES = 1_000_000  # the expression takes 150 bytes for each; an SDK's body of 4 MiB has 600,000 at most

# No text in it has a brace or a backslash, so each brace is one of JSON's own.
_FLAT = rb'\{[^{}"\\]*(?:"[^{}"\\]*"[^{}"\\]*)*\}'
_ROW = _FLAT + b":" + _FLAT
_TABLE = re.compile(rb'"(mqTable|mqPopTable|offsetTable)":\{((?:%s(?:,%s)*)?)\}' % (_ROW, _ROW))
# A table of Go that not each row of it spells as Go does, or that has this property in a key.
_SPELT_OTHERWISE = re.compile(rb'"droped"|"dropped"(?!:)|"dropped":[^{}]*\}:')


class RunningInfo(NamedTuple):
    """``ConsumerRunningInfo``, as far as it is of use."""

    mq_table: tuple[answers.ProcessQueue, ...]
    mq_pop_table: tuple[answers.ProcessQueue, ...]
    subscriptions: tuple[answers.SubscriptionData, ...]
    properties: dict[str, Any]


# A table that has become an array. One that has not has other keys, and is not taken for one.
_Queues = dict[Literal["rows"], tuple[answers.ProcessQueue, ...]]
_Offsets = dict[Literal["rows"], tuple[answers.OffsetRow, ...]]


class _RunningInfo(msgspec.Struct, rename="camel"):
    mq_table: _Queues | None = None
    mq_pop_table: _Queues | None = None
    subscription_set: tuple[answers.SubscriptionData, ...] | None = None
    properties: dict[str, Any] | None = None


class _ConsumeStats(msgspec.Struct, rename="camel"):
    offset_table: _Offsets | None = None


def running_info(body: bytes) -> RunningInfo:
    """Raises FastJsonError or ValidationError for a body that cannot be read."""
    mended = body.replace(NO_QUEUES, NO_QUEUES_MENDED, 1) if body.startswith(NO_QUEUES) else body
    found = _at_once(mended, _RunningInfo)
    if found is not None:
        queues, popped = (one.get("rows", ()) if one else () for one in (found.mq_table, found.mq_pop_table))
        if _are_unlike(queues) and _are_unlike(popped):
            return RunningInfo(queues, popped, found.subscription_set or (), found.properties or {})
    info = table(loaded(mended))
    return RunningInfo(
        _rows(_spelt_as_in_java(info.get("mqTable")), answers.ProcessQueue),
        _rows(info.get("mqPopTable"), answers.ProcessQueue),
        msgspec.convert(info.get("subscriptionSet") or (), tuple[answers.SubscriptionData, ...]),
        table(info.get("properties")),
    )


def consume_stats(body: bytes) -> tuple[answers.OffsetRow, ...]:
    """Raises FastJsonError or ValidationError for a body that cannot be read."""
    found = _at_once(body, _ConsumeStats)
    offsets = found.offset_table.get("rows", ()) if found is not None and found.offset_table else ()
    if found is not None and _are_unlike(offsets):
        return offsets
    return _rows(table(loaded(body)).get("offsetTable"), answers.OffsetRow)


def _at_once(body: bytes, kind: type[T]) -> T | None:
    """None: the body has to be read slowly."""
    if b'"rows"' in body or body.count(b'"') > MOST_QUOTES:
        return None
    try:
        return msgspec.json.decode(_TABLE.sub(_as_array, body), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _as_array(match: re.Match[bytes]) -> bytes:
    """Each key and its value become one object. A table of mixed spellings is left as it is, to be read slowly."""
    is_of_go = match[1] == b"mqTable" and b'"dropped"' in match[2]
    if is_of_go and _SPELT_OTHERWISE.search(match[2]):
        return match[0]
    rows = match[2].replace(b"}:{}", b"}").replace(b"}:{", b",")
    if is_of_go:
        rows = rows.replace(b'"dropped":', b'"droped":')
    return b'"%s":{"rows":[%s]}' % (match[1], rows)


def _are_unlike(rows: Collection[answers.ProcessQueue] | Collection[answers.OffsetRow]) -> bool:
    """Returns whether no queue is a key twice: a map keeps the last of its values."""
    return len({(row.topic, row.broker_name, row.queue_id) for row in rows}) == len(rows)


def _spelt_as_in_java(table: Any) -> Any:
    """Go's ``ProcessQueueInfo`` has ``dropped`` where Java's has ``droped``."""
    if not isinstance(table, dict):
        return table
    of_go = {key: value for key, value in table.items() if isinstance(value, dict) and "dropped" in value}
    return table | {key: {"droped": value["dropped"], **value} for key, value in of_go.items()}


def _rows(found: Any, kind: type[T]) -> tuple[T, ...]:
    return tuple(msgspec.convert({**_queue(key), **table(value)}, kind) for key, value in table(found).items())


def _queue(key: str) -> dict[str, Any]:
    """A queue that was a key: its text is JSON once more, and may hide half a surrogate pair from the first reading."""
    try:
        return table(loaded(key.encode()))
    except UnicodeEncodeError as error:
        raise FastJsonError(f"not text: {error.reason}") from None


def loaded(body: bytes) -> Any:
    """Half a surrogate pair is JSON, but no text: it could not be written again."""
    value = loads(body)
    if rb"\ud" in body.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise FastJsonError(f"not text: {error.reason}") from None
    return value


def table(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FastJsonError(f"an object expected, {type(value).__name__} found")
    return value
