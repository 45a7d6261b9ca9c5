"""The response times of ``evenkeel web``: 10,000 groups (quick: 1,000), some with faults, and a very large one.

The tables are those of simulated groups; most groups are copies of a healthy one.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import psutil
import requests
from msgspec.structs import replace

from bench.flood import flood
from bench.results import Results, say
from schemas.facts import AlertFact, Fact
from schemas.tables import FACTS
from streaming.cli import main as evenkeel
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.loopback.ports import free_port
from streaming.projections.projector import run_projections
from streaming.replay.core_engine import core_facts
from streaming.replay.input_file import open_input
from streaming.tables.storage import mark_replayed
from testing.written import commit

GROUPS, QUICK_GROUPS = 10_000, 1_000
A_COMMIT = 500  # groups in each
TIMES = 20
FLOOD_RATE, FLOOD_S = 1_000, 60.0  # requests a second, of all these pages in turn
CLUSTER = "bench"
HEALTHY = ("--groups", "1", "--clients", "20", "--queues", "32", "--seconds", "60")
FAULTY = (
    "--groups",
    "60",
    "--clients",
    "20",
    "--queues",
    "32",
    "--seconds",
    "900",
    "--faults",
    "all",
    "--faulty",
    "0.3",
)
LARGE = ("--groups", "1", "--clients", "200", "--queues", "1024", "--seconds", "60")
ANSWERS_WITHIN_S = 300


def measure(results: Results, quick: bool) -> None:
    groups = QUICK_GROUPS if quick else GROUPS
    with results.part("pages"), tempfile.TemporaryDirectory(prefix="bench-") as folder:
        paths = _make_tables(Path(folder), groups)
        with _served(folder) as (address, process, started_s):
            figures = {f"{name}_ms_{key}": ms for name, path in paths.items() for key, ms in _asked(address + path)}
            rss_mb = process.memory_info().rss // (1 << 20)
            results.put("pages", {"groups": groups, "starts_s": round(started_s, 1), "rss_mb": rss_mb, **figures})
            say(f"pages: {FLOOD_RATE} requests a second")
            results.put("pages.flood", flood(address, list(paths.values()), FLOOD_RATE, FLOOD_S, process))


def _make_tables(folder: Path, groups: int) -> dict[str, str]:
    """Make the tables. Return the addresses to request, by name."""
    faulty, large = _facts(folder, "some", FAULTY), _facts(folder, "large", LARGE)
    healthy = _facts(folder, "one", HEALTHY)
    for begin in range(0, groups, A_COMMIT):
        names = [f"copy-{number:05}" for number in range(begin, min(begin + A_COMMIT, groups))]
        commit(folder / FACTS.name, [replace(fact, group=name) for name in names for fact in healthy])
    commit(folder / FACTS.name, sorted([*faulty, *large], key=lambda fact: fact.ts))
    run_projections(str(folder))
    mark_replayed(folder, "a measurement")
    say(f"pages: tables of {groups} groups are there")
    then = datetime.fromtimestamp(max(fact.ts for fact in faulty) / 1000 - 300, UTC)
    name, alert = next((one.group, one.payload) for one in faulty if isinstance(one.payload, AlertFact))
    group, huge = (f"/group?cluster={CLUSTER}&group={one}" for one in (name, large[0].group))
    return {
        "overview": "/",
        "search": "/?q=copy-0012",
        "group": group,
        "group_then": f"{group}&at={then:%Y-%m-%dT%H:%M:%SZ}",
        "alert": f"/alert?id={alert.fingerprint}",
        "large_group": huge,
        "large_map": f"{huge}&map=all",
    }


def _facts(folder: Path, name: str, fleet: tuple[str, ...]) -> list[Fact]:
    events = folder / f"{name}.jsonl"
    evenkeel(["simulate", *fleet, "--to", str(events)])
    found = core_facts(open_input(events, say, CLUSTER).records, DEFAULT_SETTINGS)
    return [replace(fact, cluster=CLUSTER, group=f"{name}-{fact.group}") for fact in found]


@contextmanager
def _served(folder: str) -> Iterator[tuple[str, psutil.Process, float]]:
    """Serve the pages: the address, the process, and the seconds until the first answer."""
    listen = f"127.0.0.1:{free_port()}"
    began = time.monotonic()
    command = [sys.executable, "-m", "streaming", "web", "--tables", folder, "--listen", listen]
    process = subprocess.Popen(command, stdout=sys.stderr)
    try:
        _wait(f"http://{listen}/", process)
        yield f"http://{listen}", psutil.Process(process.pid), time.monotonic() - began
    finally:
        process.terminate()
        process.wait(30)


def _wait(address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            requests.get(address, timeout=30)
            return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise RuntimeError("evenkeel web does not answer")


def _asked(address: str) -> list[tuple[str, int]]:
    """The elapsed milliseconds until each whole page has come; the first one is not counted."""
    took = []
    with requests.Session() as browser:
        for _ in range(TIMES + 1):
            began = time.perf_counter()
            answer = browser.get(address, timeout=60)
            took.append(1000 * (time.perf_counter() - began))
            answer.raise_for_status()
            if not re.search("<h1", answer.text):
                raise RuntimeError(f"{address} gives no page")
    return [("p50", round(median(took[1:]))), ("max", round(max(took[1:])))]
