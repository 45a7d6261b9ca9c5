"""JSON as fastjson writes it: standard, or with numbers and objects as keys (``{0:"a"}``, ``{{"queueId":0}:{}}``).

What is not standard is rewritten, in one pass over its tokens: a key that is no text becomes the text as written. Then
the standard library reads it. So a standard document gives what ``json.loads`` gives, and the time that any body takes
grows with its length alone.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from streaming.errors import CollectorError

MOST_REWRITTEN = 4 * 1024 * 1024  # characters: a second's work
DEEPEST = 64  # levels of objects as keys and as values; RocketMQ's bodies have three

_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|\s+|"', re.DOTALL)
_OPENING, _CLOSING = ("{", "["), ("}", "]")
_SCALAR = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|true|false|null")


class FastJsonError(CollectorError):
    """Bytes that are not JSON, not even as fastjson writes it."""


def loads(body: bytes | str) -> Any:
    """Reads a body. Raises FastJsonError, and nothing else, for one that cannot be read."""
    try:
        text = body if isinstance(body, str) else body.decode()
        return _standard(text)
    except UnicodeDecodeError as error:
        raise FastJsonError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise FastJsonError("nested too deeply") from None
    except ValueError as error:
        raise FastJsonError(f"not JSON: {error}") from None


def _standard(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if len(text) > MOST_REWRITTEN:
            raise ValueError(f"not standard, and {len(text)} characters long") from None
        rewritten = "".join(_rewritten(text))
        if rewritten == text:
            raise
    return json.loads(rewritten)


def _rewritten(text: str) -> Iterator[str]:
    """Puts each key of the text in quotes. Other errors in it stay."""
    open_ones: list[str] = []  # brackets; of an object whose next token is a key, "key"
    key_from, depth_of_key = -1, 0
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token == '"':  # to look for its end again and again would take long
            raise ValueError(f"a text without an end at character {match.start()}")
        if key_from >= 0:  # within an object that is a key
            depth_of_key += (token in _OPENING) - (token in _CLOSING)
            if depth_of_key == 0:
                yield json.dumps(text[key_from : match.end()])
                key_from, open_ones[-1] = -1, "{"
        elif token in _OPENING and open_ones and open_ones[-1] == "key":
            key_from, depth_of_key = match.start(), 1
        elif open_ones and open_ones[-1] == "key" and not token.isspace() and token not in _CLOSING:
            open_ones[-1] = "{"
            yield json.dumps(token) if _SCALAR.fullmatch(token) else token
        else:
            _follow(open_ones, token)
            yield token
    if key_from >= 0:
        yield text[key_from:]


def _follow(open_ones: list[str], token: str) -> None:
    """Which brackets are open after the token."""
    if token in _OPENING:
        open_ones.append("key" if token == "{" else token)
        if len(open_ones) > DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels")
    elif token in _CLOSING and open_ones:
        open_ones.pop()
    elif token == "," and open_ones and open_ones[-1] == "{":
        open_ones[-1] = "key"
