"""The page of metrics that a broker offers to Prometheus (``metricsExporterType=PROM``), as far as it is read here.

No request tells how many messages clients have popped and not acknowledged (apache/rocketmq 5.3.3: only
``ConsumerLagCalculator`` asks ``PopInflightMessageCounter``). The page has a number for each group and topic.
"""

import asyncio
from collections.abc import Callable, Sequence

from prometheus_client.parser import text_string_to_metric_families

from streaming.collector.wire.connection import Unreachable, allowed_address, why
from streaming.networks import Network

MOST_BYTES = 64 * 1024 * 1024  # a group costs about 3 KB for each of its topics
PIECE_BYTES = 64 * 1024
LINE_BYTES = 4 * 1024
IN_FLIGHT = b"rocketmq_consumer_inflight_messages{"

InFlight = dict[tuple[str, str], int]  # by group and topic


class MetricsPages:
    """The pages of all brokers, at one ``port``. ``allowed`` and ``may_ask``: as in ``RemotingClient``."""

    def __init__(self, port: int, timeout_s: float, allowed: Sequence[Network], may_ask: Callable[[], bool]) -> None:
        self._port, self._timeout_s, self._allowed, self._may_ask = port, timeout_s, allowed, may_ask

    async def in_flight(self, broker: str, address: str) -> InFlight:
        """By the page at the host of a broker's ``address``. Raises Unreachable for one that cannot be used."""
        host = address.rpartition(":")[0].strip("[]")
        try:
            lines = await asyncio.wait_for(self._lines(host), self._timeout_s)
        except TimeoutError:
            raise Unreachable(f"port {self._port}: no page within {self._timeout_s:g} s") from None
        except (OSError, ValueError) as error:
            raise Unreachable(f"port {self._port}: no page: {why(error)}") from None
        return await asyncio.to_thread(_parsed, lines, broker)

    async def _lines(self, host: str) -> bytes:
        """Those that are read, of the whole page. HTTP/1.0: so a page that is made bit by bit comes as it is."""
        place = await allowed_address(host, self._port, self._allowed) if self._allowed else host
        if not self._may_ask():
            raise asyncio.CancelledError("another collector may ask now")
        reader, writer = await asyncio.open_connection(place, self._port, limit=PIECE_BYTES)
        try:
            writer.write(f"GET /metrics HTTP/1.0\r\nHost: {host}:{self._port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if head.split(None, 2)[1:2] != [b"200"]:
                raise ValueError(head.partition(b"\r\n")[0].decode("ascii", "replace"))
            return await _wanted(reader)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise ValueError("the answer is not HTTP") from None
        finally:
            writer.transport.abort()


async def _wanted(reader: asyncio.StreamReader) -> bytes:
    """Lines of numbers in flight. Raises ValueError for a page that is too long."""
    wanted, rest, length = bytearray(), b"", 0
    while piece := await reader.read(PIECE_BYTES):
        length += len(piece)
        if length > MOST_BYTES or len(rest) > LINE_BYTES:
            raise ValueError(f"it is longer than {MOST_BYTES // 2**20} MB, or has lines that are too long")
        whole, _, rest = (rest + piece).rpartition(b"\n")
        if IN_FLIGHT in whole:
            wanted += b"".join(line + b"\n" for line in whole.split(b"\n") if line.startswith(IN_FLIGHT))
    return bytes(wanted)


def _parsed(lines: bytes, broker: str) -> InFlight:
    """By group and topic: of the broker alone, should the port be that of another one on its host.

    And of groups that the broker counts as those of POP: they have a second number, of messages given out again. Of
    other groups the number says how many messages are pulled and not committed. A group that has members at the broker
    is such another one for it (``ConsumerLagCalculator.processAllGroup``). Raises Unreachable for what is no such page.
    """
    found: dict[tuple[str, str], dict[str, int]] = {}
    try:
        for family in text_string_to_metric_families(lines.decode()):
            for sample in family.samples:
                labels = sample.labels
                if labels["node_id"] == broker:
                    place = labels["consumer_group"], labels["topic"]
                    found.setdefault(place, {})[labels["is_retry"]] = max(0, int(sample.value))
    except (ValueError, KeyError, OverflowError) as error:
        raise Unreachable(f"its numbers in flight cannot be read: {error}") from None
    return {place: sum(numbers.values()) for place, numbers in found.items() if numbers.keys() == {"true", "false"}}
