"""Whether brokers of a cluster would answer a collector that does not ask it, by the smallest requests that show it."""

import asyncio
from collections.abc import Iterable, Sequence

from streaming.collector.wire import reply_parsing, requests
from streaming.collector.wire.client import RemotingClient, Reply
from streaming.collector.wire.requests import Request

WITHIN_S = 1  # for each of the two steps; who is answered only later would hardly do better than the one that asks
GROUP = "evenkeel_standby"  # does not exist: a broker looks for it in one table in memory


async def is_answered(client: RemotingClient, name_servers: Sequence[str]) -> bool:
    """Asks each name server for the brokers, and each broker once. A refusal is an answer: others get it, too."""
    brokers: set[str] = set()
    for reply in await _asked(client, name_servers, requests.cluster_info()):
        brokers |= set((reply_parsing.broker_addresses(reply)[0] or {}).values())
    replies = await _asked(client, brokers, requests.consumer_list(GROUP))
    return any(reply.frame is not None for reply in replies)


async def _asked(client: RemotingClient, addresses: Iterable[str], request: Request) -> list[Reply]:
    """The replies that come in time."""
    asking = [asyncio.ensure_future(client.ask(address, request, WITHIN_S)) for address in addresses]
    if not asking:
        return []
    done, late = await asyncio.wait(asking, timeout=WITHIN_S)
    for one in late:
        one.cancel()
    return [one.result() for one in done]
