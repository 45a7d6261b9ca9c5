"""Facts with little said: what a test does not care for has a value that does no harm."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

from schemas.facts import (
    AlertChange,
    AlertClient,
    AlertFact,
    AlertQueue,
    Fact,
    GroupFact,
    HealthFact,
    Interval,
    MemberFact,
    MembershipFact,
    QuarantineFact,
    QueueFact,
    RebalanceFact,
)

SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000


def millis(text: str) -> int:
    """``2026-03-01 12:00`` (UTC) in epoch milliseconds."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


class Teller:
    """Facts of one group, numbered in the order in which they are made. ``topic`` is what queues belong to."""

    def __init__(self, cluster: str = "prod", group: str = "order-service", topic: str = "Orders") -> None:
        self.cluster = cluster
        self.group = group
        self.topic = topic
        self._numbers = count()

    def _fact(self, ts: int, payload: Any, topic: str | None = None) -> Fact:
        return Fact(next(self._numbers), self.cluster, self.group, topic, ts, payload)

    def queue(self, ts: int, queue_id: int, finding: str, ended: tuple[str, int] | None = None, **more: Any) -> Fact:
        """``ended``: the finding before, and since when."""
        owners = more.pop("owners", ("a",))
        said = {"broker_name": "broker-a", "severity": "none", "cause": None, "reason": None, "expected": ("a",)} | more
        before = None if ended is None else Interval(
            finding=ended[0], cause=None, owners=("b",), expected=("a",), from_ts=ended[1], to_ts=ts, severity="none"
        )  # fmt: skip
        payload = QueueFact(queue_id=queue_id, finding=finding, owners=owners, since_ts=ts, ended=before, **said)
        return self._fact(ts, payload, self.topic)

    def member(self, ts: int, client_id: str, present: bool = True, **more: Any) -> Fact:
        return self._fact(ts, MemberFact(client_id=client_id, present=present, since_ts=ts, **more))

    def membership(self, ts: int, client_id: str, change: str = "appeared") -> Fact:
        said = {"addresses": ("10.0.0.1:4711",), "entries": int(change == "appeared")}
        return self._fact(ts, MembershipFact(broker_name="broker-a", client_id=client_id, change=change, **said))

    def rebalance(self, ts: int, duration: int, moved: int, fewest: int | None, orphaned: int = 0) -> Fact:
        said = {"trigger": "join", "joined": ("b",), "left": (), "topics": (self.topic,), "converged": True}
        took = {"from_ts": ts - duration, "to_ts": ts, "duplicated_ms": 0, "orphaned_ms": orphaned}
        return self._fact(ts, RebalanceFact(queues_moved=moved, fewest_moves=fewest, **said, **took))

    def alert(self, ts: int, state: str, kind: str = "ORPHANED", active: int | None = None) -> Fact:
        payload = AlertFact(
            fingerprint=f"{self.cluster}/{self.group}/{self.topic}/{kind}",
            state=state,
            severity="critical",
            kind=kind,
            cause="VIEW_DIVERGENCE",
            queues=(AlertQueue("broker-a", 0, (), ("a",), waiting=7),),
            since_ts=ts - SECOND,
            clients=(AlertClient("a", ("10.0.0.1:4711",), ("broker-a",), "V5_3_3", "AVG", ("Orders",), (ts,), ts),),
            changes=(AlertChange(ts - 2 * SECOND, "left", "b"),),
            waiting=7,
            oldest_ts=ts - 3 * SECOND,
            reason=state,
            active_ts=ts if active is None else active,
            fired_ts={"firing": ts, "resolved": active}.get(state),
            resolved_ts=ts if state == "resolved" else None,
        )
        return self._fact(ts, payload, self.topic)

    def status(self, ts: int, status: str, members: int = 2, **counts: int) -> Fact:
        said = {"brokers_covered": 1, "brokers_known": 2, "members_reporting": 1}
        payload = GroupFact(status=status, members=members, queues=sum(counts.values()), counts=counts, **said)
        return self._fact(ts, payload)


def health(cluster: str, ts: int, **more: Any) -> Fact:
    said = {"status": "ok", "groups": 1, "rounds": 3, "events": 30, "quarantined": 0, "brokers_unanswered": 0}
    said |= {"batch_id": 1, "lag_ms": 900, "events_per_s": 2.0, "batch_ms": 400, "state_bytes": 5000}
    return Fact(0, cluster, "", None, ts, HealthFact(**(said | more)))


def quarantined(
    ts: int,
    offset: int,
    reason: str = "bad_json",
    key: bytes = b"prod/order-service",
    value: bytes = b'{"schema":',
) -> Fact:
    payload = QuarantineFact(
        reason=reason, detail="cut short", length=len(value), sha256="0" * 64, record_key=key, bytes=value,
        source_topic="evenkeel-events", source_partition=3, source_offset=offset,
    )  # fmt: skip
    cluster, _, group = key.decode("utf-8", "replace").partition("/") if key.isascii() else ("", "", "")
    return Fact(offset, cluster, group, None, ts, payload)
