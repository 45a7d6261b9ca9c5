"""What the command's exit status says: healthy only if everything was judged, and nothing is wrong."""

from collections.abc import Iterable

from streaming.inspect.snapshot import InspectedCluster

HEALTHY, FINDINGS, INCOMPLETE = 0, 1, 2


def exit_status(clusters: Iterable[InspectedCluster]) -> int:
    """What was found counts even if other things were not judged. Groups that are not ours to judge do not."""
    clusters = list(clusters)
    statuses = [group.status for cluster in clusters for group in cluster.groups]
    if "findings" in statuses:
        return FINDINGS
    if not all(cluster.is_complete for cluster in clusters) or "healthy" not in statuses:
        return INCOMPLETE
    return HEALTHY if set(statuses) <= {"healthy", "excluded"} else INCOMPLETE
