"""The stages of a run, each in its own process, so that no stage is affected by what another left or broke."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from json import loads
from pathlib import Path

from bench.results import SKIPPED, Results, Tree, has, merge, nested, say


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage. ``run``: module and function; ``keys``: the results that it gives, each a value or an error."""

    name: str
    run: str
    keys: tuple[str, ...]
    limit_s: int
    is_quick: bool = True

    def load(self) -> Callable[[Results, bool], None]:
        module, _, function = self.run.partition(":")
        found: Callable[[Results, bool], None] = getattr(import_module(module), function)
        return found


STAGES = (
    Stage("machine", "bench.machine:measure", ("machine",), 60),
    Stage("small", "bench.small:measure", ("group", "catch_up", "state_bytes_per_client"), 900),
    Stage(
        "large",
        "bench.large:measure",
        ("idle_trigger_s.groups_10000", "cost_at_twice_the_groups", "steady.groups_10000"),
        2400,
        is_quick=False,  # introducing 10,000 groups alone takes minutes
    ),
    Stage("latency", "bench.latency:measure", ("latency",), 900),
    Stage("projections", "bench.projections:measure", ("projections",), 300),
    Stage("pages", "bench.pages:measure", ("pages",), 900, is_quick=False),
    Stage("cluster", "bench.cluster:measure", ("cluster",), 3600, is_quick=False),
    Stage("appends", "bench.appends:measure", ("appends",), 1800, is_quick=False),
    Stage("core", "bench.core:measure", ("core",), 120, is_quick=False),
    Stage("explain", "bench.explain:measure", ("explain",), 1800, is_quick=False),
    Stage("bounds", "bench.bounds:measure", ("bounds",), 900, is_quick=False),
    Stage("collector", "bench.collector:measure", ("collector",), 3600, is_quick=False),
    Stage("allocation", "bench.allocation:measure", ("allocation",), 120, is_quick=False),
)


def stage_named(name: str) -> Stage:
    return next(stage for stage in STAGES if stage.name == name)


def run_stages(stages: Sequence[Stage], quick: bool) -> Tree:
    """Run all stages one after the other. A missing result is an error."""
    tree: Tree = {}
    for stage in stages:
        merge(tree, _run(stage, quick) if stage.is_quick or not quick else _skipped(stage))
    return tree


def _skipped(stage: Stage) -> Tree:
    tree: Tree = {}
    for key in stage.keys:
        merge(tree, nested(key, SKIPPED))
    return tree


def _run(stage: Stage, quick: bool) -> Tree:
    say(f"{stage.name} begins")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
        result = Path(folder, "result.json")
        why = _run_process(stage, quick, result, folder)
        tree: Tree = loads(result.read_text()) if result.exists() else {}
    for key in stage.keys:
        if not has(tree, key):
            merge(tree, nested(key, {"error": why or "the stage gave no value"}))
    say(f"{stage.name} took {time.monotonic() - began:.0f} s")
    return tree


def _run_process(stage: Stage, quick: bool, result: Path, folder: str) -> str | None:
    """Run the stage's process. Return None, or the text of its failure."""
    command = [sys.executable, "-m", "bench", "--stage", stage.name, "--result", str(result)]
    process = subprocess.Popen(
        [*command, *(["--quick"] if quick else [])],
        stdout=sys.stderr,
        start_new_session=True,
        env={**os.environ, "TMPDIR": folder},
    )
    try:
        status = process.wait(stage.limit_s)
        return f"the stage ended with status {status}; stderr says why" if status else None
    except subprocess.TimeoutExpired:
        return f"the stage did not end within {stage.limit_s} s"
    finally:
        _end_group(process)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End all processes that the stage started and did not end."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
