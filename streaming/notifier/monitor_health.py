"""The troubles of evenkeel itself for each cluster: blind (no facts or rounds come) or late (the rounds are old).

Or contradicted: rounds of two producers cannot both be true. The rounds of one of them still show the cluster.
The ages that are blind and late stand in the table ``[monitor]`` of ``config/alerts``; the other limits are here.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from streaming.config.alerts import Monitor
from streaming.newest_facts import CONTRADICTION_ENDS_MS, FORGET_CLUSTER_MS, ClusterHealth
from streaming.notices.notice import MonitorTrouble, TroubleEvidence
from streaming.notifier.open_alerts import RefusedGroup

GROUP_BLIND_MS = 120_000
CONTRADICTED_MS = (
    45_000  # the least duration of a contradiction: rounds that are sent late may contradict others for a moment
)
KAFKA_ASKED_MS = 20_000  # the job asks Kafka every 5 s, and waits 10 s for the answer
LONG_BATCH_MS = 10_000  # batches take a second or two if the job keeps up
OF_A_SLOW_JOB = ("job_slow", "reads_old")

_OF_THE_JOB = ("batch_ms", "batch_ended_ts", "working_ms", "kafka_ts", "kafka_error", "unread", "quiet_since_ts")


class MonitorLimits(NamedTuple):
    """The greatest ages of the newest health fact and of the newest round."""

    blind_ms: int
    late_ms: int


def monitor_limits(monitor: Monitor) -> MonitorLimits:
    return MonitorLimits(round(monitor.blind_seconds * 1000), round(monitor.late_seconds * 1000))


def watched_clusters(configured: Iterable[str], health: Mapping[str, ClusterHealth], now: int) -> list[str]:
    """Clusters whose health facts must come: configured ones, and those with a round within the last week.

    A job that knows no cluster yet reports the cluster "".
    """
    recent = {name for name, known in health.items() if name and now - (known.newest_round_ts or 0) < FORGET_CLUSTER_MS}
    return sorted(recent | set(configured)) or [""]


class FactsRead(NamedTuple):
    """The notifier's last successful read of facts, and why it cannot read them now; None: it can."""

    ts: int
    error: str | None = None


def cluster_trouble(
    cluster: str, known: Mapping[str, ClusterHealth], now: int, limits: MonitorLimits, read: FactsRead | None = None
) -> MonitorTrouble | None:
    """The trouble of a cluster. Blind: no health fact, or none with a round. Late: old rounds. Else: rounds contradict.

    The reason is as precise as the evidence: whether the job writes, whether it has read all records in Kafka, whether
    Kafka answers it, and whether new records come there.
    """
    health = known.get(cluster) or _of_the_job(known)
    evidence = _evidence(health)
    if health is None or now - health.health_ts > limits.blind_ms:
        since = evidence.heard_ts or now
        if read is not None and read.error is not None and now - read.ts > limits.blind_ms:
            evidence = replace(evidence, error_ts=read.ts, error=read.error)
            return MonitorTrouble("monitor_blind", cluster, since, why="facts_unreadable", evidence=evidence)
        why = "job_silent" if evidence.heard_ts is not None else "nothing_yet"
        why = "job_failed" if evidence.error_ts is not None else why
        return MonitorTrouble("monitor_blind", cluster, since, why=why, evidence=evidence)
    if health.rounds_ts is None or now - health.rounds_ts > limits.blind_ms:
        since = health.newest_round_ts or health.rounds_ts or health.health_ts
        why = _why_no_rounds(evidence, limits)
        return MonitorTrouble("monitor_blind", cluster, since, why=why, evidence=evidence)
    if health.newest_round_ts is not None and now - health.newest_round_ts > limits.late_ms:
        why = "sent_late" if _keeps_up(evidence) and not _reads_a_backlog(health, known) else "reads_old"
        return MonitorTrouble("monitor_late", cluster, health.newest_round_ts, why=why, evidence=evidence)
    return _contradicted(cluster, health, now)


def is_not_over(trouble: MonitorTrouble, known: Mapping[str, ClusterHealth], now: int, limits: MonitorLimits) -> bool:
    """True if a job that was too slow still is, or if the rounds of one that was late are still half as old.

    A job with more groups than it can take ends one long batch after the other. After each batch the newest round is
    younger, and until the next one ends it becomes older. So each batch would be an end of the trouble, and the next
    one its beginning.
    """
    seen = _evidence(known.get(trouble.cluster))
    is_slow = trouble.why in OF_A_SLOW_JOB and bool(seen.unread) and _is_slow(seen)
    is_old = seen.newest_round_ts is not None and now - seen.newest_round_ts > limits.late_ms // 2
    return is_slow or (trouble.kind == "monitor_late" and is_old)


def _contradicted(cluster: str, health: ClusterHealth, now: int) -> MonitorTrouble | None:
    since_ts, last_ts, found = health.contradicted_since_ts, health.contradicted_ts, health.contradiction
    if since_ts is None or last_ts is None or found is None:
        return None
    if last_ts - since_ts < CONTRADICTED_MS or now - last_ts > CONTRADICTION_ENDS_MS:
        return None
    why = "times_ahead" if found.ahead_ms > 0 else "times_behind" if found.ahead_ms else "lists_contradict"
    evidence = replace(_evidence(health), contradiction=found)
    return MonitorTrouble("monitor_contradicted", cluster, since_ts, why=why, evidence=evidence)


def _of_the_job(known: Mapping[str, ClusterHealth]) -> ClusterHealth | None:
    """The health for a cluster without rounds: what the newest health fact of any cluster reports of job and Kafka."""
    newest = max(known.values(), key=lambda health: health.health_ts, default=None)
    return None if newest is None else replace(newest, rounds_ts=None, newest_round_ts=None)


def _evidence(health: ClusterHealth | None) -> TroubleEvidence:
    if health is None:
        return TroubleEvidence()
    of_the_job = {} if health.newest is None else {name: getattr(health.newest, name) for name in _OF_THE_JOB}
    return TroubleEvidence(
        heard_ts=health.health_ts or None,
        error_ts=health.failed_ts,
        error=health.failure,
        newest_round_ts=health.newest_round_ts,
        **of_the_job,
    )


def _why_no_rounds(seen: TroubleEvidence, limits: MonitorLimits) -> str:
    """The reason why no rounds come while the job writes: it has not read them, Kafka has none, or Kafka is silent.

    If the job's machine is overloaded, Kafka's answer comes too late as well. So Kafka alone is named as the reason
    only if no batch was slow before Kafka stopped answering.
    """
    heard_ts = seen.heard_ts or 0
    if seen.kafka_error is not None or (seen.kafka_ts is not None and heard_ts - seen.kafka_ts > KAFKA_ASKED_MS):
        return "slow_or_kafka" if _was_slow_by_itself(seen) else "kafka_silent"
    if seen.unread is None or seen.quiet_since_ts is None:
        return "job_slow" if _is_slow(seen) else "no_rounds"
    if not _keeps_up(seen):
        return "job_slow" if _is_slow(seen) else "no_rounds"
    return "nothing_sent" if heard_ts - seen.quiet_since_ts >= limits.blind_ms // 2 else "none_of_it_sent"


def _was_slow_by_itself(seen: TroubleEvidence) -> bool:
    """True if the last batch was already slow at Kafka's last answer. A batch after that may have waited for Kafka."""
    ended_ts, answered_ts = seen.batch_ended_ts or 0, seen.kafka_ts or 0
    return min(ended_ts, answered_ts) - (ended_ts - (seen.batch_ms or 0)) >= LONG_BATCH_MS


def _is_slow(seen: TroubleEvidence) -> bool:
    was_slow = seen.batch_ended_ts is not None and (seen.batch_ms or 0) >= LONG_BATCH_MS
    return was_slow or (seen.working_ms or 0) >= LONG_BATCH_MS


def _keeps_up(seen: TroubleEvidence) -> bool:
    """True if all records in Kafka are read, apart from those since a short batch that has just ended."""
    has_just_read = (seen.heard_ts or 0) - (seen.batch_ended_ts or 0) < LONG_BATCH_MS
    return seen.unread == 0 or (seen.unread is not None and has_just_read and not _is_slow(seen))


def _reads_a_backlog(health: ClusterHealth, known: Mapping[str, ClusterHealth]) -> bool:
    """True if more waits in Kafka than the job has taken since its last health fact, 15 s before (``health_seconds``).

    A job that keeps up takes what comes, and less than that comes during a short batch. The batches of one that reads
    what has waited are short only because they are limited.
    """
    facts = (one.newest for one in known.values() if one.health_ts == health.health_ts)
    taken = sum(fact.rounds for fact in facts if fact is not None)
    unread = 0 if health.newest is None else health.newest.unread or 0
    return unread > taken


def group_troubles(
    refused: Iterable[RefusedGroup], unseen: Container[str], reported: Container[tuple[str, str]], now: int
) -> Iterator[MonitorTrouble]:
    """Troubles of groups whose events are refused for longer than one or two faulty records explain, in seen clusters.

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
