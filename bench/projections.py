"""The cost of updating the projections by a thousand changes with some twenty facts each."""

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from bench.results import Results, say
from schemas.tables import FACTS
from streaming.projections.locks import writing_alone
from streaming.projections.projector import Projector, open_projector, run_projections
from streaming.tables.arrow_types import arrow_schema

GROUPS, QUICK_GROUPS = 10_000, 1_000
QUEUES, MEMBERS = 34, 10  # in a group
CHANGES, QUEUES_A_CHANGE = 1_000, 17  # with two members and one membership fact: 20 facts
COMMITS, BATCHES = 5, 6  # commits within a batch's time; the first batch is not counted
START_MS = 1_790_000_000_000
_SCHEMA = arrow_schema(FACTS)


def measure(results: Results, quick: bool) -> None:
    groups = QUICK_GROUPS if quick else GROUPS
    with results.part("projections"), tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _commit(folder, list(_all_of(groups)))
        run_projections(folder)
        say(f"projections: {groups * QUEUES} queues and {groups * MEMBERS} members are there")
        with writing_alone(folder):
            projector = open_projector(folder)
            took = [_batch(projector, folder, groups, number) for number in range(BATCHES)]
        say(f"projections, processor and clock: {[(round(cpu, 2), round(clock, 2)) for cpu, clock in took]}")
        cpu, clock = (median(one) for one in zip(*took[1:], strict=True))
        figures = {"cpu_s_per_batch": round(cpu, 2), "s_per_batch": round(clock, 2), "changes": CHANGES}
        results.put("projections", figures | {"facts": CHANGES * (QUEUES_A_CHANGE + 3), "queues": groups * QUEUES})


def _batch(projector: Projector, folder: str, groups: int, number: int) -> tuple[float, float]:
    """The CPU seconds of all threads, and the elapsed seconds, of one batch."""
    for part in range(COMMITS):
        changes = range(part, CHANGES, COMMITS)
        _commit(folder, [row for change in changes for row in _change(change * 7 % groups, 1 + number, change)])
    cpu, clock = time.process_time(), time.perf_counter()
    while projector.next_batch() is not None:
        pass
    return time.process_time() - cpu, time.perf_counter() - clock


def _commit(folder: str, rows: list[dict[str, Any]]) -> None:
    path = Path(folder, FACTS.name)
    write_deltalake(path, pa.Table.from_pylist(rows, _SCHEMA), mode="append", partition_by=list(FACTS.partitioned_by))


def _all_of(groups: int) -> Iterator[dict[str, Any]]:
    for group in range(groups):
        yield from (_queue(group, queue, seq=queue) for queue in range(QUEUES))
        yield from (_member(group, member, seq=QUEUES + member) for member in range(MEMBERS))


def _change(group: int, batch: int, change: int) -> Iterator[dict[str, Any]]:
    """The facts of a change: one member joins, another leaves, and half of the group's queues get new owners."""
    seq = batch * 1_000_000 + change * 100
    yield from (_queue(group, queue, seq + queue, owner=change) for queue in range(QUEUES_A_CHANGE))
    yield from (_member(group, member, seq + 50 + member) for member in (0, 1))
    told = {"broker_name": "broker-0", "client_id": _client(group, 0), "change": "appeared", "entries": 1}
    yield _fact("membership", group, seq + 60, told | {"reason": None, "addresses": [], "first_seen": False})


def _queue(group: int, queue: int, seq: int, owner: int | None = None) -> dict[str, Any]:
    owners = [_client(group, queue if owner is None else owner)]
    ended = {"finding": "SETTLING", "owners": owners, "expected": owners, "from_ts": START_MS, "to_ts": START_MS + seq}
    told = {"broker_name": f"broker-{queue % 4}", "queue_id": queue // 4, "finding": "MATCH", "severity": "none"}
    told |= {"owners": owners, "expected": owners, "since_ts": START_MS + seq, "present": True}
    return _fact("queue", group, seq, told | {"ended": None if owner is None else ended})


def _member(group: int, member: int, seq: int) -> dict[str, Any]:
    told = {"client_id": _client(group, member), "present": True, "since_ts": START_MS, "brokers": ["broker-0"]}
    return _fact("member", group, seq, told | {"instances": 1, "version": "V5_3_3", "strategy": "AVG"})


def _client(group: int, number: int) -> str:
    return f"10.{group // 250}.{group % 250}.{number % MEMBERS}@1234#{group * 31 + number % MEMBERS}"


def _fact(kind: str, group: int, seq: int, payload: dict[str, Any]) -> dict[str, Any]:
    when = datetime.fromtimestamp((START_MS + seq) / 1000, UTC)
    keys = {"identity": "bench", "shard": 0, "seq": seq, "fact": kind, "cluster": "bench", "ts": when}
    return keys | {"group": f"group-{group:05}", "topic": f"topic-{group:05}", "date": when.date(), kind: payload}
