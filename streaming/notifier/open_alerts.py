"""What stands: the alerts that fire, those that ended lately, and what was last heard of each cluster."""

from collections.abc import Iterable

from msgspec import Struct, field

from schemas.facts import AlertFact, AlertState, Fact, GroupFact, HealthFact
from schemas.identity import group_key
from streaming.notices import MonitorTrouble, OpenAlert

REMEMBER_REFUSED_MS = 7 * 86_400_000  # of a group that is gone nobody tells that its events are taken again
REMEMBER_ENDED_MS = 86_400_000  # so that a sink that was away can still say how an incident ended


class ClusterHealth(Struct, frozen=True):
    """By the job's clock, epoch ms. ``covering_ts``: of the newest health fact that told of a round at all."""

    heard_ts: int
    covering_ts: int | None = None
    newest_round_ts: int | None = None


class RefusedGroup(Struct, frozen=True):
    """A group whose events are refused: ``seq`` of the fact that said so, and since when (Kafka's time, epoch ms)."""

    cluster: str
    group: str
    seq: int
    since_ts: int
    reason: str


class Standing(Struct):
    """Folded from facts. Of a fingerprint the larger ``seq`` counts, so a fact that comes again changes nothing.

    ``troubles`` are those that the watch over evenkeel itself has found, as they were first found.
    """

    alerts: dict[str, OpenAlert] = field(default_factory=dict)
    ended: dict[str, OpenAlert] = field(default_factory=dict)
    health: dict[str, ClusterHealth] = field(default_factory=dict)
    troubles: tuple[MonitorTrouble, ...] = ()
    refused: dict[str, RefusedGroup] = field(default_factory=dict)

    def take(self, facts: Iterable[Fact]) -> None:
        """Facts committed together, in any order."""
        for fact in sorted(facts, key=lambda fact: (fact.ts, fact.cluster, fact.group, fact.seq)):
            if isinstance(fact.payload, AlertFact):
                self._take_alert(fact, fact.payload)
            elif isinstance(fact.payload, HealthFact):
                self._take_health(fact, fact.payload)
            elif isinstance(fact.payload, GroupFact):
                self._take_group(fact, fact.payload)

    def clear(self) -> None:
        """Another table begins: nothing of the one before stands."""
        self.alerts.clear()
        self.health.clear()
        self.refused.clear()

    def forget(self, now: int) -> None:
        """Drop what ended long ago."""
        self.refused = {key: one for key, one in self.refused.items() if now - one.since_ts < REMEMBER_REFUSED_MS}
        self.ended = {name: alert for name, alert in self.ended.items() if now - alert.ts < REMEMBER_ENDED_MS}

    def copy(self) -> "Standing":
        """As it is now; facts taken later do not show in it."""
        return Standing(dict(self.alerts), dict(self.ended), dict(self.health), self.troubles, dict(self.refused))

    def _take_alert(self, fact: Fact, payload: AlertFact) -> None:
        name = payload.fingerprint
        known = self.alerts.get(name) or self.ended.get(name)
        if known is not None and known.seq >= fact.seq:
            return
        alert = OpenAlert(fact.cluster, fact.group, fact.topic or None, fact.ts, fact.seq, payload)
        was_firing = self.alerts.pop(name, None) is not None
        if payload.state == AlertState.FIRING:
            self.ended.pop(name, None)
            self.alerts[name] = alert
        elif was_firing or name in self.ended or payload.fired_ts is not None:
            self.ended[name] = alert

    def _take_group(self, fact: Fact, payload: GroupFact) -> None:
        key = group_key(fact.cluster, fact.group)
        known = self.refused.get(key)
        if known is not None and known.seq >= fact.seq:
            return
        if payload.refused_since is None:
            self.refused.pop(key, None)
        elif known is None:
            since, reason = payload.refused_since, payload.reason or ""
            self.refused[key] = RefusedGroup(fact.cluster, fact.group, fact.seq, since, reason)

    def _take_health(self, fact: Fact, payload: HealthFact) -> None:
        known = self.health.get(fact.cluster, ClusterHealth(0))
        if fact.ts < known.heard_ts:
            return
        self.health[fact.cluster] = ClusterHealth(
            heard_ts=fact.ts,
            covering_ts=fact.ts if payload.rounds else known.covering_ts,
            newest_round_ts=known.newest_round_ts if payload.lag_ms is None else fact.ts - payload.lag_ms,
        )
