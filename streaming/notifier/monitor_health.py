"""Whether anybody watches: a cluster of which nothing is heard, or nothing new, is not healthy but unseen."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from streaming.notices import MonitorTrouble
from streaming.notifier.open_alerts import ClusterHealth, RefusedGroup

FORGET_CLUSTER_MS = 7 * 86_400_000  # as the job does
GROUP_BLIND_MS = 120_000
STARTING_MS = 90_000  # Spark starts and makes its first batch; a notifier that has just begun accuses nobody


class Limits(NamedTuple):
    """How old news may be, in ms."""

    blind_ms: int = 35_000
    late_ms: int = 60_000


def watched(configured: Iterable[str], health: Mapping[str, ClusterHealth], now: int) -> list[str]:
    """The clusters that something should be heard of: those configured, and those of which a round came within a week.

    A job that knows no cluster yet speaks for the cluster "".
    """
    heard = {name for name, known in health.items() if name and now - (known.newest_round_ts or 0) < FORGET_CLUSTER_MS}
    return sorted(heard | set(configured)) or [""]


def trouble_of(cluster: str, health: ClusterHealth | None, now: int, limits: Limits) -> MonitorTrouble | None:
    """Blind: no health fact, or none that tells of a round. Late: rounds come, but old ones."""
    if health is None:
        return MonitorTrouble("monitor_blind", cluster, now, "the job has told nothing of this cluster yet")
    if now - health.heard_ts > limits.blind_ms:
        detail = "the job tells nothing: it does not run, or cannot write its facts"
        return MonitorTrouble("monitor_blind", cluster, health.heard_ts, detail)
    if health.covering_ts is None or now - health.covering_ts > limits.blind_ms:
        since = health.newest_round_ts or health.covering_ts or health.heard_ts
        detail = "the job runs, but no collection round reaches it: look at the collector and at Kafka"
        return MonitorTrouble("monitor_blind", cluster, since, detail)
    if health.newest_round_ts is not None and now - health.newest_round_ts > limits.late_ms:
        behind = (now - health.newest_round_ts) // 1000
        detail = f"the job reads what is {behind} s old; pages wait until it has caught up"
        return MonitorTrouble("monitor_late", cluster, health.newest_round_ts, detail)
    return None


def troubles_of_groups(
    refused: Iterable[RefusedGroup], unseen: Container[str], told: Container[tuple[str, str]], now: int
) -> Iterator[MonitorTrouble]:
    """Groups whose events are refused for longer than a faulty record or two explains, in clusters that are seen.

    ``told``: (cluster, group) of those that stand. They go on while their cluster is not seen: nothing ends them.
    """
    for one in refused:
        is_new = (one.cluster, one.group) not in told
        if not is_new or (one.cluster not in unseen and now - one.since_ts >= GROUP_BLIND_MS):
            yield MonitorTrouble("group_blind", one.cluster, one.since_ts, one.reason, one.group)


def may_be_told(trouble: MonitorTrouble, watching_since: int, now: int) -> bool:
    """Nothing is known to be amiss until the job has had the time to start."""
    return trouble.kind != "monitor_blind" or now - watching_since >= STARTING_MS
