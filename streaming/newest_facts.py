"""The newest fact about each subject, and since when a status or a cluster's health is so. Pure.

Facts may come in any order and more than once: of a group, the fact with the larger ``seq`` is newer. A cluster's
health has no such number, so its time counts. The pages, ``explain`` and the notifier all use this module.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from schemas.facts import (
    FAILED,
    AlertFact,
    Contradiction,
    Fact,
    GroupFact,
    HealthFact,
    MemberFact,
    MembershipFact,
    Payload,
    QueueFact,
)
from streaming.core.alerts.phases import AlertReason
from streaming.notices.notice import OpenAlert

GroupName = tuple[str, str]  # cluster, consumer group
Subject = tuple[object, ...]
FORGET_CLUSTER_MS = 7 * 86_400_000  # after its newest round: then the cluster's health is no longer awaited
CONTRADICTION_ENDS_MS = 120_000  # after the newest round that contradicts others
NAMED_BY: dict[type[Payload], tuple[str, ...]] = {
    QueueFact: ("broker_name", "queue_id"),
    AlertFact: ("fingerprint",),
    MemberFact: ("client_id",),
    MembershipFact: ("broker_name", "client_id"),
    GroupFact: (),
    HealthFact: (),
}  # the payload's fields that name the subject, besides cluster, group and topic


class KnownGroup(Struct, frozen=True):
    """The newest status of a group, the same since ``since_ts``; ``since_is_lower_bound``: it may have begun earlier.

    ``counted_ts``: since when the numbers of members, of covered brokers and of each finding are the same, too.
    """

    cluster: str
    group: str
    seq: int
    ts: int
    since_ts: int
    since_is_lower_bound: bool
    status: GroupFact
    counted_ts: int = 0

    @property
    def name(self) -> GroupName:
        return self.cluster, self.group


class ClusterHealth(Struct, frozen=True, rename={"health_ts": "heard_ts", "rounds_ts": "covering_ts"}):
    """The health of a cluster by the job's clock, epoch ms. ``rounds_ts``: of the newest fact that counts a round.

    ``newest``: the fact of ``health_ts``. ``newest_round_ts``: until when evenkeel has seen the cluster. ``failed_ts``
    and ``failure``: when the job ended with which error, if it has written nothing since. ``contradicted_since_ts`` and
    ``contradicted_ts``: of the first and the newest fact that counts rounds that contradict others. In the notifier's
    files the fields keep the names that earlier versions wrote.
    """

    health_ts: int
    rounds_ts: int | None = None
    newest_round_ts: int | None = None
    newest: HealthFact | None = None
    failed_ts: int | None = None
    failure: str = ""
    contradicted_since_ts: int | None = None
    contradicted_ts: int | None = None
    contradiction: Contradiction | None = None

    @property
    def ts(self) -> int:
        """The time of the newest fact."""
        return max(self.health_ts, self.failed_ts or 0)

    @property
    def status(self) -> str:
        """One of the words of ``HealthFact``."""
        return FAILED if self.failed_ts is not None or self.newest is None else self.newest.status


def _subjects_of(fact: Fact) -> Iterator[Subject]:
    """The subjects of the fact: none if it is an event, which no later fact replaces.

    The newest health fact that counts a round is kept besides the newest of all.
    """
    payload, fields = fact.payload, NAMED_BY.get(type(fact.payload))
    if fields is not None:
        names = (getattr(payload, field) for field in fields)
        yield payload.fact, fact.cluster, fact.group, fact.topic or "", *names
    if isinstance(payload, HealthFact) and payload.rounds:
        yield "rounds", fact.cluster


def is_newer(fact: Fact, known: Fact | OpenAlert | KnownGroup | None) -> bool:
    """True if the fact replaces what is known of its subject."""
    if known is None:
        return True
    return fact.ts > known.ts if isinstance(fact.payload, HealthFact) else fact.seq > known.seq


def newest_facts(facts: Iterable[Fact]) -> list[Fact]:
    newest: dict[Subject, Fact] = {}
    for fact in facts:
        for subject in _subjects_of(fact):
            if is_newer(fact, newest.get(subject)):
                newest[subject] = fact
    return list({id(fact): fact for fact in newest.values()}.values())


def open_alert(fact: Fact, alert: AlertFact) -> OpenAlert:
    return OpenAlert(fact.cluster, fact.group, fact.topic or None, fact.ts, fact.seq, alert)


def alert_after(known: OpenAlert | None, fact: Fact, alert: AlertFact) -> OpenAlert:
    return open_alert(fact, alert) if known is None or is_newer(fact, known) else known


def newest_alerts(facts: Iterable[Fact]) -> list[OpenAlert]:
    """The newest state of each alert of a group, open or not."""
    return [life[-1] for life in newest_lives(facts).values()]


def newest_lives(facts: Iterable[Fact]) -> dict[str, list[OpenAlert]]:
    """The states of each alert of a group since it was last found, oldest first."""
    states = [open_alert(fact, fact.payload) for fact in facts if isinstance(fact.payload, AlertFact)]
    lives: dict[str, list[OpenAlert]] = {}
    for alert in sorted(states, key=lambda alert: alert.seq):
        if alert.fact.reason == AlertReason.FOUND:
            lives[alert.fact.fingerprint] = []
        lives.setdefault(alert.fact.fingerprint, []).append(alert)
    return lives


def newest_group(facts: Iterable[Fact]) -> KnownGroup | None:
    """The status of the one group that the facts are of; None: they have none."""
    known = None
    for fact in facts:
        if isinstance(fact.payload, GroupFact):
            known = group_after(known, fact, fact.payload)
    return known


def group_after(known: KnownGroup | None, fact: Fact, status: GroupFact) -> KnownGroup:
    if known is None:
        return KnownGroup(fact.cluster, fact.group, fact.seq, fact.ts, fact.ts, True, status, fact.ts)
    if not is_newer(fact, known):
        return known
    is_same = known.status.status == status.status
    return replace(
        known,
        seq=fact.seq,
        ts=fact.ts,
        since_ts=known.since_ts if is_same else fact.ts,
        since_is_lower_bound=known.since_is_lower_bound and is_same,
        status=status,
        counted_ts=known.counted_ts if _counted(known.status) == _counted(status) else fact.ts,
    )


def _counted(status: GroupFact) -> tuple[object, ...]:
    return status.status, status.members, status.counts, status.brokers_covered


def health_after(known: ClusterHealth | None, fact: Fact, health: HealthFact) -> ClusterHealth:
    """The health of the fact's cluster after this fact."""
    known = known or ClusterHealth(0)
    if fact.ts <= known.ts:
        return known
    seen_ts = known.newest_round_ts if health.lag_ms is None else fact.ts - max(0, health.lag_ms)
    if health.status == FAILED:
        return replace(known, newest_round_ts=seen_ts, failed_ts=fact.ts, failure=health.detail or "")
    rounds_ts = fact.ts if health.rounds else known.rounds_ts
    return _contradicted(ClusterHealth(fact.ts, rounds_ts, seen_ts, health), known, health)


def _contradicted(seen: ClusterHealth, known: ClusterHealth, health: HealthFact) -> ClusterHealth:
    last_ts = known.contradicted_ts
    lasts = last_ts is not None and seen.health_ts - last_ts <= CONTRADICTION_ENDS_MS
    since_ts = known.contradicted_since_ts if lasts else None
    if health.contradicting:
        found = health.contradiction or known.contradiction
        return replace(
            seen, contradicted_since_ts=since_ts or seen.health_ts, contradicted_ts=seen.health_ts, contradiction=found
        )
    if not lasts:
        return seen
    return replace(seen, contradicted_since_ts=since_ts, contradicted_ts=last_ts, contradiction=known.contradiction)
