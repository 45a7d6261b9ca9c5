"""The firing alerts, those that ended recently, and the newest health of each cluster, all from facts."""

from collections.abc import Iterable

from msgspec import Struct, field

from schemas.facts import AlertFact, AlertState, Fact, GroupFact, HealthFact
from schemas.reasons import ReasonDetails
from schemas.records import group_key
from streaming.newest_facts import ClusterHealth, health_after, is_newer, open_alert
from streaming.notices.notice import MonitorTrouble, OpenAlert

KEEP_REFUSED_MS = 7 * 86_400_000  # no fact reports that a group is gone
KEEP_ENDED_MS = 600_000  # the pages of all sinks have taken the end by then, and keep it until it is sent


class RefusedGroup(Struct, frozen=True):
    """A group whose events are refused. ``seq``: of the fact that reports it; ``since_ts``: Kafka's time, epoch ms.

    ``reason`` and ``reason_details`` are those of the fact.
    """

    cluster: str
    group: str
    seq: int
    since_ts: int
    reason: str
    reason_details: ReasonDetails | None = None


class OpenAlerts(Struct):
    """The open alerts. For a fingerprint the larger ``seq`` counts, so a fact that is read twice changes nothing.

    ``troubles``: those of evenkeel itself (monitor_health), as they were first found.
    """

    alerts: dict[str, OpenAlert] = field(default_factory=dict)
    ended: dict[str, OpenAlert] = field(default_factory=dict)
    health: dict[str, ClusterHealth] = field(default_factory=dict)
    troubles: tuple[MonitorTrouble, ...] = ()
    refused: dict[str, RefusedGroup] = field(default_factory=dict)

    def take(self, facts: Iterable[Fact]) -> None:
        """Take facts that were committed together, in any order."""
        for fact in sorted(facts, key=lambda fact: (fact.ts, fact.cluster, fact.group, fact.seq)):
            if isinstance(fact.payload, AlertFact):
                self._take_alert(fact, fact.payload)
            elif isinstance(fact.payload, HealthFact):
                self.health[fact.cluster] = health_after(self.health.get(fact.cluster), fact, fact.payload)
            elif isinstance(fact.payload, GroupFact):
                self._take_group(fact, fact.payload)

    def clear(self) -> None:
        """Forget all facts, because another facts table begins."""
        self.alerts.clear()
        self.health.clear()
        self.refused.clear()

    def forget(self, now: int) -> None:
        """Drop alerts that ended long ago, and old entries of groups."""
        self.refused = {key: one for key, one in self.refused.items() if now - one.since_ts < KEEP_REFUSED_MS}
        self.ended = {name: alert for name, alert in self.ended.items() if now - alert.ts < KEEP_ENDED_MS}

    def copy(self) -> "OpenAlerts":
        """A copy as of now; facts taken later do not change it."""
        return OpenAlerts(dict(self.alerts), dict(self.ended), dict(self.health), self.troubles, dict(self.refused))

    def _take_alert(self, fact: Fact, payload: AlertFact) -> None:
        name = payload.fingerprint
        if not is_newer(fact, self.alerts.get(name) or self.ended.get(name)):
            return
        was_firing = self.alerts.pop(name, None) is not None
        if payload.state == AlertState.FIRING:
            self.ended.pop(name, None)
            self.alerts[name] = open_alert(fact, payload)
        elif was_firing or name in self.ended or payload.fired_ts is not None:
            self.ended[name] = open_alert(fact, payload)

    def _take_group(self, fact: Fact, payload: GroupFact) -> None:
        key = group_key(fact.cluster, fact.group)
        known = self.refused.get(key)
        if known is not None and known.seq >= fact.seq:
            return
        if payload.refused_since is None:
            self.refused.pop(key, None)
        elif known is None:
            since, reason, details = payload.refused_since, payload.reason or "", payload.reason_details
            self.refused[key] = RefusedGroup(fact.cluster, fact.group, fact.seq, since, reason, details)
