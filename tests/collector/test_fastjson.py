"""Bodies as fastjson writes them: what is standard reads as the standard library reads it, what is broken says so."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.collector.wire.fastjson import DEEPEST, FastJsonError, loads

CAPTURES = sorted((Path(__file__).parent / "captures").glob("*.json"))
NOT_STANDARD = {
    "all_consumer_offset",
    "cluster_info",
    "consume_stats_all",
    "route_legacy",
    "running_info_go",
    "running_info_quote",
}
NOT_STANDARD |= {"topic_stats", "all_consumer_offset_pop", "consume_stats_pop", "consume_stats_revive"}

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
keys = st.text() | st.integers() | st.dictionaries(st.text(), st.integers() | st.text(), max_size=3)


@pytest.mark.slow("many rounds are asked")
@given(documents, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_standard_document_reads_as_the_standard_library_reads_it(
    document: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    assert loads(text) == json.loads(text)
    if "\\ud" not in text and text.isascii():
        assert loads(text.encode()) == json.loads(text)


@pytest.mark.slow("many rounds are asked")
@given(st.lists(st.tuples(keys, documents), max_size=4, unique_by=lambda pair: json.dumps(pair[0])))
def test_numbers_and_objects_are_keys(members: list[tuple[object, object]]) -> None:
    body = "{" + ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in members) + "}"
    expected = {key if isinstance(key, str) else json.dumps(key): value for key, value in members}
    assert loads(body) == expected


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_capture_is_read(path: Path) -> None:
    body = path.read_bytes()
    if path.stem in NOT_STANDARD:
        with pytest.raises(ValueError, match="Expecting"):
            json.loads(body)
        assert loads(body)
    else:
        assert loads(body) == json.loads(body)


@pytest.mark.slow("time-outs pass")
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_capture_cut_at_any_byte_is_refused(path: Path) -> None:
    body = path.read_bytes()
    for length in range(len(body.rstrip())):
        with pytest.raises(FastJsonError):
            loads(body[:length])


@given(st.sampled_from(CAPTURES), st.data())
def test_mutated_capture_raises_nothing_else(path: Path, data: st.DataObject) -> None:
    body = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with suppress(FastJsonError):
        loads(bytes(body))


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:0a\\ ', max_size=30))
def test_any_bytes_raise_nothing_else(body: bytes | str) -> None:
    with suppress(FastJsonError):
        loads(body)


@pytest.mark.parametrize("opening", ["[", "{", '{"a":', "[{1:"])
def test_depth_is_no_danger(opening: str) -> None:
    with pytest.raises(FastJsonError):
        loads(opening * 100_000)


def test_levels_that_are_not_standard_end_somewhere() -> None:
    def nested(levels: int) -> str:
        return "{1:" * levels + "0" + "}" * levels

    assert loads(nested(DEEPEST))
    with pytest.raises(FastJsonError, match="more than"):
        loads(nested(DEEPEST + 1))


@pytest.mark.parametrize("body", ["", " ", "{", "{1}", "{,}", "[1,]", '{"a":1,}', "{} {}", "{]", b"\xff", "{nul:1}"])
def test_what_is_no_json_is_refused(body: str | bytes) -> None:
    with pytest.raises(FastJsonError, match="not "):
        loads(body)


HOSTILE = {
    "numbers as keys": lambda n: "[" + ",".join(["{0:1}"] * n) + "]",
    "objects as keys": lambda n: "{" + ",".join(['{"a":[{}]}:{}'] * n) + "}",
    "keys in keys": lambda n: "{" * n + "}:0}" * (n - 1) + "}",
    "quotes": lambda n: "{0:" + '"' * n,
    "a text without an end": lambda n: "{0:" + '"' + '\\"' * n,
    "backslashes": lambda n: '{0:"' + "\\\\" * n,
    "blanks": lambda n: "{0" + " " * n + "}",
    "lines": lambda n: "[" + "\n{0:1}," * n + "]",
    "numbers": lambda n: "{" + "1" * n,
}


@pytest.mark.slow("time-outs pass")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_no_body_takes_long(make: Callable[[int], str]) -> None:
    """Each takes less than a second; were the time quadratic, minutes would not do."""
    with suppress(FastJsonError):
        loads(make(100_000))
