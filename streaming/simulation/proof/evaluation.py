"""As many incidents and healthy rebalances as are asked for, on as many processors as there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count, islice

from streaming.core.settings import Settings
from streaming.simulation.proof.figures import Report
from streaming.simulation.proof.healthy import play_healthy
from streaming.simulation.proof.incidents import Run, incident

AT_ONCE = 16  # runs that are begun before the first of them is waited for


def evaluate(
    incidents: int,
    healthy: int,
    seed: str,
    settings: Settings,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """``healthy`` are rebalances. The same seed gives the same report, however many processes (``jobs``) make it."""
    report = Report()
    with _Runner(jobs or os.cpu_count() or 1) as runner:
        for run in runner.runs(partial(_incident, seed, settings), range(incidents)):
            report.incidents.append(run)
            if len(report.incidents) % 100 == 0:
                say(f"{len(report.incidents)} of {incidents} incidents")
        rebalances = 0
        for run in runner.runs(partial(_healthy, seed, settings), count() if healthy else ()):
            report.healthy.append(run)
            rebalances += run.rebalances
            if rebalances >= healthy:
                break
            say(f"{rebalances} of {healthy} healthy rebalances")
    return report


def _incident(seed: str, settings: Settings, number: int) -> Run:
    return incident(seed, number, settings)


def _healthy(seed: str, settings: Settings, number: int) -> Run:
    return play_healthy(f"{seed}/healthy/{number}", settings)


class _Runner:
    """Runs side by side, their results in order; with one job, in this process."""

    def __init__(self, jobs: int) -> None:
        self._pool = ProcessPoolExecutor(jobs) if jobs > 1 else None

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
