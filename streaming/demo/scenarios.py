"""The recordings that the demo plays, their order, and the actions on the recorded clusters."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import msgspec
from msgspec import Struct

from streaming.collector.wire.answers import Answer, Line, Meta
from streaming.demo import RECORDINGS
from streaming.errors import SourceError
from streaming.replay.input_lines import read_lines
from streaming.replay.recording import decode_line

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
