"""Plays the requested number of incidents and healthy rebalances, on all processors."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count, islice
from typing import NamedTuple

from streaming.core.settings import Settings
from streaming.progress import Progress
from streaming.simulation.evaluation.healthy_operations import play_healthy
from streaming.simulation.evaluation.incidents import play_numbered
from streaming.simulation.evaluation.report import Report
from streaming.simulation.evaluation.results import Run

AT_ONCE = 16  # runs that are begun before the first of them is waited for


class RunCounts(NamedTuple):
    """The numbers of runs: incidents and healthy rebalances, and the same numbers with perturbations."""

    incidents: int
    healthy: int
    perturbed_incidents: int = 0
    perturbed_healthy: int = 0


def evaluate(
    counts: RunCounts, seed: str, settings: Settings, jobs: int | None = None, progress: Progress | None = None
) -> Report:
    """The same seed gives the same report, however many processes (``jobs``) make it.

    When it is interrupted (Ctrl-C) the report is of what had been played by then.
    """
    report, progress = Report(), progress or Progress()
    with _Runner(jobs or os.cpu_count() or 1) as runner:
        try:
            _play(runner, report, counts.incidents, counts.healthy, seed, settings, progress)
            if counts.perturbed_incidents or counts.perturbed_healthy:
                report.perturbed = Report()
                progress.note("with perturbations:")
                perturbed = counts.perturbed_incidents, counts.perturbed_healthy
                _play(runner, report.perturbed, *perturbed, f"{seed}/perturbed", settings, progress, is_perturbed=True)
        except KeyboardInterrupt:
            progress.note("interrupted: these are the figures of what was played by now")
    return report


def _play(
    runner: _Runner,
    report: Report,
    incidents: int,
    healthy: int,
    seed: str,
    settings: Settings,
    progress: Progress,
    is_perturbed: bool = False,
) -> None:
    for run in runner.runs(partial(play_numbered, seed, settings, is_perturbed), range(incidents)):
        report.incidents.append(run)
        progress.count(len(report.incidents), incidents, "incidents")
    rebalances = 0
    for run in runner.runs(partial(_play_healthy, seed, settings, is_perturbed), count() if healthy else ()):
        report.healthy.append(run)
        rebalances += run.rebalances
        progress.count(min(rebalances, healthy), healthy, "healthy rebalances")
        if rebalances >= healthy:
            break


def _play_healthy(seed: str, settings: Settings, is_perturbed: bool, number: int) -> Run:
    return play_healthy(f"{seed}/healthy/{number}", settings, is_perturbed)


class _Runner:
    """Runs side by side, their results in order; with one job, in this process."""

    def __init__(self, jobs: int) -> None:
        # Ctrl-C reaches the whole group of processes: the one that counts decides what follows
        ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
        self._pool = ProcessPoolExecutor(jobs, initializer=ignore) if jobs > 1 else None

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def runs(self, play: Callable[[int], Run], numbers: range | Iterator[int] | tuple[int, ...]) -> Iterator[Run]:
        waiting = iter(numbers)
        if self._pool is None:
            yield from map(play, waiting)
            return
        pending = [self._pool.submit(play, number) for number in islice(waiting, AT_ONCE)]
        while pending:
            run = pending.pop(0).result()
            pending += [self._pool.submit(play, number) for number in islice(waiting, 1)]
            yield run
