"""The cost of collecting from groups of 20 clients: a round every 5 s, on one core, from simulated brokers.

It is measured as the collector works, with confirmations of what has not changed: of 1,000 groups, and of more, up to
as many as one process can ask. And once with full reports each time.
"""

import asyncio
import multiprocessing
import os
import resource
import tempfile
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

from bench.results import Results, say
from streaming.collector.output.json_lines import LinesFile
from streaming.collector.probing.cluster_probe import ClusterProbe, RoundReport
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.collector.service import garbage_searched_seldom
from streaming.collector.wire.client import RemotingClient
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup

GROUPS, CLIENTS = 1_000, 20
MORE_GROUPS = (2_000, 4_000)
QUEUES = 16  # on each of two brokers
ROUNDS_A_MINUTE = 12
SETTLING = 14  # rounds: in the first every group is new, and new groups are reported in full for 65 s
ROUNDS = 24


def measure(results: Results, _quick: bool) -> None:
    """Measure. CPU: of this process only, all threads; memory: its highest until then, with Python itself."""
    runs = [("collector", GROUPS, True), ("collector.in_full", GROUPS, False)]
    runs += [(f"collector.groups_{number}", number, True) for number in MORE_GROUPS]
    for key, number, confirms in runs:
        with results.part(key):
            results.put(key, _measured(number, confirms))


def _measured(number: int, confirms: bool) -> dict[str, float]:
    """The figures of so many groups; the brokers have the other cores."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    brokers = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, number), daemon=True)
    brokers.start()
    cores = os.sched_getaffinity(0)
    try:
        with tempfile.TemporaryDirectory() as folder, garbage_searched_seldom():
            namesrv = ours.recv()
            os.sched_setaffinity(0, {min(cores)})
            return asyncio.run(_collect(namesrv, Path(folder, "events.jsonl"), confirms))
    finally:
        os.sched_setaffinity(0, cores)
        brokers.kill()
        brokers.join()


def _figures(reports: list[RoundReport], cpu_s: float, event_bytes: int) -> dict[str, float]:
    say(f"rounds: {' '.join(f'{report.took_s:.2f}s' for report in reports)}")
    return {
        "groups": reports[-1].groups,
        "clients": reports[-1].groups * CLIENTS,
        "round_s_p50": round(median(report.took_s for report in reports), 2),
        "round_s_max": round(max(report.took_s for report in reports), 2),
        "cpu_s_per_round": round(cpu_s / len(reports), 2),
        "event_bytes_per_group_and_minute": round(event_bytes / len(reports) / reports[-1].groups * ROUNDS_A_MINUTE),
        "requests_per_round": round(sum(report.requests for report in reports) / len(reports)),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


async def _collect(namesrv: list[str], events: Path, confirms: bool) -> dict[str, float]:
    """The figures of the counted rounds. ``confirms`` false: everything is reported in full each time."""
    policy = replace(DEFAULT_POLICY, confirms=confirms)
    client, file = RemotingClient(policy.timeout_ms / 1000), LinesFile(events)
    probe = ClusterProbe("bench", policy, client, namesrv, "bench", file.emit, lambda _: None)
    reports, cpu_s, size = [], 0.0, 0
    for number in range(SETTLING + ROUNDS):
        if number == SETTLING:
            cpu_s, size = time.process_time(), events.stat().st_size
        began = time.monotonic()
        reports.append(await probe.round())
        await asyncio.sleep(max(0.0, began + policy.interval_ms / 1000 - time.monotonic()))
    cpu_s = time.process_time() - cpu_s
    await probe.close()
    file.close()
    return _figures(reports[SETTLING:], cpu_s, events.stat().st_size - size)


def _serve(pipe: Connection, groups: int) -> None:
    asyncio.run(_served(pipe, range(groups)))


async def _served(pipe: Connection, numbers: range) -> None:
    topics = {f"topic-{number}": QUEUES for number in numbers}
    groups = {f"group-{number}": _group(number) for number in numbers}
    async with FakeCluster(queues=topics, groups=groups).running() as cluster:
        pipe.send(cluster.namesrv)
        await asyncio.Event().wait()


def _group(number: int) -> FakeGroup:
    topic = f"topic-{number}"
    queues = [(topic, broker, queue_id) for broker in ("broker-a", "broker-b") for queue_id in range(QUEUES)]
    ids = [f"10.{number // 250}.{number % 250}.{one}@{number * 977 + one}" for one in range(CLIENTS)]
    members = [FakeClient(client_id, queues[one::CLIENTS], (topic,)) for one, client_id in enumerate(ids)]
    return FakeGroup(members, (topic,))
