"""Tables that a job would have made, of scenarios whose groups are named as is wanted. Without Spark."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from schemas.facts import AlertFact, Fact, HealthFact
from streaming.projections.projector import run_projections
from streaming.tables.storage import mark_replayed
from testing.written import commit
from tests.explain.facts import facts_of_scenario

CLUSTER = "prod"


def facts_named(scenario: str, group: str, until_s: float | None = None) -> list[Fact]:
    """The facts of a scenario under another name, up to some seconds after its beginning."""
    facts = facts_of_scenario(scenario)
    first = facts[0].ts
    return [
        replace(fact, cluster=CLUSTER, group=group, payload=_of_group(fact, group))
        for fact in facts
        if until_s is None or fact.ts <= first + until_s * 1000
    ]


def _of_group(fact: Fact, group: str) -> object:
    if isinstance(fact.payload, AlertFact):
        return replace(fact.payload, fingerprint=f"{fact.payload.fingerprint}-{group}")
    return fact.payload


def health_of(facts: Iterable[Fact], cluster: str = CLUSTER) -> list[Fact]:
    """evenkeel's own health, every 15 s while there are facts."""
    times = [fact.ts for fact in facts]
    return [_health(ts, cluster) for ts in range(min(times), max(times) + 15_000, 15_000)]


def _health(ts: int, cluster: str) -> Fact:
    payload = HealthFact(
        status="ok", batch_id=ts // 1000, groups=3, rounds=9, events=60, quarantined=0, brokers_unanswered=0,
        lag_ms=1200, events_per_s=4.0, batch_ms=300, state_bytes=100_000,
    )  # fmt: skip
    return Fact(ts, cluster, "", None, ts, payload)


def make_tables(folder: Path, groups: Mapping[str, tuple[str, float | None]], is_past: bool = True) -> Path:
    """``groups``: of each the scenario, and until when it is told. ``is_past``: as a replay leaves them."""
    facts = [fact for name, (scenario, until) in groups.items() for fact in facts_named(scenario, name, until)]
    facts = sorted([*facts, *health_of(facts)], key=lambda fact: fact.ts)
    commit(folder / "facts", facts)
    run_projections(str(folder))
    if is_past:
        mark_replayed(folder, "a test")
    return folder
