"""What proxies write to their own topic, read from an answer of a broker: damaged messages are counted and ignored."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.collector.wire.answers import NO_MESSAGES
from streaming.collector.wire.client import Reply
from streaming.collector.wire.frames import Frame
from streaming.collector.wire.proxy_messages import Listening, Said, said
from testing.fake_rocketmq import STORED_TS, message, syncer_message

CAPTURE = (Path(__file__).parent / "captures" / "syncer_messages.bin").read_bytes()
ONE, OTHER = syncer_message("10.0.0.5%9090%8081"), syncer_message("10.0.0.6%9091%8081", STORED_TS + 1)
FIRST, SECOND = Listening("10.0.0.5", 9090, STORED_TS), Listening("10.0.0.6", 9091, STORED_TS + 1)


def read(body: bytes, code: int = 0, following: object = "7") -> Said:
    return said(Reply(0, 1, Frame(code, 1, True, None, body, {"nextBeginOffset": following})))


def test_a_broker_gives_what_both_proxies_wrote() -> None:
    found = read(CAPTURE)
    assert (found.unreadable, {one.host for one in found.proxies}) == (0, {"127.0.0.1"})
    assert len({one.remoting_port for one in found.proxies}) == 2


def test_messages_one_after_the_other() -> None:
    assert read(ONE + OTHER) == Said((FIRST, SECOND), 0, 7)
    assert read(b"") == Said((), 0, 7)


@pytest.mark.parametrize("code", NO_MESSAGES)
def test_where_to_read_on_when_there_are_none(code: int) -> None:
    assert read(ONE, code) == Said((), 0, 7)
    assert [read(b"", code, text).next_offset for text in ("", "-1", "x", None, "9" * 30)] == [None] * 5


@pytest.mark.parametrize("flags", [16, 32, 48])
def test_addresses_of_ipv6_are_longer(flags: int) -> None:
    assert read(syncer_message("fe80::1%eth0%9090%8081", flags=flags) + OTHER).proxies == (
        Listening("fe80::1%eth0", 9090, STORED_TS),
        SECOND,
    )


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"{}", b'{"localProxyId":7}', b'{"localProxyId":"10.0.0.5"}', b'{"localProxyId":"%9090%1"}',
        b'{"localProxyId":"h%0%1"}', b'{"localProxyId":"h%65536%1"}', b'{"localProxyId":"h%-1%1"}', b"\xff" * 90,
        b'{"localProxyId":"h%9090909090909090%1"}', '{"localProxyId":"h%９%1"}'.encode(), b'[' * 90_000,
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_counted_and_the_next_one_is_read(body: bytes) -> None:
    assert read(message(body) + OTHER) == Said((SECOND,), 1, 7)


def test_a_changed_body_another_magic_and_a_compressed_message_are_not_believed() -> None:
    for damaged in (
        ONE.replace(b"9090", b"9092"),
        ONE.replace(b"\xa3\x20", b"\xa3\x21"),
        syncer_message("h%1%1", flags=1),
    ):
        assert read(damaged + OTHER) == Said((SECOND,), 1, 7)


@given(st.data())
def test_no_damage_ends_the_reading_with_an_error(data: st.DataObject) -> None:
    body = bytearray(ONE + OTHER)
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=4)):
        body[place] = data.draw(st.integers(0, 255))
    found = read(bytes(body[: data.draw(st.integers(0, len(body)))]))
    assert {one[:2] for one in found.proxies} <= {FIRST[:2], SECOND[:2]}
