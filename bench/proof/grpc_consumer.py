"""A gRPC client: its SDK, and how it consumes. ``pop_fleet`` connects it to a proxy."""

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from streaming.collector.wire.answers import Connection
from streaming.core.evidence.exclusions import PULLS, PUSHES
from streaming.simulation.proxy import Proxy

SETTINGS_MS = 300_000  # how often a client sends its settings, from its start on
THREADS = 20  # PushConsumerBuilder, consumptionThreadCount
CACHE = 1_024  # messages, PushConsumerBuilder.maxCacheMessageCount: shared by its brokers
MAJOR_VERSION = 479  # a proxy lists its own version, V5_3_3, for every client


class GrpcSdk(NamedTuple):
    """An SDK. ``language`` is that of the proxy's lists.

    After a restart of its proxy a client consumes again only when it has sent its settings (docs/clients.md).
    ``again_ms``: how soon it does so; None: when it has sent them ``syncs`` times, and never if that is 0.
    """

    language: str
    again_ms: tuple[int, int] | None = (1_000, 2_000)
    syncs: int = 0


SDKS = {
    "Java": GrpcSdk("JAVA"),
    "C++": GrpcSdk("CPP"),
    "Node": GrpcSdk("HTTP"),
    "Rust": GrpcSdk("RUST", (1_000, 30_000)),
    "Go": GrpcSdk("GO", None, 1),
    "Python": GrpcSdk("PYTHON", None, 2),
    "C#": GrpcSdk("DOTNET", None, 0),
}


@dataclass(slots=True, eq=False)
class GrpcConsumer:
    """A client. ``is_mute``: it sends heartbeats, and asks for no message. ``phase``: of its work, in ms.

    ``home``: the proxy of its configuration; None: an address behind which all proxies are. ``connection``: to
    ``proxy``, which has its settings; None: no proxy serves it. ``work_ms``: what its listener takes for one message.
    """

    client_id: str
    sdk: GrpcSdk
    pulls: bool
    started_ts: int
    home: Proxy | None
    work_ms: int
    phase: int
    is_running: bool = True
    is_mute: bool = False
    proxy: Proxy | None = None
    connection: Connection | None = None
    cannot_reach: set[str] = field(default_factory=set)
    turn: int = 0  # of a SimpleConsumer: which broker it asks next

    @property
    def consume_type(self) -> str:
        return PULLS if self.pulls else PUSHES

    def steps(self, from_ts: int, to_ts: int) -> int:
        """How often each of its threads has finished a message in this time."""
        return (to_ts + self.phase) // self.work_ms - (from_ts + self.phase) // self.work_ms

    def again_after_ms(self, now: int, random: Random) -> int | None:
        """How long after its proxy is back it has sent its settings; None: never."""
        if self.sdk.again_ms is not None:
            return random.randrange(*self.sdk.again_ms)
        if not self.sdk.syncs:
            return None
        return SETTINGS_MS - (now - self.started_ts) % SETTINGS_MS + (self.sdk.syncs - 1) * SETTINGS_MS
