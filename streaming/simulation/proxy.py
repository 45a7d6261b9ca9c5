"""A proxy in cluster mode: the clients that it lists, its own and those of which other proxies tell it.

It has no state but its lists: these are what differs between proxies. ``pop_fleet`` says when they change.
"""

from dataclasses import dataclass, field

from schemas.identity import proxy_name
from streaming.collector.probing.proxies import REMOTING_PORT
from streaming.collector.wire.answers import Connection, ConsumerConnection

CHANNEL_EXPIRED_MS = 120_000  # ProxyConfig.channelExpiredTimeout
SCAN_MS = 10_000  # ClientHousekeepingService
HEARTBEAT_MS = 10_000  # of a gRPC client
SYNC_MS = (10, 2_000)  # until another proxy has read what was written to DefaultHeartBeatSyncerTopic
LISTED = 1 << 62  # a connection that is alive does not expire


@dataclass(slots=True, eq=False)
class Proxy:
    """A proxy. ``is_up``: its process runs; ``answers``: it answers requests in time.

    ``listed``: connections, and when each expires. A client that has connected again is listed once more until its old
    connection expires.
    """

    host: str
    is_up: bool = True
    answers: bool = True
    listed: dict[Connection, int] = field(default_factory=dict)
    consume_type: str = ""
    topics: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return f"{self.host}:{REMOTING_PORT}"

    @property
    def name(self) -> str:
        """Its name in events."""
        return proxy_name(self.address)

    def client_ids(self, now: int) -> list[str]:
        return [connection.client_id for connection in self._alive(now)]

    def body(self, now: int) -> ConsumerConnection | None:
        """GET_CONSUMER_CONNECTION_LIST. None: CONSUMER_NOT_ONLINE, because it knows no client of the group."""
        alive = self._alive(now)
        table = dict.fromkeys(self.topics, 0)
        return ConsumerConnection(tuple(alive), self.consume_type, "CLUSTERING", table) if alive else None

    def _alive(self, now: int) -> list[Connection]:
        """Expired connections are dropped."""
        expired = [connection for connection, until_ts in self.listed.items() if until_ts <= now]
        for connection in expired:
            del self.listed[connection]
        return list(self.listed)
