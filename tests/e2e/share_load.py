"""The cost of sharing a cluster: one collector asks the same groups as two (``python -m tests.e2e.share_load``).

Simulated brokers, in a process of their own, count the requests. The processor is that of each collector's process.
"""

import argparse
import asyncio
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from streaming.loopback.kafka import LoopbackKafka
from tests.collector.fake_rocketmq import FakeClient, FakeCluster, FakeGroup

CLIENTS, QUEUES, BROKERS = 3, 4, ("broker-a", "broker-b")
ROUND = re.compile(r"prod(?:/\d)?: (\d+) groups in ([\d.]+) s with (\d+) requests")
CONNECTIONS = 203  # of each broker in each round of a group
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--groups", type=int, default=5_000)
    arguments.add_argument("--interval", type=float, default=5)
    arguments.add_argument("--settle", type=float, default=120, help="seconds until it is measured")
    arguments.add_argument("--seconds", type=float, default=120)
    given = arguments.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    brokers = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, given.groups), daemon=True)
    brokers.start()
    try:
        namesrv = ours.recv()
        with tempfile.TemporaryDirectory() as folder, LoopbackKafka(Path(folder) / "kafka") as kafka:
            for name, processes, share in (("alone", 1, False), ("one", 1, True), ("two", 2, True)):
                kafka.create_topic(f"events-{name}", 4)
                config = Path(folder) / f"{name}.toml"
                config.write_text(
                    f'[source]\nbootstrap_servers = "{kafka.bootstrap_servers}"\ntopic = "events-{name}"\n[collector]\n'
                    f'clusters = {{ prod = "{namesrv}" }}\ninterval_seconds = {given.interval}\n'
                    f'failover_topic = "collectors-{name}"\nshare = {str(share).lower()}\n'
                )
                _measure(f"{name} (share = {share})", config, processes, given, ours)
    finally:
        brokers.kill()
        brokers.join()


def _measure(name: str, config: Path, processes: int, given: argparse.Namespace, brokers: Connection) -> None:
    logs = [config.with_suffix(f".{number}.log") for number in range(processes)]
    command = [sys.executable, "-m", "streaming", "collect", "--config", str(config)]
    running = []
    for log in logs:
        with log.open("wb") as file:
            running.append(subprocess.Popen(command, stdout=file, stderr=file))
    try:
        time.sleep(given.settle)
        cpu_s, asked, seen = [_cpu_s(one.pid) for one in running], _asked(brokers), [log.stat().st_size for log in logs]
        time.sleep(given.seconds)
        used_s = [round(_cpu_s(one.pid) - before, 2) for one, before in zip(running, cpu_s, strict=True)]
        *rates, lists = [(now - before) / given.seconds for now, before in zip(_asked(brokers), asked, strict=True)]
        memory_mb = [_memory_mb(one.pid) for one in running]
        rounds = [
            [(int(groups), float(took_s), int(number)) for groups, took_s, number in ROUND.findall(_from(log, at))]
            for log, at in zip(logs, seen, strict=True)
        ]
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait()
    rounds_of_groups = lists * given.seconds / len(BROKERS)
    print(
        f"{name}: {given.groups} groups, a round every {given.interval:g} s\n"
        f"  processor a process: {used_s} s; {1000 * sum(used_s) / rounds_of_groups:.3f} ms a round of a group, "
        f"{1000 * sum(used_s) / sum(rates) / given.seconds:.3f} ms a request\n"
        f"  rounds of groups: {rounds_of_groups:.0f}; requests a second at each broker: {[round(r) for r in rates]}\n"
        f"  memory a process: {memory_mb} MB\n"
        f"  rounds (groups, seconds, requests): {rounds}\n"
        f"  processor of this and all others of the machine: load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def _from(log: Path, at: int) -> str:
    return log.read_bytes()[at:].decode("utf-8", "replace")


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _memory_mb(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() // 2**20


def _asked(brokers: Connection) -> list[int]:
    """How many requests each broker got so far, and how many for connections all of them."""
    brokers.send("how many")
    found: list[int] = brokers.recv()
    return found


def _serve(pipe: Connection, groups: int) -> None:
    asyncio.run(_served(pipe, groups))


async def _served(pipe: Connection, groups: int) -> None:
    topics = {f"topic-{number}": QUEUES for number in range(groups)}
    fake = FakeCluster(BROKERS, topics, {f"group-{number}": _group(number) for number in range(groups)})
    async with fake.running() as cluster:
        pipe.send(cluster.namesrv[0])
        while True:
            await asyncio.to_thread(pipe.recv)
            nodes = [cluster.nodes[name] for name in BROKERS]
            pipe.send([*(sum(one.requests.values()) for one in nodes), sum(one.requests[CONNECTIONS] for one in nodes)])
            cluster.asked_s.clear()
            cluster.asked_about.clear()


def _group(number: int) -> FakeGroup:
    topic = f"topic-{number}"
    queues = [(topic, broker, queue_id) for broker in BROKERS for queue_id in range(QUEUES)]
    ids = [f"10.{number // 250}.{number % 250}.{one}@{number * 977 + one}" for one in range(CLIENTS)]
    return FakeGroup([FakeClient(who, queues[one::CLIENTS], (topic,)) for one, who in enumerate(ids)], (topic,))


if __name__ == "__main__":
    main()
