"""Frames: what is written is what is read, however the bytes are cut; what is no frame says so."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.collector.wire.frames import LONGEST_HEADER, Frame, FrameError, FrameReader, encode_request


def response(opaque: int, code: int = 0, body: bytes = b"", remark: str | None = None) -> bytes:
    """As a broker writes it: other fields than ours, in another order."""
    header = {"code": code, "extFields": {}, "flag": 1, "language": "JAVA", "opaque": opaque, "version": 479}
    written = json.dumps(header | ({"remark": remark} if remark else {})).encode()
    length = 4 + len(written) + len(body)
    return length.to_bytes(4, "big") + b"\0" + len(written).to_bytes(3, "big") + written + body


def test_request_is_laid_out_as_rocketmq_reads_it() -> None:
    data = encode_request(38, 7, {"consumerGroup": "订单"}, b"xyz")
    header_length = int.from_bytes(data[5:8], "big")
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert data[4] == 0
    assert data[8 + header_length :] == b"xyz"
    header = json.loads(data[8 : 8 + header_length])
    assert (header["code"], header["opaque"], header["flag"]) == (38, 7, 0)
    assert header["extFields"] == {"consumerGroup": "订单"}


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.binary(max_size=30)), max_size=4), st.data())
def test_frames_are_the_same_however_they_are_cut(sent: list[tuple[int, bytes]], data: st.DataObject) -> None:
    stream = b"".join(response(opaque, body=body) for opaque, body in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reader = FrameReader()
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    read = [frame for piece in pieces for frame in reader.feed(piece, 100)]
    assert read == [Frame(0, opaque, True, None, body, {}) for opaque, body in sent]


def test_request_of_the_other_side_is_told_from_an_answer() -> None:
    (frame,) = FrameReader().feed(encode_request(40, 3, {}), 0)
    assert not frame.is_response


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        (3).to_bytes(4, "big"),
        (100 + LONGEST_HEADER + 1).to_bytes(4, "big"),
        b"\0\0\0\x04" + b"\0\xff\xff\xff",  # a header longer than its frame
        b"\0\0\0\x06" + b"\0\0\0\x02[]",
        b"\0\0\0\x06" + b"\0\0\0\x02\xff\xff",
        b"\0\0\0\x06" + b"\1\0\0\x02{}",  # RocketMQ's binary headers were not asked for
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FrameError):
        list(FrameReader().feed(data, 100))


@given(st.binary(max_size=200))
def test_any_bytes_raise_nothing_else(data: bytes) -> None:
    with suppress(FrameError):
        list(FrameReader().feed(data, 100))
