"""JSON as fastjson writes it: standard, or with numbers and objects as keys (``{0:"a"}``, ``{{"queueId":0}:{}}``).

The standard library's scanner reads whatever is standard, which is nearly all; only what it refuses is walked through
here, level by level. So a standard document gives what ``json.loads`` gives.
"""

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from streaming.errors import CollectorError

DEEPEST = 64  # levels that are not standard; RocketMQ's bodies have two

_scan_once = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_space = re.compile(r"[ \t\n\r]*").match


class FastJsonError(CollectorError):
    """Bytes that are not JSON, not even as fastjson writes it."""


class WrittenKey(str):
    """A key that is not text: a number, or an object. It is the text as written; ``value`` is what that says."""

    value: Any


def loads(body: bytes | str) -> Any:
    """What a body says. Raises FastJsonError, and nothing else, for one that cannot be read."""
    try:
        text = body if isinstance(body, str) else body.decode()
        value, end = _value(text, _after_space(text, 0), 0)
    except UnicodeDecodeError as error:
        raise FastJsonError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise FastJsonError("nested too deeply") from None
    except StopIteration as error:
        raise FastJsonError(f"not JSON: a value expected at character {error.value}") from None
    except IndexError:
        raise FastJsonError("not JSON: it ends early") from None
    except ValueError as error:
        raise FastJsonError(f"not JSON: {error}") from None
    end = _after_space(text, end)
    if end != len(text):
        raise FastJsonError(f"not JSON: more text at character {end}")
    return value


def _after_space(text: str, at: int) -> int:
    return _space(text, at).end()  # type: ignore[union-attr]


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """The value that begins at ``at``, and where it ends."""
    try:
        value, end = _scan_once(text, at)
    except (ValueError, StopIteration):
        opening = text[at : at + 1]
        if opening not in ("{", "[") or not opening:
            raise
        if depth == DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels at character {at}") from None
        read = _object if opening == "{" else _array
        return read(text, at, depth + 1)
    return value, end


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    at = _after_space(text, at + 1)
    if text[at] == "}":
        return members, at + 1
    while True:
        key, at = _key(text, at, depth)
        at = _expect(text, at, ":")
        members[key], at = _value(text, at, depth)
        at = _after_space(text, at)
        if text[at] == "}":
            return members, at + 1
        at = _expect(text, at, ",")


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _after_space(text, at + 1)
    if text[at] == "]":
        return items, at + 1
    while True:
        item, at = _value(text, at, depth)
        items.append(item)
        at = _after_space(text, at)
        if text[at] == "]":
            return items, at + 1
        at = _expect(text, at, ",")


def _key(text: str, at: int, depth: int) -> tuple[str, int]:
    if text[at] == '"':
        return scanstring(text, at + 1, True)
    value, end = _value(text, at, depth)
    key = WrittenKey(text[at:end])
    key.value = value
    return key, end


def _expect(text: str, at: int, mark: str) -> int:
    """Where the text goes on after ``mark`` and the space around it."""
    at = _after_space(text, at)
    if text[at] != mark:
        raise ValueError(f"{mark!r} expected at character {at}")
    return _after_space(text, at + 1)
