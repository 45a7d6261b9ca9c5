"""When the clients of each broker last sent heartbeats. For a while one answer of a broker serves all groups."""

import asyncio
from collections.abc import Awaitable, Callable

from streaming.collector.wire import bodies
from streaming.collector.wire.answers import ChannelHeartbeat
from streaming.collector.wire.client import Reply

COUNTS_MS = 10_000

Channels = dict[str, tuple[ChannelHeartbeat, ...]]


class LastHeartbeats:
    """``ask``: asks a broker for its producers, by its name."""

    def __init__(self, ask: Callable[[str], Awaitable[Reply]], steady_ms: Callable[[], int]) -> None:
        self._ask, self._steady_ms = ask, steady_ms
        self._asked: dict[str, tuple[int, asyncio.Task[tuple[Reply, Channels]]]] = {}

    async def of(self, broker: str) -> tuple[Reply, Channels]:
        """The reply, and the connections by client id; none where the broker does not say."""
        now = self._steady_ms()
        self._asked = {name: one for name, one in self._asked.items() if now - one[0] < COUNTS_MS}
        if broker not in self._asked:
            self._asked[broker] = now, asyncio.get_running_loop().create_task(self._read(broker))
        return await asyncio.shield(self._asked[broker][1])

    async def _read(self, broker: str) -> tuple[Reply, Channels]:
        reply = await self._ask(broker)
        return reply, bodies.last_heartbeats(reply)
