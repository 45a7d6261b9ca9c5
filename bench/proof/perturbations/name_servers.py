"""Several name servers that differ for some time.

Brokers register with each of them on their own (``BrokerOuterAPI.registerBrokerAll``); one that a registration did not
reach is behind until the next, or the one after. Clients and collectors stay with the one that they have reached
(``NettyRemotingClient.getAndCreateNameserverChannel``), unless a load balancer stands before them.
"""

from __future__ import annotations

from zlib import crc32

from bench.proof.perturbations.context import PerturbationContext
from streaming.simulation.fleet import Fleet
from streaming.simulation.name_server import TopicRoute

LOOK_MS = 1_000
LAG_S = (30, 120)
ASKED_EVERY_MS = 10_000  # an alternating one gives another name server to each request


class _LaggingNameServers:
    """Name servers, one for each lag. ``alternates``: each request reaches another; else each asker keeps its own."""

    def __init__(self, fleet: Fleet, lags_ms: list[int], alternates: bool, salt: int) -> None:
        self._fleet, self._began_ts = fleet, fleet.now
        self._lags_ms, self._alternates, self._salt = lags_ms, alternates, salt
        self._history: dict[str, list[tuple[int, TopicRoute | None]]] = {}  # what brokers registered, and when
        self._look()

    def _look(self) -> None:
        now, name_server = self._fleet.now, self._fleet.name_server
        for topic in name_server.topics:
            route, known = name_server.route(topic), self._history.setdefault(topic, [])
            if not known or known[-1][1] is not route:
                known.append((now, route))
        self._fleet.clock.after(LOOK_MS, self._look)

    def route(self, asker: str, topic: str, now: int) -> TopicRoute | None:
        """The route by the name server that ``asker`` reaches. Routes of the beginning count as old."""
        turn = now // ASKED_EVERY_MS if self._alternates else 0
        lag_ms = self._lags_ms[crc32(f"{asker} {turn} {self._salt}".encode()) % len(self._lags_ms)]
        if not lag_ms:
            return self._fleet.name_server.route(topic)
        ts, known = max(now - lag_ms, self._began_ts), self._history.get(topic, [])
        return next((route for since, route in reversed(known) if since <= ts), None)


def lagging_name_server(context: PerturbationContext) -> None:
    """Two or three, one of them 30 to 120 s behind; each client, and the collector, stays with one."""
    _put(context, alternates=False)


def alternating_name_servers(context: PerturbationContext) -> None:
    """Two or three name servers behind a load balancer: each request reaches another one."""
    _put(context, alternates=True)


def _put(context: PerturbationContext, alternates: bool) -> None:
    random, fleet = context.random, context.group.fleet
    lags_ms = [0] * random.choice((1, 2)) + [round(random.uniform(*LAG_S) * 1_000)]
    fleet.ask_name_server = _LaggingNameServers(fleet, lags_ms, alternates, random.randrange(1 << 30)).route
