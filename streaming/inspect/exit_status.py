"""The command's exit status: 0 only if everything was judged, and nothing is wrong."""

from collections.abc import Iterable

from streaming.inspect.snapshot import InspectedCluster

HEALTHY, FINDINGS, INCOMPLETE = 0, 1, 2


def exit_status(clusters: Iterable[InspectedCluster]) -> int:
    """The exit status. Findings count even if other things were not judged. Excluded groups do not count."""
    clusters = list(clusters)
    statuses = [group.status for cluster in clusters for group in cluster.groups]
    if "findings" in statuses:
        return FINDINGS
    if not all(cluster.is_complete for cluster in clusters) or "healthy" not in statuses:
        return INCOMPLETE
    return HEALTHY if set(statuses) <= {"healthy", "excluded"} else INCOMPLETE
