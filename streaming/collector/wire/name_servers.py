"""Asks several name servers: first the one that answered last, then the others."""

import asyncio
from collections.abc import Iterable, Sequence

from streaming.collector.wire.answers import REQUEST_CODE_NOT_SUPPORTED
from streaming.collector.wire.client import RemotingClient, Reply
from streaming.collector.wire.requests import Request

PATIENCE_S = 1  # with those that are asked besides the first that answers
# Brokers and proxies do not know requests to name servers (``NettyRemotingAbstract.processRequestCommand``).
NO_NAME_SERVER = "this is no name server, but perhaps a broker or proxy; name servers listen on port 9876 as a rule"


class NameServers:
    def __init__(self, client: RemotingClient, addresses: Sequence[str], timeout_s: float) -> None:
        self.addresses = tuple(addresses)
        self._client = client
        self._timeout_s = timeout_s
        self._preferred = 0

    async def ask(self, request: Request) -> tuple[str | None, Reply]:
        """The first answer and whose it is; if nobody gives one, the last failure, with every name server's reason."""
        failures = []
        first = self._preferred
        for step in range(len(self.addresses)):
            number = (first + step) % len(self.addresses)
            reply = await self._client.ask(self.addresses[number], request, self._timeout_s)
            if reply.frame is not None and reply.frame.code != REQUEST_CODE_NOT_SUPPORTED:
                self._preferred = number
                return self.addresses[number], reply
            why = reply.error if reply.frame is None else f"{reply.refusal}; {NO_NAME_SERVER}"
            failures.append(f"{self.addresses[number]}: {why}")
        return None, reply._replace(frame=None, error="; ".join(failures))

    async def ask_besides(self, request: Request, addresses: Iterable[str]) -> dict[str, Reply]:
        """Returns what these answer within a second, failures too: nobody waits longer for one that hangs."""
        asked = {a: asyncio.ensure_future(self._client.ask(a, request, self._timeout_s)) for a in addresses}
        if asked:
            await asyncio.wait(asked.values(), timeout=PATIENCE_S)
        return {address: task.result() for address, task in asked.items() if task.done()}
