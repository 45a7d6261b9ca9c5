"""Whether evenkeel itself sees each cluster: blind (no facts or rounds come) or late (the rounds are old)."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from streaming.notices import MonitorTrouble
from streaming.notifier.open_alerts import ClusterHealth, RefusedGroup

FORGET_CLUSTER_MS = 7 * 86_400_000  # as the job does
GROUP_BLIND_MS = 120_000
STARTING_MS = 90_000  # Spark starts and makes its first batch: until then no trouble is reported


class MonitorLimits(NamedTuple):
    """How old the newest health fact, and the newest round, may be."""

    blind_ms: int = 35_000
    late_ms: int = 60_000


def watched_clusters(configured: Iterable[str], health: Mapping[str, ClusterHealth], now: int) -> list[str]:
    """Clusters whose health facts must come: those configured, and those of which a round came within a week.

    A job that knows no cluster yet reports the cluster "".
    """
    recent = {name for name, known in health.items() if name and now - (known.newest_round_ts or 0) < FORGET_CLUSTER_MS}
    return sorted(recent | set(configured)) or [""]


def cluster_trouble(
    cluster: str, health: ClusterHealth | None, now: int, limits: MonitorLimits
) -> MonitorTrouble | None:
    """Blind: no health fact, or none that counts a round. Late: rounds come, but old ones."""
    if health is None:
        return MonitorTrouble("monitor_blind", cluster, now, why="nothing_yet")
    if now - health.health_ts > limits.blind_ms:
        return MonitorTrouble("monitor_blind", cluster, health.health_ts, why="job_silent")
    if health.rounds_ts is None or now - health.rounds_ts > limits.blind_ms:
        since = health.newest_round_ts or health.rounds_ts or health.health_ts
        return MonitorTrouble("monitor_blind", cluster, since, why="no_rounds")
    if health.newest_round_ts is not None and now - health.newest_round_ts > limits.late_ms:
        behind = (now - health.newest_round_ts) // 1000
        return MonitorTrouble("monitor_late", cluster, health.newest_round_ts, str(behind), why="reads_old")
    return None


def group_troubles(
    refused: Iterable[RefusedGroup], unseen: Container[str], reported: Container[tuple[str, str]], now: int
) -> Iterator[MonitorTrouble]:
    """Groups whose events are refused for longer than one or two faulty records explain, in clusters that are seen.

    ``reported``: (cluster, group) of the troubles that are open. They stay open while their cluster is not seen.
    """
    for one in refused:
        is_new = (one.cluster, one.group) not in reported
        if not is_new or (one.cluster not in unseen and now - one.since_ts >= GROUP_BLIND_MS):
            yield MonitorTrouble(
                "group_blind",
                one.cluster,
                one.since_ts,
                one.reason,
                one.group,
                why="events_refused",
                reason_details=one.reason_details,
            )


def may_be_reported(trouble: MonitorTrouble, started_ts: int, now: int) -> bool:
    """No cluster is reported as blind before the job has had time to start."""
    return trouble.kind != "monitor_blind" or now - started_ts >= STARTING_MS
