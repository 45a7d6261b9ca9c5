"""Frames of the remoting protocol (``RemotingCommand``): values to bytes and back, no sockets.

A frame is 4 bytes of length of all that follows, 1 byte serialisation (0: JSON), 3 bytes header length, header, body;
numbers are big-endian. A request's ``opaque`` comes back in its answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from streaming.errors import CollectorError

LONGEST_HEADER = 64 * 1024  # of an answer; requests of a broker's own are as short
IS_RESPONSE = 1  # bit 0 of `flag`
JSON = 0
LANGUAGE = "PYTHON"


class FrameError(CollectorError):
    """Bytes that are no frame: their sender does not speak the remoting protocol."""


class Frame(Struct, frozen=True):
    """A frame that came: an answer where ``is_response``, else a request of the other side's own."""

    code: int
    opaque: int
    is_response: bool
    remark: str | None
    body: bytes
    ext_fields: Any = None  # what short answers say: texts by name


class _Header(Struct):
    code: int
    opaque: int
    flag: int = 0
    remark: str | None = None
    ext_fields: Any = field(name="extFields", default=None)


_decode_header = msgspec.json.Decoder(_Header).decode
_encode = msgspec.json.Encoder().encode


def encode_request(code: int, opaque: int, ext_fields: Mapping[str, str], body: bytes = b"") -> bytes:
    """The bytes of a request. ``version`` 0: brokers answer any version, and keep nothing of it."""
    header = _encode({
        "code": code, "language": LANGUAGE, "version": 0, "opaque": opaque, "flag": 0,
        "serializeTypeCurrentRPC": "JSON", "extFields": ext_fields,
    })  # fmt: skip
    length = 4 + len(header) + len(body)
    return length.to_bytes(4, "big") + bytes((JSON,)) + len(header).to_bytes(3, "big") + header + body


class FrameReader:
    """Bytes as they come, in pieces of any size, to whole frames."""

    def __init__(self) -> None:
        self._pending = bytearray()

    @property
    def held(self) -> int:
        """Bytes of a frame that is not whole."""
        return len(self._pending)

    def feed(self, data: bytes, most_bytes: int) -> Iterator[Frame]:
        """The frames that are complete now; ``most_bytes``: of a body. After a FrameError the stream is of no use."""
        self._pending += data
        while (length := self._length(most_bytes)) is not None and len(self._pending) >= 4 + length:
            frame = bytes(memoryview(self._pending)[4 : 4 + length])
            del self._pending[: 4 + length]
            yield _decode(frame)

    def _length(self, most_bytes: int) -> int | None:
        if len(self._pending) < 4:
            return None
        length = int.from_bytes(self._pending[:4], "big")
        if not 4 <= length <= most_bytes + LONGEST_HEADER:
            raise FrameError(f"a frame of {length} bytes; from 4 to {most_bytes + LONGEST_HEADER} are believed")
        return length


def _decode(frame: bytes) -> Frame:
    serialisation, header_length = frame[0], int.from_bytes(frame[1:4], "big")
    if serialisation != JSON:
        raise FrameError(f"headers serialised as {serialisation}; only JSON ({JSON}) was asked for")
    if header_length > len(frame) - 4:
        raise FrameError(f"a header of {header_length} bytes in a frame of {len(frame)}")
    try:
        header = _decode_header(frame[4 : 4 + header_length])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"an unreadable header: {error}") from None
    is_response = bool(header.flag & IS_RESPONSE)
    return Frame(header.code, header.opaque, is_response, header.remark, frame[4 + header_length :], header.ext_fields)
