"""The recordings that the demo plays, moved in time to now and translated as a collector does, in one schedule.

When a recording is over, its last segment is repeated, so that the group stays the same (its offsets then jump back).
If the scenario requires it, the whole recording starts again; its first lines show a group without consumers.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from schemas.events import AnyEvent
from streaming.collector.translation.reports import start_ts
from streaming.collector.wire.answers import Answer, ConsumeStatsAnswer, Line, Meta, OffsetRow, RunningInfoAnswer
from streaming.demo import RECORDINGS
from streaming.errors import SourceError
from streaming.replay.input_lines import read_lines
from streaming.replay.recording import RecordingTranslation, decode_line

CLUSTER = "demo"
PAUSE_MS = 1_000  # the time between two rounds
STAGGER_MS = 700
TAIL_MS = 20_000


class ScenarioPlan(NamedTuple):
    """The plan for a recording. ``restart_after_s``: seconds from its beginning until it is played again; None: never.

    Only recordings with a fault are played again: their consumers leave, and the fault ends. The others would look like
    a rebalance storm.
    """

    name: str
    about: str
    restart_after_s: int | None = None


SCENARIOS = (
    ScenarioPlan("d_sameid", "two JVMs share one client id", 110),
    ScenarioPlan("e_subscriptions", "two consumers of one group subscribe to different topics", 300),
    ScenarioPlan("a_scaleout", "a third consumer joins, later one leaves"),
    ScenarioPlan("b_kill9", "one of three consumers is killed with kill -9"),
    ScenarioPlan("h_expand", "the topic grows from 4 to 8 queues on every broker"),
    ScenarioPlan("i_broadcast", "broadcasting: every consumer owns every queue, rightly"),
    ScenarioPlan("j_more", "four consumers for two queues: two have nothing to do"),
)


class ClusterAction(NamedTuple):
    """An action on the real cluster at ``ts``, by the recording."""

    ts: int
    what: str


class Scenario(NamedTuple):
    """A recording ready to be played: it starts ``delay_ms`` after the demo. ``lines`` are in the file's order.

    ``tail``: its last segment, in which nothing happens. It is repeated to keep the group as it is.
    """

    plan: ScenarioPlan
    group: str
    lines: tuple[Line, ...]
    tail: tuple[Line, ...]
    actions: tuple[ClusterAction, ...]
    first_ts: int
    last_ts: int
    delay_ms: int


def load_scenarios(warn: Callable[[str], None]) -> list[Scenario]:
    """Every shipped recording; those with a fault begin first."""
    return [_load(plan, place * STAGGER_MS, warn) for place, plan in enumerate(SCENARIOS)]


def _load(plan: ScenarioPlan, delay_ms: int, warn: Callable[[str], None]) -> Scenario:
    path = RECORDINGS / f"{plan.name}.jsonl.gz"
    texts = [line.text for line in read_lines(path, warn)]
    lines = tuple(line for line, _, _ in map(decode_line, texts) if line is not None)
    group = next((line.group for line in lines if isinstance(line, Meta)), None)
    if group is None:
        raise SourceError(f"{path}: names no group")
    last_ts = max(map(end_of, lines))
    tail = tuple(line for line in lines if line.ts >= last_ts - TAIL_MS)
    return Scenario(plan, group, lines, tail, tuple(_actions(texts)), lines[0].ts, last_ts, delay_ms)


def end_of(line: Line) -> int:
    """The time when a line was written."""
    return line.end_ts if isinstance(line, Answer) else line.ts


class _Arguments(Struct):
    instance: str = ""
    topic: str = ""


class _Truth(Struct):
    kind: str
    ts: int
    what: str = ""
    jvm: str | None = None
    args: _Arguments | None = None


_truth_decoder = msgspec.json.Decoder(_Truth)
SAME_ACTION_MS = 5
END = _Truth("truth", 2**62, "end")


def _actions(lines: Iterable[bytes]) -> Iterable[ClusterAction]:
    """The actions in ``truth`` lines. A line that only announces the next one is left out."""
    truths = [truth for truth in map(_truth_decoder.decode, lines) if truth.kind == "truth" and truth.what != "end"]
    for truth, following in pairwise([*truths, END]):
        if truth.jvm is None and following.jvm is not None and following.ts - truth.ts <= SAME_ACTION_MS:
            continue
        who = f" {truth.jvm}" if truth.jvm else ""
        instance = f", instance {truth.args.instance} on {truth.args.topic}" if truth.args else ""
        yield ClusterAction(truth.ts, f"{truth.what}{who}{instance}")


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


def schedule(scenarios: Iterable[Scenario], start_ms: int) -> Iterator[Scheduled]:
    """Everything to play from ``start_ms`` on, in the order of due times, without end."""
    numbers = count()
    return heapq.merge(*(_of_scenario(scenario, start_ms, numbers) for scenario in scenarios))


def _of_scenario(scenario: Scenario, start_ms: int, numbers: "count[int]") -> Iterator[Scheduled]:
    translation = RecordingTranslation(CLUSTER, f"demo {start_ms}")
    due_ms = 0
    for line_due_ms, line in scheduled_lines(scenario, start_ms + scenario.delay_ms):
        due_ms = max(due_ms, line_due_ms)
        if isinstance(line, ClusterAction):
            yield Scheduled(due_ms, next(numbers), scenario.group, action=line.what)
            continue
        answer = line if isinstance(line, Answer) else None
        yield Scheduled(due_ms, next(numbers), scenario.group, translation.feed(line), answer=answer)


def scheduled_lines(scenario: Scenario, begins: int) -> Iterator[tuple[int, Line | ClusterAction]]:
    """The recording's lines and actions with their due times, repeated; the first line is due at ``begins``."""
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


def _first_play(scenario: Scenario, by_ms: int) -> Iterator[tuple[int, Line | ClusterAction]]:
    actions = list(scenario.actions)
    for line in scenario.lines:
        while actions and actions[0].ts <= line.ts:
            action = actions.pop(0)
            yield action.ts + by_ms, action
        yield _scheduled(line, by_ms, by_ms)


def _scheduled(line: Line, by_ms: int, started_by_ms: int) -> tuple[int, Line]:
    moved = moved_by(line, by_ms, started_by_ms)
    return end_of(moved), moved


def moved_by(line: Line, by_ms: int, started_by_ms: int) -> Line:
    """The line with moved times. ``started_by_ms`` moves clients' start times: it stays the same in repeated tails."""
    if isinstance(line, ConsumeStatsAnswer):
        table = line.table and tuple(_moved_row(row, by_ms) for row in line.table)
        return structs.replace(line, ts=line.ts + by_ms, table=table)
    if not isinstance(line, RunningInfoAnswer):
        return structs.replace(line, ts=line.ts + by_ms)
    started_ts = start_ts(line.start_timestamp)
    return structs.replace(
        line, ts=line.ts + by_ms, start_timestamp=None if started_ts is None else started_ts + started_by_ms
    )


def _moved_row(row: OffsetRow, by_ms: int) -> OffsetRow:
    return structs.replace(row, last_timestamp=row.last_timestamp and row.last_timestamp + by_ms)
