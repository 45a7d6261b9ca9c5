"""The state of evenkeel itself: if it sees each cluster, what could not be used, and if notifications arrive."""

from typing import Any, NamedTuple

from streaming.newest_facts import ClusterHealth, KnownGroup
from streaming.web.views.known import Known, state_of

MOST_REFUSED = 50


class Sink(NamedTuple):
    """A destination of notifications; times in epoch milliseconds, None: none since yesterday."""

    name: str
    delivered_ts: int | None
    failed_ts: int | None
    deliveries: int
    failures: int

    @property
    def is_failing(self) -> bool:
        return self.failed_ts is not None and self.failed_ts > (self.delivered_ts or 0)


class Upkeep(NamedTuple):
    """The upkeep of today and yesterday."""

    sinks: tuple[Sink, ...]
    quarantined: tuple[dict[str, Any], ...]
    faults: tuple[dict[str, Any], ...]


class ClusterSight(NamedTuple):
    """The view of a cluster. ``state``: ok, idle, late, data_lost or blind."""

    cluster: str
    state: str
    health: ClusterHealth


def clusters_seen(known: Known, now: int) -> tuple[ClusterSight, ...]:
    return tuple(
        ClusterSight(name, state_of(now - (health.newest_round_ts or health.ts), health.status), health)
        for name, health in sorted(known.health.items())
        if name
    )


def refused_groups(known: Known) -> tuple[KnownGroup, ...]:
    """Groups that are not judged, because their events are refused."""
    return tuple(one for one in known.groups.values() if one.status.refused_since is not None)[:MOST_REFUSED]
