"""Recordings as live events: the answers moved in time to now, and translated as a collector would.

Nothing is invented. When a recording is over, its last stretch is played over again, so that the group goes on as it
was (its offsets then jump back); where the plan says so, the whole recording begins anew, whose first lines show a
group whose consumers have all gone.
"""

import heapq
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from msgspec import structs

from schemas.events import encode_event
from schemas.identity import group_key
from streaming.collector.translation.answers import (
    ConsumeStatsAnswer,
    Line,
    OffsetRow,
    RunningInfoAnswer,
)
from streaming.collector.translation.reports import start_ts
from streaming.demo.scenarios import TAIL_MS, Deed, Scenario, end_of
from streaming.replay.recording import RecordingTranslation

CLUSTER = "demo"
PAUSE_MS = 1_000  # the time between two rounds


class Played(NamedTuple):
    """What is due at ``due_ms``: a record, or (``value`` None) the words for something done to the real cluster."""

    due_ms: int
    number: int
    group: str
    key: bytes
    value: bytes | None
    deed: str = ""


class Cue(NamedTuple):
    """A line or deed of a recording, moved to when it is due."""

    due_ms: int
    what: Line | Deed


def schedule(scenarios: Iterable[Scenario], start_ms: int) -> Iterator[Played]:
    """Everything to be played from ``start_ms`` on, in the order in which it is due; it never ends."""
    numbers = count()
    return heapq.merge(*(_performance(scenario, start_ms, numbers) for scenario in scenarios))


def _performance(scenario: Scenario, start_ms: int, numbers: "count[int]") -> Iterator[Played]:
    key = group_key(CLUSTER, scenario.group).encode()
    translation = RecordingTranslation(CLUSTER, f"demo {start_ms}")
    due_ms = 0
    for cue in cues(scenario, start_ms + scenario.delay_ms):
        due_ms = max(due_ms, cue.due_ms)
        if isinstance(cue.what, Deed):
            yield Played(due_ms, next(numbers), scenario.group, key, None, cue.what.what)
            continue
        for event in translation.feed(cue.what):
            yield Played(due_ms, next(numbers), scenario.group, key, encode_event(event))


def cues(scenario: Scenario, begins: int) -> Iterator[Cue]:
    """The recording's lines and deeds, life after life; the first line is due at ``begins``."""
    again_ms = None if scenario.plan.again_after_s is None else scenario.plan.again_after_s * 1000
    while True:
        by_ms = begins - scenario.first_ts
        yield from _whole(scenario, by_ms)
        ends = scenario.last_ts + by_ms
        tail_by_ms = by_ms
        while again_ms is None or ends < begins + again_ms:
            tail_by_ms += TAIL_MS + PAUSE_MS
            ends += TAIL_MS + PAUSE_MS
            yield from (_cue(line, tail_by_ms, by_ms) for line in scenario.tail)
        begins = ends + PAUSE_MS


def _whole(scenario: Scenario, by_ms: int) -> Iterator[Cue]:
    deeds = list(scenario.deeds)
    for line in scenario.lines:
        while deeds and deeds[0].ts <= line.ts:
            deed = deeds.pop(0)
            yield Cue(deed.ts + by_ms, deed)
        yield _cue(line, by_ms, by_ms)


def _cue(line: Line, by_ms: int, life_by_ms: int) -> Cue:
    moved = shifted(line, by_ms, life_by_ms)
    return Cue(end_of(moved), moved)


def shifted(line: Line, by_ms: int, life_by_ms: int) -> Line:
    """The line with its times moved. When a client started moves with its life, however often its tail is repeated."""
    if isinstance(line, ConsumeStatsAnswer):
        table = line.table and tuple(_shifted_row(row, by_ms) for row in line.table)
        return structs.replace(line, ts=line.ts + by_ms, table=table)
    if not isinstance(line, RunningInfoAnswer):
        return structs.replace(line, ts=line.ts + by_ms)
    started_ts = start_ts(line.start_timestamp)
    return structs.replace(
        line,
        ts=line.ts + by_ms,
        start_timestamp=None if started_ts is None else started_ts + life_by_ms,
    )


def _shifted_row(row: OffsetRow, by_ms: int) -> OffsetRow:
    return structs.replace(row, last_timestamp=row.last_timestamp and row.last_timestamp + by_ms)
