"""The known state of all groups: the newest status of each, open alerts, and evenkeel's own health. Pure."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from schemas.facts import AlertFact, Fact, GroupFact, HealthFact, RebalanceFact
from streaming.explain.snapshot import LONG_QUIET_MS, MonitorStatus, monitor_status
from streaming.newest_facts import ClusterHealth, GroupName, KnownGroup, alert_after, group_after, health_after
from streaming.notices.notice import OpenAlert
from streaming.wording.lists import grouped

KEEP_RESOLVED_MS = 86_400_000
MOST_RESOLVED = 5_000  # of all groups, the newest: each takes some 6 KB
LATE_AFTER_MS = 60_000  # for display only; pages are sent by late_seconds of the table [monitor]
BLIND_AFTER_MS = LONG_QUIET_MS
Key = TypeVar("Key")
Value = TypeVar("Value")


class Known(Struct):
    """The known state. ``version`` counts changes: equal versions show the same.

    ``rebalances``: number of them, by group; those of all groups of a cluster that are gone have an empty name.
    """

    groups: dict[GroupName, KnownGroup] = field(default_factory=dict)
    alerts: dict[str, OpenAlert] = field(default_factory=dict)
    health: dict[str, ClusterHealth] = field(default_factory=dict)
    rebalances: dict[GroupName, int] = field(default_factory=dict)
    version: int = 0

    def take(self, facts: Iterable[Fact]) -> set[GroupName]:
        """Take facts, and return the groups that changed. Of two facts the one with the larger ``seq`` counts."""
        changed = {(fact.cluster, fact.group) for fact in facts if self._take(fact)}
        self.version += bool(changed)
        return changed

    def open_alerts(self, name: GroupName) -> list[OpenAlert]:
        return [one for one in self.alerts.values() if (one.cluster, one.group) == name and one.is_open]

    def all_open_alerts(self) -> list[OpenAlert]:
        return [one for one in self.alerts.values() if one.is_open]

    def seen_ts(self, cluster: str) -> int | None:
        """The time until which evenkeel has seen the cluster; None if it is not known."""
        health = self.health.get(cluster)
        return health.newest_round_ts if health is not None else None

    def monitor(self, cluster: str) -> MonitorStatus | None:
        """The last report of evenkeel about itself; None if there is none."""
        health = self.health.get(cluster)
        return None if health is None else monitor_status(health)

    def newest_ts(self) -> int:
        """The newest time of all facts; 0 if there is none."""
        return max((one.ts for those in (self.groups, self.health, self.alerts) for one in those.values()), default=0)

    def copy(self) -> "Known":
        """A copy, which facts taken later do not change."""
        return Known(dict(self.groups), dict(self.alerts), dict(self.health), dict(self.rebalances), self.version)

    def with_facts(self, facts: Iterable[Fact]) -> "Known":
        """A copy with these facts taken, too: a page that has read newer facts shows one moment in all its parts."""
        newer = self.copy()
        newer.take(facts)
        return newer

    def forget(self, now: int, forget_after_ms: int, keep_resolved_ms: int = KEEP_RESOLVED_MS) -> set[GroupName]:
        """Drop alerts that ended long ago, or before many others, and groups that are gone. Return these groups.

        Each group that has rounds gives a status an hour. So one without a status for ``forget_after_ms``, in which its
        cluster was seen, is gone: the job compacts its state after the same time. One with an open alert stays.
        """
        resolved = sorted((one.ts for one in self.alerts.values() if not one.is_open), reverse=True)
        since = max([now - keep_resolved_ms + 1, *resolved[MOST_RESOLVED - 1 : MOST_RESOLVED]])
        self.alerts = {name: one for name, one in self.alerts.items() if one.is_open or one.ts >= since}
        silent = [one for one in self.groups.values() if now - one.ts > forget_after_ms]
        alerting = of_groups(self) if silent else {}
        gone = {
            one.name
            for one in silent
            if (self.seen_ts(one.cluster) or 0) - one.ts > forget_after_ms and one.name not in alerting
        }
        for name in gone:
            del self.groups[name]
            total = name[0], ""  # a counter of the cluster must not go back
            self.rebalances[total] = self.rebalances.get(total, 0) + self.rebalances.pop(name, 0)
        return gone

    def _take(self, fact: Fact) -> bool:
        """Take a fact; true if it changed something."""
        name, payload = (fact.cluster, fact.group), fact.payload
        if isinstance(payload, RebalanceFact):
            self.rebalances[name] = self.rebalances.get(name, 0) + 1
            return True
        if isinstance(payload, AlertFact):
            known = self.alerts.get(payload.fingerprint)
            return _put(self.alerts, payload.fingerprint, alert_after(known, fact, payload))
        if isinstance(payload, GroupFact):
            return _put(self.groups, name, group_after(self.groups.get(name), fact, payload))
        if isinstance(payload, HealthFact):
            return _put(self.health, fact.cluster, health_after(self.health.get(fact.cluster), fact, payload))
        return False


def _put(known: dict[Key, Value], key: Key, value: Value) -> bool:
    """Put a value; true if it differs from the one before."""
    is_new = known.get(key) is not value
    known[key] = value
    return is_new


def of_groups(known: Known) -> dict[GroupName, list[OpenAlert]]:
    """The open alerts of each group that has any."""
    return grouped(known.all_open_alerts(), lambda alert: (alert.cluster, alert.group))


class Freshness(NamedTuple):
    """The age of the data, which a connection does not show. ``seen_ts``: of the newest round; None: not known.

    ``state``: ok, late, blind, not_known or replayed.
    """

    state: str
    seen_ts: int | None


def freshness(known: Known, cluster: str, now: int, is_past: bool = False) -> Freshness:
    """The freshness of the cluster; without a cluster, of the one that was seen longest ago."""
    names = [cluster] if cluster else sorted({*known.health, *(name for name, _ in known.groups)} - {""})
    seen = [known.seen_ts(name) for name in names]
    if not seen or None in seen:
        return Freshness("not_known", None)
    oldest = min(ts for ts in seen if ts is not None)
    return Freshness("replayed" if is_past else state_of(now - oldest, "ok"), oldest)


def state_of(age_ms: int, otherwise: str) -> str:
    """The state by the age of the newest round: blind, late, or ``otherwise``."""
    if age_ms > BLIND_AFTER_MS:
        return "blind"
    return "late" if age_ms > LATE_AFTER_MS else otherwise
