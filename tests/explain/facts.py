"""Facts as a group tells them, to explain."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from schemas.facts import (
    AlertFact,
    AlertQueue,
    Fact,
    GroupFact,
    HealthFact,
    MemberFact,
    MembershipFact,
    Payload,
    QueueFact,
)
from schemas.observed import MemberGone, clients, observed
from schemas.reasons import ReasonDetails
from tests.scenarios.scenario import FILES, play, read

T0 = 1_763_744_283_000  # 2025-11-21 16:58:03 UTC


@lru_cache
def facts_of_scenario(name: str) -> tuple[Fact, ...]:
    """What the core says of a scenario file."""
    path = next(path for path in FILES if path.stem == name)
    return tuple(play(read(path)).facts)


class Teller:
    """Numbers facts as a group does, one a second unless told when."""

    def __init__(self, group: str = "g", cluster: str = "c", seq: int = 0) -> None:
        self.facts: list[Fact] = []
        self._group, self._cluster, self._seq = group, cluster, seq

    def tell(self, payload: Payload, at_s: float, topic: str | None = None) -> None:
        self.facts.append(Fact(self._seq, self._cluster, self._group, topic, T0 + int(at_s * 1000), payload))
        self._seq += 1

    def queue(self, at_s: float, queue_id: int, finding: str, **more: Any) -> None:
        known: dict[str, Any] = {
            "broker_name": "a", "queue_id": queue_id, "finding": finding, "severity": "none", "cause": None,
            "reason": None, "owners": ("x",), "expected": ("x",), "since_ts": T0 + int(at_s * 1000),
        }  # fmt: skip
        topic = more.pop("topic", "T")
        self.tell(QueueFact(**{**known, **more}), at_s, topic)

    def listed(self, at_s: float, broker_name: str, client_id: str, entries: int, first_seen: bool = False) -> None:
        change = "appeared" if entries else "disappeared"
        who = {"broker_name": broker_name, "client_id": client_id, "first_seen": first_seen}
        self.tell(MembershipFact(change=change, entries=entries, **who), at_s)

    def member(self, at_s: float, client_id: str, present: bool = True) -> None:
        self.tell(MemberFact(client_id=client_id, present=present, since_ts=T0 + int(at_s * 1000)), at_s)

    def alert(self, at_s: float, state: str, reason: str, queues: Iterable[int] = (0,), **more: Any) -> None:
        known: dict[str, Any] = {
            "fingerprint": "f", "severity": "critical", "kind": "ORPHANED", "cause": "MEMBER_GONE",
            "observed": observed(MemberGone(clients=clients("x"))),
        }  # fmt: skip
        of = tuple(AlertQueue("a", queue_id) for queue_id in queues)
        self.tell(AlertFact(state=state, reason=reason, queues=of, active_ts=T0, **{**known, **more}), at_s, "T")

    def status(self, at_s: float, status: str, reason: str | None = None, reason_details: ReasonDetails | None = None,
               refused_since: int | None = None, **counts: int) -> None:  # fmt: skip
        self.tell(
            GroupFact(status=status, members=1, queues=2, counts=counts, brokers_covered=2, brokers_known=2,
                      members_reporting=1, reason=reason, reason_details=reason_details, refused_since=refused_since),
            at_s,
        )  # fmt: skip


def health(at_s: float, status: str = "ok", lag_s: float | None = 2, cluster: str = "c") -> Fact:
    payload = HealthFact(
        status=status, batch_id=1, groups=1, rounds=1, events=1, quarantined=0, brokers_unanswered=0,
        lag_ms=None if lag_s is None else int(lag_s * 1000), events_per_s=1.0, batch_ms=1, state_bytes=1,
    )  # fmt: skip
    ts = T0 + int(at_s * 1000)
    return Fact(ts, cluster, "", None, ts, payload)
