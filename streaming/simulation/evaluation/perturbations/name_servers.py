"""Several name servers that do not say the same at once.

Brokers register with each of them on their own (``BrokerOuterAPI.registerBrokerAll``); one that a registration did not
reach is behind until the next, or the one after. Clients and collectors stay with the one that they have reached
(``NettyRemotingClient.getAndCreateNameserverChannel``), unless a load balancer stands before them.
"""

from __future__ import annotations

from zlib import crc32

from streaming.simulation.evaluation.perturbations.context import Stage
from streaming.simulation.fleet import Fleet
from streaming.simulation.name_server import TopicRouteData

LOOK_MS = 1_000
LAG_S = (30, 120)
ASKED_EVERY_MS = 10_000  # an alternating one gives another name server to each request


class _Past:
    """The routes that the brokers registered, since when."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._routes: dict[str, list[tuple[int, TopicRouteData | None]]] = {}
        self._look()

    def _look(self) -> None:
        now, name_server = self._fleet.now, self._fleet.name_server
        for topic in name_server.topics:
            route, known = name_server.route(topic), self._routes.setdefault(topic, [])
            if not known or known[-1][1] is not route:
                known.append((now, route))
        self._fleet.agenda.after(LOOK_MS, self._look)

    def route(self, topic: str, ts: int, began_ts: int) -> TopicRouteData | None:
        """As it was at ``ts``; what was there when all began had been there for long."""
        known = self._routes.get(topic, [])
        return next((route for since, route in reversed(known) if since <= max(ts, began_ts)), None)


class _Behind:
    """A name server that is ``lag_ms`` behind."""

    def __init__(self, fleet: Fleet, past: _Past, lag_ms: int) -> None:
        self._fleet, self._past, self._lag_ms, self._began_ts = fleet, past, lag_ms, fleet.now

    def route(self, topic: str) -> TopicRouteData | None:
        if not self._lag_ms:
            return self._fleet.name_server.route(topic)
        return self._past.route(topic, self._fleet.now - self._lag_ms, self._began_ts)


class _Several:
    """``alternates``: whoever asks gets another one each time; else everybody stays with his own."""

    def __init__(self, servers: list[_Behind], alternates: bool, salt: int) -> None:
        self._servers, self._alternates, self._salt = servers, alternates, salt

    def of(self, asker: str, now: int) -> _Behind:
        turn = now // ASKED_EVERY_MS if self._alternates else 0
        return self._servers[crc32(f"{asker} {turn} {self._salt}".encode()) % len(self._servers)]


def lagging(stage: Stage) -> None:
    """Two or three, one of them 30 to 120 s behind; each client, and the collector, stays with one."""
    _put(stage, alternates=False)


def alternating(stage: Stage) -> None:
    """The same behind a load balancer: each request reaches another."""
    _put(stage, alternates=True)


def _put(stage: Stage, alternates: bool) -> None:
    fleet, past = stage.world.fleet, _Past(stage.world.fleet)
    lags = [0] * stage.random.choice((1, 2)) + [round(stage.random.uniform(*LAG_S) * 1_000)]
    servers = [_Behind(fleet, past, lag_ms) for lag_ms in lags]
    fleet.name_servers = _Several(servers, alternates, stage.random.randrange(1 << 30))
