"""The state of evenkeel itself: if it sees each cluster, what could not be used, and if notifications arrive."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from streaming.newest_facts import ClusterHealth, KnownGroup
from streaming.web.views.known import Known, state_of

MOST_REFUSED = 50


class Upkeep(NamedTuple):
    """The upkeep of today and yesterday, as ``live/upkeep_reader`` names it in SQL. Times are epoch milliseconds."""

    sinks: Sequence[dict[str, Any]]
    quarantined: Sequence[dict[str, Any]]
    faults: Sequence[dict[str, Any]]


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
