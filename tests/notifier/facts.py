"""Facts, as the job would tell them."""

from typing import Any

from schemas.facts import AlertFact, AlertQueue, Fact, HealthFact
from streaming.core.alerts.lifecycle import fingerprint

NOW = 1_700_000_000_000
S = 1_000


def alert(
    group: str = "g", state: str = "firing", *, at: int = 0, seq: int = 1, fired: int | None = None, **changed: Any
) -> Fact:
    """``at`` and ``fired``: seconds after NOW."""
    cluster, topic, kind = changed.pop("cluster", "c"), changed.pop("topic", "t"), changed.pop("kind", "ORPHANED")
    ts = NOW + at * S
    fired_ts = None if state == "pending" else NOW + (at if fired is None else fired) * S
    values: dict[str, Any] = {
        "fingerprint": fingerprint(cluster, group, topic, kind),
        "state": state,
        "severity": "critical",
        "kind": kind,
        "cause": "UNEXPLAINED",
        "queues": (AlertQueue("b", 0),),
        "reason": "held_long_enough",
        "active_ts": (fired_ts or ts) - 5 * S,
        "fired_ts": fired_ts,
        "resolved_ts": ts if state == "resolved" else None,
    }
    return Fact(seq, cluster, group, topic, ts, AlertFact(**values | changed))


def health(cluster: str = "c", *, at: int = 0, rounds: int = 3, lag: int | None = 1, status: str = "ok") -> Fact:
    """``lag``: seconds."""
    payload = HealthFact(
        status=status, batch_id=1, groups=1, rounds=rounds, events=rounds, quarantined=0, brokers_unanswered=0,
        lag_ms=None if lag is None else lag * S, events_per_s=1.0, batch_ms=1, state_bytes=1,
    )  # fmt: skip
    return Fact(NOW + at * S, cluster, "", None, NOW + at * S, payload)
