"""Plays the requested number of incidents, healthy rebalances and healthy operations, on all processors."""

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
from streaming.simulation.evaluation.pop_runs import play_pop_healthy, play_pop_numbered
from streaming.simulation.evaluation.report import Report
from streaming.simulation.evaluation.results import Run

AT_ONCE = 16  # runs that are begun before the first of them is waited for


class RunCounts(NamedTuple):
    """The numbers of runs: incidents and healthy rebalances, with perturbations, and of groups of gRPC clients."""

    incidents: int
    healthy: int
    perturbed_incidents: int = 0
    perturbed_healthy: int = 0
    pop_incidents: int = 0
    pop_healthy: int = 0


def evaluate(
    counts: RunCounts, seed: str, settings: Settings, jobs: int | None = None, progress: Progress | None = None
) -> Report:
    """The same seed gives the same report, however many processes (``jobs``) make it.

    When it is interrupted (Ctrl-C) the report is of what had been played by then.
    """
    report, progress = Report(), progress or Progress()
    with _Runner(jobs or os.cpu_count() or 1) as runner:
        try:
            plays = partial(play_numbered, seed, settings, False), partial(_play_healthy, seed, settings, False)
            _play(runner, report, counts.incidents, counts.healthy, plays, progress)
            if counts.perturbed_incidents or counts.perturbed_healthy:
                report.perturbed = Report()
                progress.note("with perturbations:")
                own = f"{seed}/perturbed"
                plays = partial(play_numbered, own, settings, True), partial(_play_healthy, own, settings, True)
                _play(runner, report.perturbed, counts.perturbed_incidents, counts.perturbed_healthy, plays, progress)
            if counts.pop_incidents or counts.pop_healthy:
                report.pop = Report(operations="operations")
                progress.note("groups of gRPC clients:")
                own = f"{seed}/pop"
                plays = partial(play_pop_numbered, own, settings), partial(_play_pop_healthy, own, settings)
                _play(runner, report.pop, counts.pop_incidents, counts.pop_healthy, plays, progress)
        except KeyboardInterrupt:
            progress.note("interrupted: these are the figures of what was played by now")
    return report


def _play(
    runner: _Runner,
    report: Report,
    incidents: int,
    healthy: int,
    plays: tuple[Callable[[int], Run], Callable[[int], Run]],
    progress: Progress,
) -> None:
    """``plays`` play the incident, and the healthy group, of a number."""
    play_incident, play_healthy_group = plays
    for run in runner.runs(play_incident, range(incidents)):
        report.incidents.append(run)
        progress.count(len(report.incidents), incidents, "incidents")
    done = 0
    for run in runner.runs(play_healthy_group, count() if healthy else ()):
        report.healthy.append(run)
        done += run.rebalances
        progress.count(min(done, healthy), healthy, f"healthy {report.operations}")
        if done >= healthy:
            break


def _play_healthy(seed: str, settings: Settings, is_perturbed: bool, number: int) -> Run:
    return play_healthy(f"{seed}/healthy/{number}", settings, is_perturbed)


def _play_pop_healthy(seed: str, settings: Settings, number: int) -> Run:
    return play_pop_healthy(f"{seed}/healthy/{number}", settings)


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
