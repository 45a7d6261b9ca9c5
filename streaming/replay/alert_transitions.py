"""Alert transitions: from facts, to JSON and to words."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from schemas.facts import AlertFact, Fact, Kind
from streaming.core.alerts.phases import AlertReason
from streaming.notices.evidence_english import english_evidence
from streaming.wording.lists import grouped
from streaming.wording.names import named
from streaming.wording.numbers import ranges
from streaming.wording.times import clock, moment


class AlertTransition(NamedTuple):
    """A change of an alert's state, or of its queues or cause while open. ``alert`` is the fact's payload."""

    fact: Fact
    alert: AlertFact


def transitions(facts: Iterable[Fact]) -> list[AlertTransition]:
    """The transitions among facts, by time. A fact that only says how much waits is no transition."""
    found = [
        AlertTransition(fact, fact.payload)
        for fact in facts
        if isinstance(fact.payload, AlertFact) and fact.payload.reason != AlertReason.WAITING_CHANGED
    ]
    return sorted(found, key=lambda t: (t.fact.ts, t.fact.cluster, t.fact.group, t.fact.seq))


def as_json(transition: AlertTransition, first_ts: int) -> dict[str, Any]:
    """One line of ``replay --json``. ``owners``: of each of ``queues``, the client ids that own it; null: not known."""
    fact, alert = transition
    return {
        "ts": fact.ts,
        "at_s": round((fact.ts - first_ts) / 1000, 3),
        "state": alert.state,
        "severity": alert.severity,
        "kind": alert.kind,
        "cluster": fact.cluster,
        "group": fact.group,
        "topic": fact.topic,
        "queues": [[queue.broker_name, queue.queue_id] for queue in alert.queues],
        "owners": [queue.owners for queue in alert.queues],
        "cause": alert.cause,
        "evidence": english_evidence(alert, moment),
        "fingerprint": alert.fingerprint,
        "reason": alert.reason,
    }


def headline(transition: AlertTransition) -> str:
    """State, severity, kind, group, topic, reason: ``FIRING  critical  DUPLICATED  prod/orders  topic T  (found)``."""
    fact, alert = transition
    state = f"{alert.state.upper()} (stale)" if alert.stale else alert.state.upper()
    topic = f"  topic {fact.topic}" if fact.topic else ""
    why = alert.reason.replace("_", " ")
    return f"{state:<8}  {alert.severity:<8}  {alert.kind}  {fact.cluster}/{fact.group}{topic}  ({why})"


def details(transition: AlertTransition) -> Iterator[str]:
    """One line each for the queues, their owners, their expected owners and the cause."""
    alert = transition.alert
    for queues in grouped(alert.queues, lambda queue: (queue.owners, queue.expected)).values():
        known = queues[0].owners
        owners = "owner not known" if known is None else f"owned by {named(known)}"
        expected = queues[0].expected
        should = "" if expected is None or expected == known else f", expected {named(expected)}"
        yield f"{ranges((q.broker_name, q.queue_id) for q in queues)}: {owners}{should}"
    why = english_evidence(alert, lambda ts: clock(ts, transition.fact.ts))
    if alert.cause and alert.kind != Kind.UNREADABLE_QUEUES:  # whose evidence names the causes
        why = f"{alert.cause}: {why}" if why else alert.cause
    if why:
        yield why
