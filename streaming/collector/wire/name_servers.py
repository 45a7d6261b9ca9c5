"""Several name servers that hold the same: the one that answered last is asked, then the others in turn."""

from collections.abc import Sequence

from streaming.collector.wire.client import RemotingClient, Reply
from streaming.collector.wire.requests import Request


class NameServers:
    def __init__(self, client: RemotingClient, addresses: Sequence[str], timeout_s: float) -> None:
        self.addresses = tuple(addresses)
        self._client = client
        self._timeout_s = timeout_s
        self._preferred = 0

    async def ask(self, request: Request) -> Reply:
        """The first answer; if nobody gives one, the last failure, with every name server's reason."""
        failures = []
        first = self._preferred
        for step in range(len(self.addresses)):
            number = (first + step) % len(self.addresses)
            reply = await self._client.ask(self.addresses[number], request, self._timeout_s)
            if reply.frame is not None:
                self._preferred = number
                return reply
            failures.append(f"{self.addresses[number]}: {reply.error}")
        return reply._replace(error="; ".join(failures))
