"""The projections are made from facts alone: made again, also from compacted days, they are the same."""

from collections import Counter

import pytest

from schemas.tables import PROJECTIONS
from streaming.loopback import LoopbackKafka
from streaming.wall_clock import now_ms
from testing import tables
from testing.workload import end_offsets, recorded, send, with_bad_ones
from tests.e2e.conftest import MakeJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(1800),
]


def test_projections_made_again_from_compacted_days_are_the_live_ones(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob
) -> None:
    names = ("b_kill9", "d_sameid", "e_subscriptions")
    send(kafka, topic, with_bad_ones(recorded("e2e", now_ms(), days=3, names=names)))
    job = make_job(
        values={"source": {"max_offsets_per_trigger": 250}, "job": {"maintenance": False, "health_seconds": 3}}
    )
    job.finish(end_offsets(kafka, topic))
    live = {table.name: tables.projection(job.tables, table.name) for table in PROJECTIONS}
    assert [name for name, rows in live.items() if not rows] == []
    assert len({row["date"] for row in tables.rows(job.tables, "facts")}) == 3

    days = Counter(path.parent.name for path in tables.files(job.tables, "facts"))
    maintained = job.command("maintain")
    assert maintained.returncode == 0, maintained.stderr
    *closed, _ = sorted(days)
    compacted = Counter(path.parent.name for path in tables.files(job.tables, "facts"))
    assert any(days[day] > 1 for day in closed)
    assert [compacted[day] for day in closed] == [1] * len(closed)
    rebuilt = job.command("rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr

    made = {name: tables.projection(job.tables, name) for name in live}
    made["monitor_health"] = told_until(made["monitor_health"], live["monitor_health"])
    different = {name: tables.differences(made[name], rows) for name, rows in live.items()}
    assert {name: found for name, found in different.items() if found} == {}


def told_until(made: list[tables.Row], live: list[tables.Row]) -> list[tables.Row]:
    """The job's pulse goes on until its end, when nothing projects its last beats any more."""
    newest = max(row["ts"] for row in live)
    return [row for row in made if row["ts"] <= newest]
