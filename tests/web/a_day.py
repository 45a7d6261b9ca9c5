"""Tables of a small fleet with a day behind it: what fires now, what is being deployed, what was wrong yesterday."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from schemas.facts import Fact, GroupFact
from streaming.projections.projector import run_projections
from streaming.tables.storage import mark_replayed
from testing.written import commit
from tests.web.made_tables import facts_named, health_of

NOW = int(datetime(2026, 11, 22, 15, 20, 0, tzinfo=UTC).timestamp() * 1000)
YESTERDAY = int(datetime(2026, 11, 21, 14, 2, 0, tzinfo=UTC).timestamp() * 1000)
HOUR_MS = 3_600_000
HEALTHY = ("billing", "coupons", "emails", "invoices", "ledger", "prices", "reviews", "search", "shipping", "users")


def a_day(folder: Path) -> Path:
    """Two clients of ``orders`` share an id, ``carts`` is deployed, ``stock`` had queues without owner yesterday."""
    facts = [
        *_ending(facts_named("same_client_id", "orders", 280.0), NOW),
        *_ending(facts_named("deploy_left_half_way", "carts", 200.0), NOW),
        *_repeated(_beginning(facts_named("not_taken_over", "stock"), YESTERDAY)),
    ]
    for name in HEALTHY:
        facts += _repeated(_beginning(facts_named("rolling_deploy", name), YESTERDAY - HOUR_MS))
    facts = sorted([*facts, *health_of(facts)], key=lambda fact: fact.ts)
    commit(folder / "facts", facts)
    run_projections(str(folder))
    mark_replayed(folder, "a test")
    return folder


def _ending(facts: list[Fact], ts: int) -> list[Fact]:
    return [_later(fact, ts - facts[-1].ts) for fact in facts]


def _beginning(facts: list[Fact], ts: int) -> list[Fact]:
    return [_later(fact, ts - facts[0].ts) for fact in facts]


def _later(fact: Fact, ms: int) -> Fact:
    """The fact as if it had been found so much later, with every time in it."""
    payload = msgspec.convert(_moved(msgspec.to_builtins(fact.payload), ms), type(fact.payload))
    return replace(fact, ts=fact.ts + ms, payload=payload)


def _moved(value: object, ms: int) -> object:
    if isinstance(value, dict):
        return {key: _moved(one, ms) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_moved(one, ms) for one in value]
    is_a_time = isinstance(value, int) and value > 10**12
    return value + ms if is_a_time else value


def _repeated(facts: list[Fact]) -> Iterator[Fact]:
    """With the newest status again in each hour until now, as a job repeats it."""
    yield from facts
    newest = max((one for one in facts if isinstance(one.payload, GroupFact)), key=lambda one: one.seq)
    seq = max(one.seq for one in facts)
    for number, ts in enumerate(range(newest.ts + HOUR_MS, NOW, HOUR_MS), 1):
        yield replace(_later(newest, ts - newest.ts), seq=seq + number)
