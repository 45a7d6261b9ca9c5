"""Finds where the proxies of a cluster listen: hosts by the brokers' lists of them, ports by their messages.

A proxy in cluster mode is connected to every broker as a consumer of DefaultHeartBeatSyncerTopic. That shows its host.
The port on which it listens is only in the messages that it writes there, one for each heartbeat of a client.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping

from schemas.identity import host_of
from streaming.collector.probing.live_transport import LiveTransport
from streaming.collector.probing.policy import SYNCER_GROUP
from streaming.collector.probing.proxies import REMOTING_PORT, Proxies
from streaming.collector.wire import proxy_messages, reply_parsing, requests
from streaming.collector.wire.answers import NO_MESSAGES, SUCCESS, Connection
from streaming.collector.wire.client import Lane
from streaming.collector.wire.proxy_messages import SYNCER_TOPIC, Listening, Said
from streaming.collector.wire.reply_parsing import Asked

AT_MOST = 16  # messages a time, of some 2 KB each: proxies write them in turn to all brokers, so a few name them all
READ_MS = 300_000  # how often they are read when no proxy is new
NEW_FOR_MS = 300_000  # how long a proxy is new: it writes nothing until it has a client
NEW_READ_MS = 30_000  # how often they are read meanwhile: it may listen on another port than before
MOST_PORTS = 16  # of one host that are kept: those named last
log = logging.getLogger(__name__)


class Ports:
    """The remoting ports of proxies, by the host from which they are connected to brokers. Pure."""

    def __init__(self) -> None:
        self._named: dict[str, dict[int, int]] = {}  # by host: its ports, each with when it was named last

    def take(self, connections: Iterable[Connection], named: Iterable[Listening]) -> None:
        """Ports count of hosts that are connected, and of no others: anybody may write such messages.

        A proxy names the host that it is configured with. If nobody is connected from there, the host is that of a
        client id: it has the address that the machine gives itself.
        """
        by_id: dict[str, set[str]] = {}
        for one in connections:
            if host := _host(one):
                by_id.setdefault(host_of(one.client_id), set()).add(host)
        connected = {host.strip("[]"): host for hosts in by_id.values() for host in hosts}
        for host, port, ts in named:
            named_host = connected.get(host.strip("[]"))
            for found in [named_host] if named_host else by_id.get(host, ()):
                ports = self._named.setdefault(found, {})
                ports[port] = max(ts, ports.get(port, ts))
                if len(ports) > MOST_PORTS:
                    del ports[min(ports, key=lambda one: ports[one])]

    def addresses(self, connections: Iterable[Connection]) -> tuple[list[str], list[str]]:
        """Where these proxies listen; and the addresses that were assumed of them before their ports were known.

        Of a host with so many proxies, so many ports count: those that were named last.
        """
        found, wrong = [], []
        for host, proxies in _hosts(connections).items():
            named = self._named.get(host, {})
            newest = sorted(named, key=lambda port: (named[port], port))[-proxies:] or [REMOTING_PORT]
            found += [f"{host}:{port}" for port in newest]
            if named and REMOTING_PORT not in named:
                wrong.append(f"{host}:{REMOTING_PORT}")
        return found, wrong

    def keep(self, hosts: set[str]) -> None:
        self._named = {host: ports for host, ports in self._named.items() if host in hosts}


class ProxySearch:
    """Belongs to one cluster. It fills ``proxies``."""

    def __init__(self, transport: LiveTransport, cluster: str, proxies: Proxies) -> None:
        self._transport, self._clock, self._cluster, self._proxies = transport, transport.clock, cluster, proxies
        self._ports = Ports()
        self._one_by_one = asyncio.Lock()
        self._connected: dict[str, frozenset[str | None]] = {}  # by broker: the addresses of connections of proxies
        self._new_until_ms = 0
        self._read_ms = -READ_MS
        self._read_up_to: dict[str, int] = {}  # by broker
        self._refusing: dict[str, str] = {}  # by broker: why its messages cannot be read

    async def look(self, broker: str, knows_reader: bool) -> None:
        """Takes the proxies that a broker lists. ``knows_reader``: it gives messages to the group that reads them."""
        reply = await self._transport.ask(broker, requests.connections(SYNCER_GROUP), Lane.TABLES)
        body = reply_parsing.connections(reply, Asked(self._cluster, broker, SYNCER_GROUP)).body
        connections = (body.connection_set if body is not None else None) or ()
        async with self._one_by_one:  # what one broker's messages say is known before another one's list is taken
            if connections and knows_reader and self._is_to_be_read(broker, connections):
                self._ports.take(connections, await self._read(broker))
        addresses, wrong = self._ports.addresses(connections)
        for news in self._proxies.found(addresses, self._clock.steady_ms(), wrong):
            log.info("%s: %s", self._cluster, news)
        self._ports.keep({address.rpartition(":")[0] for address in self._proxies.addresses.values()})

    def forget(self, broker: str) -> None:
        for known in (self._connected, self._read_up_to, self._refusing):
            known.pop(broker, None)

    def _is_to_be_read(self, broker: str, connections: Iterable[Connection]) -> bool:
        now = self._clock.steady_ms()
        listed, known = frozenset(one.address for one in connections), self._connected.get(broker, frozenset())
        self._connected[broker] = listed
        if listed - known:
            self._new_until_ms = now + NEW_FOR_MS
        rest_ms = NEW_READ_MS if now < self._new_until_ms else READ_MS
        return now >= self._read_ms + rest_ms and not self._is_read_later(broker)

    def _is_read_later(self, broker: str) -> bool:
        """It gave no messages, and another one may."""
        return broker in self._refusing and len(self._refusing) < len(self._connected)

    async def _read(self, broker: str) -> tuple[Listening, ...]:
        before_ms, self._read_ms = self._read_ms, self._clock.steady_ms()
        said = await self._newest_messages(broker)
        if isinstance(said, str):
            self._note_refusal(broker, said)
            self._read_ms = before_ms if self._is_read_later(broker) else self._read_ms
            return ()
        self._refusing.pop(broker, None)
        if said.unreadable:
            log.warning(
                "%s: %d messages of %s at %s are unreadable", self._cluster, said.unreadable, SYNCER_TOPIC, broker
            )
        return said.proxies

    def _note_refusal(self, broker: str, why: str) -> None:
        if not self._refusing:
            log.warning(
                "%s: %s does not give the messages of %s: %s. If no broker does, proxies are assumed at port %d; name "
                "those of other ports in collector.proxies", self._cluster, broker, SYNCER_TOPIC, why, REMOTING_PORT
            )  # fmt: skip
        self._refusing[broker] = why

    async def _newest_messages(self, broker: str) -> Said | str:
        """What was written since the last time, but not more than the newest ones. Else why they cannot be read."""
        reply = await self._transport.ask(broker, requests.max_offset(SYNCER_TOPIC, 0), Lane.TABLES)
        end = reply_parsing.offset(reply)
        if end is None:
            return reply.refusal or reply.error or "no offset"
        read = self._read_up_to.get(broker, 0)
        begin = max(end - AT_MOST, read if read <= end else 0, 0)
        if begin == end:
            return Said((), 0, end)
        reply = await self._transport.ask(broker, requests.messages(SYNCER_TOPIC, 0, begin, AT_MOST), Lane.TABLES)
        if reply.frame is None or reply.frame.code not in (SUCCESS, *NO_MESSAGES):
            return reply.refusal or reply.error or "no answer"
        said = proxy_messages.said(reply)
        self._read_up_to[broker] = end if said.next_offset is None else said.next_offset
        return said


def _hosts(connections: Iterable[Connection]) -> Mapping[str, int]:
    """How many proxies are connected from each host."""
    return Counter(filter(None, map(_host, connections)))


def _host(connection: Connection) -> str:
    return (connection.address or "").rpartition(":")[0]
