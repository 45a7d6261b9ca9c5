"""What is known of all groups now: the newest status of each, open alerts, and evenkeel's own health. Pure."""

from collections.abc import Iterable

from msgspec import Struct, field

from schemas.facts import AlertFact, AlertState, Fact, GroupFact, HealthFact, RebalanceFact
from streaming.notices import OpenAlert

GroupName = tuple[str, str]  # cluster, consumer group
KEEP_RESOLVED_MS = 86_400_000


class KnownGroup(Struct, frozen=True):
    """The newest status of a group, the same since ``since_ts``; ``longer``: it was so when reading began."""

    cluster: str
    group: str
    seq: int
    ts: int
    since_ts: int
    longer: bool
    status: GroupFact

    @property
    def name(self) -> GroupName:
        return self.cluster, self.group


class ClusterHealth(Struct, frozen=True):
    """The newest health fact of a cluster, and until when evenkeel has seen the cluster."""

    ts: int
    seen_ts: int | None
    fact: HealthFact


class Known(Struct):
    """``version`` counts what was taken, so two equal versions show the same. ``rebalances``: how many were taken."""

    groups: dict[GroupName, KnownGroup] = field(default_factory=dict)
    alerts: dict[str, OpenAlert] = field(default_factory=dict)
    health: dict[str, ClusterHealth] = field(default_factory=dict)
    rebalances: dict[GroupName, int] = field(default_factory=dict)
    version: int = 0

    def take(self, facts: Iterable[Fact]) -> set[GroupName]:
        """The groups of which something is new. Of a group the larger ``seq`` counts."""
        changed: set[GroupName] = set()
        for fact in facts:
            if self._take(fact):
                changed.add((fact.cluster, fact.group))
        self.version += bool(changed)
        return changed

    def open_alerts(self, name: GroupName) -> list[OpenAlert]:
        return [one for one in self.alerts.values() if (one.cluster, one.group) == name and is_open(one)]

    def all_open_alerts(self) -> list[OpenAlert]:
        return [one for one in self.alerts.values() if is_open(one)]

    def seen_ts(self, cluster: str) -> int | None:
        """Until when evenkeel has seen the cluster; None where nothing says it."""
        health = self.health.get(cluster)
        return health.seen_ts if health is not None else None

    def newest_ts(self) -> int:
        """Of all that is known; 0 where nothing is."""
        groups = max((one.ts for one in self.groups.values()), default=0)
        health = max((one.ts for one in self.health.values()), default=0)
        return max(groups, health, max((one.ts for one in self.alerts.values()), default=0))

    def copy(self) -> "Known":
        """As it is now: what is taken later does not show in it."""
        return Known(dict(self.groups), dict(self.alerts), dict(self.health), dict(self.rebalances), self.version)

    def with_facts(self, facts: Iterable[Fact]) -> "Known":
        """As if these were taken, too: a page that has read newer facts shows one moment in all its parts."""
        newer = self.copy()
        newer.take(facts)
        return newer

    def forget_resolved(self, now: int) -> None:
        """Drop alerts that ended long ago."""
        self.alerts = {
            name: one for name, one in self.alerts.items() if is_open(one) or now - one.ts < KEEP_RESOLVED_MS
        }

    def _take(self, fact: Fact) -> bool:
        payload = fact.payload
        if isinstance(payload, GroupFact):
            return self._take_group(fact, payload)
        if isinstance(payload, AlertFact):
            return self._take_alert(fact, payload)
        if isinstance(payload, RebalanceFact):
            name = (fact.cluster, fact.group)
            self.rebalances[name] = self.rebalances.get(name, 0) + 1
            return True
        return isinstance(payload, HealthFact) and self._take_health(fact, payload)

    def _take_group(self, fact: Fact, status: GroupFact) -> bool:
        name = (fact.cluster, fact.group)
        before = self.groups.get(name)
        if before is not None and before.seq >= fact.seq:
            return False
        same = before if before is not None and before.status.status == status.status else None
        since_ts = fact.ts if same is None else same.since_ts
        longer = before is None if same is None else same.longer
        self.groups[name] = KnownGroup(fact.cluster, fact.group, fact.seq, fact.ts, since_ts, longer, status)
        return True

    def _take_alert(self, fact: Fact, alert: AlertFact) -> bool:
        before = self.alerts.get(alert.fingerprint)
        if before is not None and before.seq >= fact.seq:
            return False
        self.alerts[alert.fingerprint] = OpenAlert(
            fact.cluster, fact.group, fact.topic or None, fact.ts, fact.seq, alert
        )
        return True

    def _take_health(self, fact: Fact, health: HealthFact) -> bool:
        before = self.health.get(fact.cluster)
        if before is not None and before.ts >= fact.ts:
            return False
        seen = fact.ts - max(0, health.lag_ms) if health.lag_ms is not None else (before.seen_ts if before else None)
        self.health[fact.cluster] = ClusterHealth(fact.ts, seen, health)
        return True


def is_open(alert: OpenAlert) -> bool:
    return alert.fact.state != AlertState.RESOLVED


def is_firing(alert: OpenAlert) -> bool:
    return alert.fact.state == AlertState.FIRING


def of_groups(known: Known) -> dict[GroupName, list[OpenAlert]]:
    """The open alerts of each group that has any."""
    found: dict[GroupName, list[OpenAlert]] = {}
    for alert in known.alerts.values():
        if is_open(alert):
            found.setdefault((alert.cluster, alert.group), []).append(alert)
    return found
