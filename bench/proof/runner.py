"""Plays the requested number of incidents, healthy rebalances and healthy operations, on all processors."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count, islice
from typing import Any, NamedTuple

from bench.proof.incidents import play_numbered
from bench.proof.operations import play_healthy, play_pop_healthy
from bench.proof.pop_incidents import play_pop_numbered
from bench.proof.report import Report
from bench.proof.results import Run
from streaming.core.settings import Settings
from streaming.progress import Progress

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
    with _Runner(jobs or os.cpu_count() or 1, settings, progress) as runner:
        try:
            runner.play(report, *counts[:2], seed, play_numbered, play_healthy)
            if any(counts[2:4]):
                progress.note("with perturbations:")
                report.perturbed = Report()
                plays = partial(play_numbered, is_perturbed=True), partial(play_healthy, is_perturbed=True)
                runner.play(report.perturbed, *counts[2:4], f"{seed}/perturbed", *plays)
            if any(counts[4:]):
                progress.note("groups of gRPC clients:")
                report.pop = Report(operations="operations")
                runner.play(report.pop, *counts[4:], f"{seed}/pop", play_pop_numbered, play_pop_healthy)
        except KeyboardInterrupt:
            progress.note("interrupted: these are the figures of what was played by now")
    return report


class _Runner:
    """Runs side by side, their results in order; with one job, in this process."""

    def __init__(self, jobs: int, settings: Settings, progress: Progress) -> None:
        # Ctrl-C reaches the whole group of processes: the one that counts decides what follows
        ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
        self._pool = ProcessPoolExecutor(jobs, initializer=ignore) if jobs > 1 else None
        self._settings, self._progress = settings, progress

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def play(
        self,
        report: Report,
        incidents: int,
        healthy: int,
        seed: str,
        play_incident: Callable[..., Run],
        play_group: Callable[..., Run],
    ) -> None:
        """So many incidents, and healthy groups until there were so many operations."""
        for run in self._runs(partial(play_incident, seed, settings=self._settings), range(incidents)):
            report.incidents.append(run)
            self._progress.count(len(report.incidents), incidents, "incidents")
        done = 0
        seeds = (f"{seed}/healthy/{number}" for number in (count() if healthy else ()))
        for run in self._runs(partial(play_group, settings=self._settings), seeds):
            report.healthy.append(run)
            done += run.rebalances
            self._progress.count(min(done, healthy), healthy, f"healthy {report.operations}")
            if done >= healthy:
                break

    def _runs(self, play: Callable[[Any], Run], numbers: Iterable[object]) -> Iterator[Run]:
        waiting = iter(numbers)
        if self._pool is None:
            yield from map(play, waiting)
            return
        pending = [self._pool.submit(play, number) for number in islice(waiting, AT_ONCE)]
        while pending:
            run = pending.pop(0).result()
            pending += [self._pool.submit(play, number) for number in islice(waiting, 1)]
            yield run
