"""Changes of bytes and of JSON, by a random number generator: the same generator makes the same changes."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

Place = tuple[Any, Any]  # an object or array, and the key or index in it

DEEP = 2_000  # levels: more than the stack of any decoder takes
LONG = 70_000  # characters of a text, entries of an array: with what is beside them still below the limit of a record
LONGEST = 300_000  # bytes
LATER_MS = (1, 5_000, 35_000, 600_000, 86_400_000, 10**12)
ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64,
    10**30, 0.5, -0.0, 1e308, "", " ", "0", "-1", "null", "a/b", "/", "%RETRY%", "%", "$", "\x00", "\u202e", "\ufeff",
    "实例", "😀", [], {}, [[]], [None], {"": None}, [{}], ["", ""],
)  # fmt: skip
RAW = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-", b"0x10", b"01", b'"\\ud800"', b'"\\udc00x"', b'"\\u0000"',
    b'"\xff"', b"{{}:1}", b"{0:1}", b'{"a":1,"a":2}', b"'a'", b"[1,]", b"{,}", b"//", b"9" * 400, b"9" * 5_000,
    b"[" * DEEP, b"{" * DEEP, b'{"a":' * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    b'"' + b"a" * LONG + b'"', b'"' + b"\\" * 999, b"[" + b"0," * (LONG // 2) + b"0]",
)  # fmt: skip
HOLE = "\uf8ff hole \uf8ff"
ENCODINGS = ("utf-16", "utf-16-le", "gb18030", "utf-32", "utf-7")


def damaged(value: bytes, other: bytes, random: Random) -> bytes:
    """The bytes after one to three changes. ``other``: bytes of the same kind, parts of which may be put in."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        value = random.choice(_CHANGES)(value, other, random)[:LONGEST]
    return value


def _flip_bits(value: bytes, _: bytes, random: Random) -> bytes:
    flipped = bytearray(value)
    for _n in range(random.choice((1, 1, 2, 8)) if value else 0):
        flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
    return bytes(flipped)


def _cut(value: bytes, _: bytes, random: Random) -> bytes:
    begin, end = sorted(random.randrange(len(value) + 1) for _n in range(2))
    return random.choice((value[:end], value[begin:], value[:begin] + value[end:]))


def _splice(value: bytes, other: bytes, random: Random) -> bytes:
    """Part of other bytes, or of its own, or bytes of no meaning, put in somewhere."""
    source = random.choice((value, other, random.randbytes(20), random.choice(RAW)))
    begin, end = sorted(random.randrange(len(source) + 1) for _n in range(2))
    at = random.randrange(len(value) + 1)
    return value[:at] + source[begin:end] + value[at:]


def _encode_otherwise(value: bytes, _: bytes, random: Random) -> bytes:
    return value.decode("utf-8", "replace").encode(random.choice(ENCODINGS), "replace")


def _replace_a_value(value: bytes, other: bytes, random: Random) -> bytes:
    """A value of the JSON becomes another one, of any type and size; what is no JSON stays as it is."""
    return _changed(value, lambda document: _replaced(document, other, random), random)


def _change_the_form(value: bytes, _: bytes, random: Random) -> bytes:
    """A key or an entry less, more or elsewhere."""
    return _changed(value, lambda document: random.choice(_FORMS)(document, random), random)


def _move_a_number(value: bytes, _: bytes, random: Random) -> bytes:
    """A number becomes another one that may be right: a time, an offset, an id."""

    def move(document: Any) -> None:
        numbers = [at for at in _places(document) if type(at[0][at[1]]) is int]
        if numbers:
            container, key = random.choice(numbers)
            container[key] += random.choice((-1, 1)) * random.choice((1, 2, *LATER_MS))

    return _changed(value, move, random)


_CHANGES: tuple[Callable[[bytes, bytes, Random], bytes], ...] = (
    *(_flip_bits, _cut, _splice, _encode_otherwise),
    *(_replace_a_value, _replace_a_value, _replace_a_value, _change_the_form, _change_the_form, _move_a_number),
)


def _changed(value: bytes, change: Callable[[Any], bytes | None], random: Random) -> bytes:
    """``change`` changes the document in its place. It may return bytes that take the place of HOLE."""
    try:
        document = [json.loads(value)]
    except (ValueError, RecursionError):
        return value
    hole = change(document)
    try:
        text = json.dumps(document[0], ensure_ascii=random.random() < 0.1, separators=(",", ":")).encode()
    except (UnicodeEncodeError, RecursionError):
        return value
    return text if hole is None else text.replace(json.dumps(HOLE, ensure_ascii=False).encode(), hole)


def _replaced(document: Any, other: bytes, random: Random) -> bytes | None:
    container, key = random.choice(list(_places(document)))
    kind = random.randrange(4)
    if kind == 0:
        container[key] = HOLE
        return random.choice(RAW)
    if kind == 1:
        places = list(_places([_document(other)]))
        from_container, from_key = random.choice(places)
        container[key] = from_container[from_key]
    else:
        container[key] = deepcopy(random.choice(ODD))
    return None


def _drop(document: Any, random: Random) -> None:
    container, key = random.choice(list(_places(document)))
    if container is not document:
        del container[key]


def _rename(document: Any, random: Random) -> None:
    keys = [(container, key) for container, key in _places(document) if isinstance(container, dict)]
    if keys:
        container, key = random.choice(keys)
        container[random.choice((key.upper(), key + "s", "", "x" * 3_000, key[:-1]))] = container.pop(key)


def _repeat(document: Any, random: Random) -> None:
    arrays = [c[k] for c, k in _places(document) if isinstance(c[k], list) and c[k]]
    if arrays:
        array = random.choice(arrays)
        array.extend([random.choice(array)] * random.choice((1, 1, 2, 20, 500)))


def _swap(document: Any, random: Random) -> None:
    places = [at for at in _places(document) if at[0] is not document]
    if len(places) > 1:
        (one, key), (another, other_key) = random.sample(places, 2)
        if not isinstance(one[key], (dict, list)) and not isinstance(another[other_key], (dict, list)):
            one[key], another[other_key] = another[other_key], one[key]


_FORMS = (_drop, _rename, _repeat, _swap)


def _document(value: bytes) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _places(document: Any) -> Iterator[Place]:
    """Every place of a value, those within it too. A document is the only entry of an array."""
    waiting = [document]
    while waiting:
        container = waiting.pop()
        for key in container if isinstance(container, dict) else range(len(container)):
            yield container, key
            if isinstance(container[key], (dict, list)) and container[key]:
                waiting.append(container[key])
