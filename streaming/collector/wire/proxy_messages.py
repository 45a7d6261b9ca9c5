"""What proxies tell each other of themselves: the messages of the topic DefaultHeartBeatSyncerTopic, read.

A proxy writes one for each heartbeat of a client (``HeartbeatSyncer``). Its ``localProxyId`` is the host of the proxy,
its remoting port and its gRPC port.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct, field

from streaming.collector.wire.answers import SUCCESS
from streaming.collector.wire.client import Reply
from streaming.collector.wire.reply_parsing import number_in

SYNCER_TOPIC = "DefaultHeartBeatSyncerTopic"
# MessageDecoder.decode: size, magic, CRC of the body, queue id, flag, queue offset, position, system flag, born
_BEFORE_HOSTS = struct.Struct(">iIiiiqqiq")
_MAGICS = (0xDAA320A7, 0xDAA320AB)  # MessageDecoder.MESSAGE_MAGIC_CODE and _V2
_COMPRESSED, _BORN_AT_V6, _STORED_AT_V6 = 1, 1 << 4, 1 << 5  # MessageSysFlag; proxies compress nothing
_V4, _V6 = 4 + 4, 16 + 4  # an address with its port
_BEFORE_BODY = struct.Struct(">iqi")  # times consumed before, offset of the transaction, length of the body
CRC_BITS = 0x7FFFFFFF  # UtilAll.crc32


class Listening(NamedTuple):
    """A proxy by its own words, at ``ts`` (epoch milliseconds, by the clock of the broker that stored them)."""

    host: str
    remoting_port: int
    ts: int


class Said(NamedTuple):
    """``next_offset``: where the queue is to be read on. ``unreadable``: how many messages could not be read."""

    proxies: tuple[Listening, ...]
    unreadable: int
    next_offset: int | None


class _Syncer(Struct):
    """``HeartbeatSyncerData``, as far as it is of use."""

    local_proxy_id: str = field(name="localProxyId")


_decode = msgspec.json.Decoder(_Syncer).decode


def said(reply: Reply) -> Said:
    """Takes an answer to 11; there are no messages in one that has another code than 0."""
    assert reply.frame is not None
    found = list(_messages(reply.frame.body)) if reply.frame.code == SUCCESS else []
    proxies = tuple(one for one in found if one is not None)
    return Said(proxies, len(found) - len(proxies), number_in(reply.frame.ext_fields, "nextBeginOffset"))


def _messages(body: bytes) -> Iterator[Listening | None]:
    """Each of the messages; None: it cannot be read. What follows a wrong size cannot be read either."""
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        if not _BEFORE_HOSTS.size <= size <= len(body) - at:
            yield None
            return
        try:
            yield _message(body[at : at + size])
        except (ValueError, struct.error, msgspec.DecodeError, RecursionError):
            yield None
        at += size


def _message(message: bytes) -> Listening:
    _, magic, crc, _, _, _, _, flags, _ = _BEFORE_HOSTS.unpack_from(message)
    if magic not in _MAGICS or flags & _COMPRESSED:
        raise ValueError("no message, or a compressed one")
    at = _BEFORE_HOSTS.size + (_V6 if flags & _BORN_AT_V6 else _V4)
    (ts,) = struct.unpack_from(">q", message, at)
    at += 8 + (_V6 if flags & _STORED_AT_V6 else _V4)
    _, _, length = _BEFORE_BODY.unpack_from(message, at)
    at += _BEFORE_BODY.size
    body = message[at : at + length]
    if length <= 0 or len(body) < length or crc32(body) & CRC_BITS != crc:
        raise ValueError("the body is not whole")
    host, port = _host_and_port(_decode(body).local_proxy_id)
    return Listening(host, port, ts)


def _host_and_port(proxy_id: str) -> tuple[str, int]:
    """The host may have a % of its own: an IPv6 address with its zone."""
    host, port, _ = proxy_id.rsplit("%", 2)
    if not host or not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 1 << 16):
        raise ValueError("no host and port")
    return host, int(port)
