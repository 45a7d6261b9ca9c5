"""The schedule of recorded events: recordings moved in time to now, and translated as a collector does.

When a recording is over, its last segment is repeated, so that the group stays the same (its offsets then jump back).
If the scenario requires it, the whole recording starts again; its first lines show a group without consumers.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from msgspec import structs

from schemas.events import AnyEvent
from streaming.collector.translation.reports import start_ts
from streaming.collector.wire.answers import (
    Answer,
    ConsumeStatsAnswer,
    Line,
    OffsetRow,
    RunningInfoAnswer,
)
from streaming.demo.scenarios import TAIL_MS, ClusterAction, Scenario, end_of
from streaming.replay.recording import RecordingTranslation

CLUSTER = "demo"
PAUSE_MS = 1_000  # the time between two rounds


class Scheduled(NamedTuple):
    """The ``events`` that are due at ``due_ms``, or an ``action``: the text for an action on the cluster.

    ``answer``: the line of a recording that gave the events, if any: the answer to a request.
    """

    due_ms: int
    number: int
    group: str
    events: Sequence[AnyEvent] = ()
    action: str = ""
    answer: Answer | None = None


class ScheduledLine(NamedTuple):
    """A line or action of a recording, and its due time."""

    due_ms: int
    what: Line | ClusterAction


def schedule(scenarios: Iterable[Scenario], start_ms: int) -> Iterator[Scheduled]:
    """Everything to play from ``start_ms`` on, in the order of due times, without end."""
    numbers = count()
    return heapq.merge(*(_of_scenario(scenario, start_ms, numbers) for scenario in scenarios))


def _of_scenario(scenario: Scenario, start_ms: int, numbers: "count[int]") -> Iterator[Scheduled]:
    translation = RecordingTranslation(CLUSTER, f"demo {start_ms}")
    due_ms = 0
    for cue in scheduled_lines(scenario, start_ms + scenario.delay_ms):
        due_ms = max(due_ms, cue.due_ms)
        if isinstance(cue.what, ClusterAction):
            yield Scheduled(due_ms, next(numbers), scenario.group, action=cue.what.what)
            continue
        answer = cue.what if isinstance(cue.what, Answer) else None
        yield Scheduled(due_ms, next(numbers), scenario.group, translation.feed(cue.what), answer=answer)


def scheduled_lines(scenario: Scenario, begins: int) -> Iterator[ScheduledLine]:
    """The recording's lines and actions, repeated; the first line is due at ``begins``."""
    again_ms = None if scenario.plan.restart_after_s is None else scenario.plan.restart_after_s * 1000
    while True:
        by_ms = begins - scenario.first_ts
        yield from _first_play(scenario, by_ms)
        ends = scenario.last_ts + by_ms
        tail_by_ms = by_ms
        while again_ms is None or ends < begins + again_ms:
            tail_by_ms += TAIL_MS + PAUSE_MS
            ends += TAIL_MS + PAUSE_MS
            yield from (_scheduled(line, tail_by_ms, by_ms) for line in scenario.tail)
        begins = ends + PAUSE_MS


def _first_play(scenario: Scenario, by_ms: int) -> Iterator[ScheduledLine]:
    actions = list(scenario.actions)
    for line in scenario.lines:
        while actions and actions[0].ts <= line.ts:
            action = actions.pop(0)
            yield ScheduledLine(action.ts + by_ms, action)
        yield _scheduled(line, by_ms, by_ms)


def _scheduled(line: Line, by_ms: int, started_by_ms: int) -> ScheduledLine:
    moved = moved_by(line, by_ms, started_by_ms)
    return ScheduledLine(end_of(moved), moved)


def moved_by(line: Line, by_ms: int, started_by_ms: int) -> Line:
    """The line with moved times. ``started_by_ms`` moves clients' start times: it stays the same in repeated tails."""
    if isinstance(line, ConsumeStatsAnswer):
        table = line.table and tuple(_moved_row(row, by_ms) for row in line.table)
        return structs.replace(line, ts=line.ts + by_ms, table=table)
    if not isinstance(line, RunningInfoAnswer):
        return structs.replace(line, ts=line.ts + by_ms)
    started_ts = start_ts(line.start_timestamp)
    return structs.replace(
        line,
        ts=line.ts + by_ms,
        start_timestamp=None if started_ts is None else started_ts + started_by_ms,
    )


def _moved_row(row: OffsetRow, by_ms: int) -> OffsetRow:
    return structs.replace(row, last_timestamp=row.last_timestamp and row.last_timestamp + by_ms)
