"""A record's bytes give an event or a reason, and nothing else."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from schemas.events import EVENT_TYPES, AnyEvent, Round, encode_event
from schemas.records import (
    EARLIEST_TS,
    MAX_AHEAD_OF_ARRIVAL_MS,
    MAX_RECORD_BYTES,
    Rejected,
    decode_record,
    group_key,
    record_values,
)

TS = 1_700_000_000_000
SAMPLES = [path.read_bytes() for path in sorted(Path(__file__).with_name("samples").glob("*.json"))]
PLAIN = (
    b'{"event":"round","schema":1,"cluster":"prod","group":"orders","ts":1700000000000,"round":1,"seq":0,'
    b'"brokers":[],"started_ts":1700000000000}'
)


def decode(value: bytes | None, *, key: bytes | None = None, arrival_ts: int | None = None) -> AnyEvent | Rejected:
    (decoded,) = decode_record(key, value, len(value or b""), arrival_ts)
    return decoded


def reason(value: bytes | None, *, key: bytes | None = None, arrival_ts: int | None = None) -> str | None:
    outcome = decode(value, key=key, arrival_ts=arrival_ts)
    return outcome.reason if isinstance(outcome, Rejected) else None


def with_group(text: bytes) -> bytes:
    return PLAIN.replace(b'"orders"', b'"' + text + b'"')


def with_unknown(text: bytes) -> bytes:
    return PLAIN[:-1] + b',"invented":' + text + b"}"


def with_seq(text: bytes) -> bytes:
    return PLAIN.replace(b'"seq":0', b'"seq":' + text)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (None, PLAIN),
        (None, b" \r\n\t" + PLAIN + b"\n"),
        ("null_value", None),
        ("bad_json", b""),
        ("bad_json", b"  \n"),
        ("bad_json", PLAIN[:-1]),
        ("bad_json", PLAIN + PLAIN),
        ("bad_json", PLAIN.replace(b'"', b"'")),
        ("bad_json", b"\xef\xbb\xbf" + PLAIN),  # a byte order mark is not JSON
        ("bad_json", with_seq(b"NaN")),
        ("bad_json", with_seq(b"Infinity")),
        ("bad_json", with_seq(b"01")),
        ("bad_json", with_unknown(b"NaN")),
        ("bad_json", with_group(b"\x01")),
        ("bad_json", with_group(b"\\x41")),
        ("bad_field", b"null"),
        ("bad_field", b"7"),
        ("bad_field", b'"heartbeat"'),
        (None, b"[" + PLAIN + b"]"),
        ("bad_field", b"{}"),
        ("bad_field", PLAIN.replace(b'"event":"round",', b"")),
        ("bad_field", PLAIN.replace(b'"event":"round"', b'"event":"raund"')),
        ("bad_field", PLAIN.replace(b'"schema":1', b'"schema":2')),
        ("bad_field", PLAIN.replace(b'"brokers":[],', b"")),
        ("bad_field", PLAIN.replace(b'"brokers":[]', b'"brokers":[null]')),
        ("bad_field", PLAIN.replace(b'"cluster":"prod"', b'"cluster":"prod/eu"')),
        ("bad_field", with_group(b"")),
        ("bad_field", with_seq(b"-1")),
        ("bad_field", with_seq(b"0.0")),
        ("bad_field", with_seq(b"1e3")),
        ("bad_field", with_seq(b"null")),
        ("bad_field", with_seq(b'"0"')),
        ("bad_field", with_seq(b"false")),
        ("bad_field", with_seq(b"9223372036854775808")),
        ("bad_field", with_seq(b"9" * 10_000)),
        ("bad_utf8", b"\xff" + PLAIN),
        ("bad_utf8", PLAIN.decode().encode("utf-16")),
        ("bad_utf8", with_group(b"or\xffders")),
        ("bad_utf8", with_group(b"\xe4\xb8")),
        ("bad_utf8", with_group(b"\xc0\xaf")),  # overlong
        ("bad_utf8", with_group(b"\xed\xa0\x80")),  # a surrogate
        ("bad_utf8", with_unknown(b'"\xff"')),
        ("bad_utf8", PLAIN[:-1] + b',"\xff":1}'),
        ("absurd_time", PLAIN.replace(b'"ts":1700000000000', b'"ts":1700000000')),
        ("absurd_time", PLAIN.replace(b'"ts":1700000000000', b'"ts":0')),
    ],
)
def test_reason(expected: str | None, value: bytes | None) -> None:
    assert reason(value) == expected


@pytest.mark.parametrize("escape", [b"\\ud800", b"\\udc00", b"\\ud800x", b"\\ud800\\ud800", b"\\udc00\\ud800"])
def test_lone_surrogate_is_refused_wherever_it_stands(escape: bytes) -> None:
    """It could be written neither as UTF-8 nor as JSON again."""
    assert reason(with_group(escape)) == "bad_json"
    assert reason(with_unknown(b'"' + escape + b'"')) == "bad_json"


def test_surrogate_pair_is_the_character_it_stands_for() -> None:
    event = decode(with_group(b"\\ud83d\\ude00"))
    assert isinstance(event, Round)
    assert event.group == "\U0001f600"


@pytest.mark.parametrize("deep", [b"[" * 60_000 + b"]" * 60_000, b'{"a":' * 20_000 + b"1" + b"}" * 20_000])
def test_deep_nesting_is_refused(deep: bytes) -> None:
    assert reason(with_unknown(deep)) == "bad_json"
    assert reason(deep) in ("bad_json", "bad_field")


def test_deep_nesting_of_a_megabyte_is_too_long() -> None:
    assert reason(b"[" * 1_000_000) == "too_long"


def test_length_is_judged_before_the_cut() -> None:
    cut = PLAIN[:100]
    (rejected,) = decode_record(None, cut, MAX_RECORD_BYTES + 1, None)
    assert rejected == Rejected("too_long", f"{MAX_RECORD_BYTES + 1} bytes; the limit is {MAX_RECORD_BYTES}")


def test_longest_event_is_accepted() -> None:
    filling = MAX_RECORD_BYTES - len(with_unknown(b'""'))
    longest = with_unknown(b'"' + b"x" * filling + b'"')
    assert len(longest) == MAX_RECORD_BYTES
    assert reason(longest) is None
    assert reason(longest + b" ") == "too_long"


@pytest.mark.parametrize(
    ("expected", "key"),
    [
        (None, b"prod/orders"),
        ("key_mismatch", b"prod/order"),
        ("key_mismatch", b"orders"),
        ("key_mismatch", b"PROD/orders"),
        ("key_mismatch", b""),
        ("key_mismatch", b"\xff"),
        ("key_mismatch", None),
    ],
)
def test_key_must_be_the_payloads(expected: str | None, key: bytes | None) -> None:
    assert reason(PLAIN, key=key, arrival_ts=TS) == expected


def test_key_of_another_script_matches() -> None:
    assert reason(with_group("订单/😀".encode()), key="prod/订单/😀".encode(), arrival_ts=TS) is None


def test_line_of_a_file_needs_no_key_but_a_given_one_must_match() -> None:
    assert reason(PLAIN) is None
    assert reason(PLAIN, key=b"prod/other") == "key_mismatch"


def test_detail_of_a_long_key_is_cut() -> None:
    outcome = decode(PLAIN, key=b"k" * 100_000, arrival_ts=TS)
    assert isinstance(outcome, Rejected)
    assert len(outcome.detail) < 400


@pytest.mark.parametrize(
    ("expected", "ts", "arrival_ts"),
    [
        (None, EARLIEST_TS, None),
        ("absurd_time", EARLIEST_TS - 1, None),
        (None, TS + MAX_AHEAD_OF_ARRIVAL_MS, TS),
        ("absurd_time", TS + MAX_AHEAD_OF_ARRIVAL_MS + 1, TS),
        (None, TS + MAX_AHEAD_OF_ARRIVAL_MS + 1, None),
        (None, EARLIEST_TS, TS),  # however late it arrives
        ("bad_field", 253_402_300_800_000, None),  # after the year 9999
    ],
)
def test_time_has_bounds(expected: str | None, ts: int, arrival_ts: int | None) -> None:
    value = PLAIN.replace(b'"ts":1700000000000', b'"ts":%d' % ts)
    assert reason(value, key=b"prod/orders", arrival_ts=arrival_ts) == expected


def test_the_last_of_two_equal_keys_counts() -> None:
    event = decode(PLAIN[:-1] + b',"seq":5}')
    assert isinstance(event, Round)
    assert event.seq == 5


def test_event_name_may_stand_last() -> None:
    assert decode(PLAIN.replace(b'"event":"round",', b"")[:-1] + b',"event":"round"}') == decode(PLAIN)


def test_detail_says_what_and_where() -> None:
    outcome = decode(PLAIN.replace(b'"brokers":[]', b'"brokers":[{"broker_name":"a","answered":1}]'))
    assert outcome == Rejected("bad_field", "Expected `bool`, got `int` - at `$.brokers[0].answered`")
    assert decode(with_group(b"\xff")) == Rejected("bad_utf8", "invalid start byte at byte 54")


@given(st.binary(), st.none() | st.binary(max_size=20), st.none() | st.integers(0, 2**63))
def test_any_bytes_give_an_outcome(value: bytes, key: bytes | None, arrival_ts: int | None) -> None:
    assert isinstance(decode(value, key=key, arrival_ts=arrival_ts), (*EVENT_TYPES, Rejected))


FRAGMENTS = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\ud800", b"\\u0000", b"null", b"-1", b"1e400", b"9" * 400]


@pytest.mark.slow("many documents")
@given(st.data())
def test_any_damage_to_an_event_gives_an_outcome(data: st.DataObject) -> None:
    """Bytes that are nearly right reach further than bytes at random. What is accepted can be written again."""
    value = data.draw(st.sampled_from(SAMPLES))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(value)))
        end = data.draw(st.integers(start, min(len(value), start + 8)))
        value = value[:start] + data.draw(st.binary(max_size=4) | st.sampled_from(FRAGMENTS)) + value[end:]
    outcome = decode(value)
    if not isinstance(outcome, Rejected):
        assert decode(encode_event(outcome)) == outcome


def instances(described: inspect.Type) -> st.SearchStrategy[Any]:
    """Any value that a type as msgspec describes it allows, and a sensible ``ts``."""
    match described:
        case inspect.StructType(cls=cls, fields=fields):
            values = {field.name: instances(field.type) for field in fields}
            return st.builds(cls, **values | ({"ts": st.integers(EARLIEST_TS, 10**14)} if "ts" in values else {}))
        case inspect.IntType(ge=ge, le=le):
            return st.integers(ge, le)
        case inspect.StrType(min_length=shortest, max_length=longest, pattern=pattern):
            refused = ["/"] if pattern else []
            characters = st.characters(codec="utf-8", exclude_characters=refused)
            return st.text(characters, min_size=shortest or 0, max_size=min(longest or 20, 20))
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.VarTupleType(item_type=item):
            return st.lists(instances(item), max_size=3).map(tuple)
        case inspect.UnionType(types=types):
            return st.one_of(*map(instances, types))
        case inspect.Metadata(type=inner):
            return instances(inner)
    raise AssertionError(f"no strategy for {described}")


EVENTS = st.one_of(*(instances(inspect.type_info(event)) for event in EVENT_TYPES))


@pytest.mark.slow("a tenth of a second of work and more")
@given(EVENTS)
def test_any_event_survives_the_wire(event: AnyEvent) -> None:
    key = group_key(event.cluster, event.group).encode()
    assert decode(encode_event(event), key=key, arrival_ts=event.ts) == event


@pytest.mark.slow("a tenth of a second of work and more")
@given(
    EVENTS,
    st.dictionaries(st.text(min_size=30), st.integers() | st.text()),
)
def test_unknown_fields_change_nothing(event: AnyEvent, unknown: dict[str, object]) -> None:
    written = json.dumps(unknown | msgspec.to_builtins(event)).encode()
    assert decode(written) == event


KEY = b"prod/orders"


def array(*values: bytes) -> bytes:
    return b"[" + b",".join(values) + b"]"


def test_an_array_of_events_is_read_in_its_order() -> None:
    decoded = decode_record(KEY, array(with_seq(b"1"), with_seq(b"2")), 1, TS)
    assert [event.seq for event in decoded if not isinstance(event, Rejected)] == [1, 2]


def test_a_bad_event_in_an_array_is_rejected_with_its_place_and_no_other() -> None:
    bad = with_seq(b'"x"')
    before, rejected, after = decode_record(KEY, array(PLAIN, bad, PLAIN), 1, TS)
    assert before == after == decode(PLAIN)
    assert isinstance(rejected, Rejected)
    assert (rejected.reason, rejected.value) == ("bad_field", bad)
    assert rejected.detail.startswith("event 2 of 3 in the record: Expected `int`")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"[]", "bad_field"),
        (array(PLAIN)[:-1], "bad_json"),
        (b"[[]]", "bad_field"),
        (b"[" * 100_000, "bad_field"),
        (array(PLAIN.replace(b"orders", b"\xff")), "bad_utf8"),
    ],
)
def test_what_is_no_array_of_events_is_rejected(value: bytes, expected: str) -> None:
    assert reason(value, key=KEY, arrival_ts=TS) == expected


@pytest.mark.parametrize("key", [KEY, None])
def test_an_event_of_another_group_in_an_array_is_rejected(key: bytes | None) -> None:
    own, other = decode_record(key, array(PLAIN, with_group(b"other")), 1, None if key is None else TS)
    assert own == decode(PLAIN)
    assert isinstance(other, Rejected)
    assert other.reason == "key_mismatch"


@given(st.lists(st.integers(1, MAX_RECORD_BYTES), max_size=6))
def test_events_are_joined_in_their_order_within_the_limit(sizes: list[int]) -> None:
    encoded = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    joined = list(record_values(encoded))
    assert all(len(record.value) <= MAX_RECORD_BYTES for record in joined)
    parts = [record.value[1:-1].split(b",") if record.events > 1 else [record.value] for record in joined]
    assert [event for part in parts for event in part] == encoded
    assert [record.events for record in joined] == [len(part) for part in parts]
