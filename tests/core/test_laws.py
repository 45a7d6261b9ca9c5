"""The laws of the step, on made timelines and on recordings of a real RocketMQ.

Events are never sorted: what is cut, doubled, delayed or dropped keeps the order in which it arrives.
"""

from collections import Counter
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from schemas.events import AnyEvent, AssignmentReport, ConsumerChange, Forget, Round
from schemas.facts import AlertFact, Fact, QuarantineFact
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.settings import Settings
from streaming.core.shard import fold
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.demo import RECORDINGS
from streaming.replay.recording import Recording
from tests.core.fleet import Fleet, record_of

pytestmark = pytest.mark.slow("minutes and hours of a group are folded")

HASTY = Settings(
    timing=replace(
        DEFAULT_TIMING, grace_membership_ms=4_000, grace_route_ms=8_000, grace_broker_ms=12_000, stall_ms=15_000
    )
)
BY_REPORTS = {"DUPLICATED", "ORPHANED", "PHANTOM", "MISPLACED"}
few = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
paths = sorted(RECORDINGS.glob("*.jsonl.gz"))
every_recording = pytest.mark.parametrize("path", paths, ids=[path.name.partition(".")[0] for path in paths])

# --- timelines: what happens, then what arrives of it

IDS = st.sampled_from(["x", "y", "z"])
HAPPENINGS = st.one_of(
    st.tuples(st.just("run"), st.integers(1, 10)),
    st.tuples(st.sampled_from(["join", "leave", "pause", "resume", "ghost", "say why"]), IDS),
    st.tuples(st.just("own"), st.tuples(IDS, st.sampled_from(["", "a0", "a0-1 b0-1", "b1 b4"]))),
    st.tuples(st.just("route"), st.tuples(st.integers(0, 3), st.sampled_from([1, 2, (1, 2, 6), (2, 2, 2)]))),
    st.tuples(st.just("stick"), st.sampled_from(["", "a0", "a0-1 b0-1"])),
    st.tuples(st.sampled_from(["down", "up"]), st.sampled_from("ab")),
    st.tuples(st.just("copies"), st.sampled_from([[], [{"a": 1, "b": 2}], [{"b": 2}, {"a": 2, "b": 3}]])),
    st.tuples(st.just("forget"), st.just("ada")),
    st.tuples(st.just("outage"), st.sampled_from([60, 1000, 3600, -40, -3600])),
)
TIMELINES = st.lists(HAPPENINGS, min_size=2, max_size=14)
HEALTHY = st.lists(
    st.one_of(st.tuples(st.just("run"), st.integers(1, 12)), st.tuples(st.sampled_from(["join", "leave"]), IDS)),
    min_size=3,
    max_size=14,
)


def is_onward(happening: tuple[str, object]) -> bool:
    """Whether no clock is set back."""
    return happening not in [("outage", -40), ("outage", -3600)]


def happen(fleet: Fleet, what: str, value: object) -> None:
    if what == "run":
        fleet.run(5 * value)  # type: ignore[operator]
    elif what == "join":
        if len(fleet.instances) < 5:
            fleet.join(value)  # type: ignore[arg-type]
    elif what == "ghost":
        if len(fleet.instances) < 5 and fleet.of(value):  # type: ignore[arg-type]
            fleet.ghost(value)  # type: ignore[arg-type]
    elif what == "own":
        fleet.own(*value)  # type: ignore[misc]
    elif what == "route":
        a, b = value  # type: ignore[misc]
        fleet.route("T", **({"a": a} if a else {}), b=b)
    elif what in ("down", "up"):
        fleet.down = fleet.down | {value} if what == "down" else fleet.down - {value}  # type: ignore[assignment]
    elif what == "outage":
        fleet.now = max(0.0, fleet.now + value)  # type: ignore[operator]
    elif what == "copies":
        fleet.other_copies["T"] = value  # type: ignore[assignment]
        fleet.say_route()
    elif what == "forget":
        fleet.say(Forget, who=value)
    elif what == "say why":
        change = "disappeared" if fleet.of(value) else "appeared"  # type: ignore[arg-type]
        fleet.say(ConsumerChange, broker_name="a", client_id=value, change=change, reason="closed")
    else:
        getattr(fleet, what)(value)


def timeline(happenings: list[tuple[str, object]], group: str = "g") -> list[AnyEvent]:
    fleet = Fleet({"T": {"a": 2, "b": 2}}, HASTY, group=group)
    fleet.join("x", "y")
    for what, value in [("run", 3), *happenings, ("run", 12)]:
        happen(fleet, what, value)
    return fleet.events


NUMBERS = st.integers(0, 10**6)
MISHAPS = st.lists(
    st.tuples(st.sampled_from(["double", "delay", "drop", "drop round"]), NUMBERS, st.integers(1, 60)), max_size=12
)
DOUBLES = st.lists(st.tuples(st.just("double"), NUMBERS, st.integers(1, 200)), min_size=1, max_size=30)


def mishandled(events: list[AnyEvent], mishaps: list[tuple[str, int, int]]) -> list[AnyEvent]:
    """What arrives of them: some twice, some later than others, some never, whole rounds missing."""
    arriving = list(events)
    for what, number, later in mishaps:
        index = number % len(arriving)
        if what == "double":
            arriving.insert(index + later, arriving[index])
        elif what == "delay":
            arriving.insert(index + later, arriving.pop(index))
        elif what == "drop":
            del arriving[index]
        else:
            arriving = [event for event in arriving if event.round != arriving[index].round]
        arriving = arriving or [events[0]]
    return arriving


def interleaved(one: list[AnyEvent], other: list[AnyEvent]) -> list[AnyEvent]:
    both = [event for pair in zip(one, other, strict=False) for event in pair]
    return [*both, *one[len(other) :], *other[len(one) :]]


# --- any cut gives the same facts


Groups = dict[str, list[Fact]]


def folded(events: list[AnyEvent], cuts: list[int], timers: Settings) -> tuple[Groups, Counter[bytes], object]:
    """Facts of each group in their order, what was quarantined, and the state at the end."""
    records = [record_of(event, offset) for offset, event in enumerate(events)]
    blob, groups, quarantined = None, {}, Counter()
    for first, last in pairwise([0, *sorted(cuts), len(records)]):
        blob, facts = fold(blob, records[first:last], timers)[:2]
        for fact in facts:
            if isinstance(fact.payload, QuarantineFact):
                quarantined[msgspec.json.encode(fact)] += 1
            else:
                groups.setdefault(fact.group, []).append(fact)
    return groups, quarantined, msgspec.msgpack.decode(blob or b"\x80")


@few
@given(TIMELINES, TIMELINES, MISHAPS, st.lists(NUMBERS, max_size=8), NUMBERS)
def test_any_cut_into_batches_gives_the_same_facts_in_the_same_order(
    one: list[tuple[str, object]],
    other: list[tuple[str, object]],
    mishaps: list[tuple[str, int, int]],
    cuts: list[int],
    tail: int,
) -> None:
    events = mishandled(interleaved(timeline(one), timeline(other, "h")), mishaps)
    at = [cut % (len(events) + 1) for cut in cuts]
    singly = range(len(events) - tail % 40, len(events))  # some of them batches of one
    whole = folded(events, [], HASTY)
    assert folded(events, [*at, *singly], HASTY) == whole


def without_delays(mishaps: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    return [mishap for mishap in mishaps if mishap[0] != "delay"]


EVERYBODY_LEAVES = [("leave", "x"), ("leave", "y"), ("leave", "z"), ("run", 10), ("run", 10), ("run", 10)]
SILENCES = st.sampled_from([1_000, 9_000, 50_000]).map(lambda seconds: [*EVERYBODY_LEAVES, ("outage", seconds)])
WITH_SILENCES = st.lists(st.one_of(HAPPENINGS.filter(is_onward).map(lambda one: [one]), SILENCES), max_size=8)
FORGETFUL = Settings(timing=msgspec.structs.replace(HASTY.timing, gone_after_ms=60_000, forget_after_ms=3_600_000))


@pytest.mark.slow("minutes and hours of a group are folded")
@few
@given(WITH_SILENCES, MISHAPS.map(without_delays), st.lists(NUMBERS, max_size=8))
def test_any_cut_gives_the_same_facts_though_groups_are_forgotten_that_are_silent_for_long(
    happenings: list[list[tuple[str, object]]], mishaps: list[tuple[str, int, int]], cuts: list[int]
) -> None:
    """Another group goes on meanwhile: it is by its time that the shard forgets."""
    silent = timeline([*chain.from_iterable(happenings), ("run", 3), ("join", "x")])
    other = Fleet(group="h")
    while not other.events or other.events[-1].ts < silent[-1].ts:
        other.run(15)
        other.now += 3_600
    events = mishandled(sorted(silent + other.events, key=lambda event: event.round), mishaps)
    at = [cut % (len(events) + 1) for cut in cuts]
    whole, _, _ = folded(events, [], FORGETFUL)
    for some in (at, range(len(events))):
        groups, _, _ = folded(events, list(some), FORGETFUL)
        assert groups == whole
    for facts in whole.values():
        assert [fact.seq for fact in facts] == list(range(len(facts)))


@lru_cache(maxsize=1)
def recorded(path: Path) -> list[AnyEvent]:
    return list(Recording(path, pytest.fail).events())


@every_recording
def test_any_cut_of_a_recording_gives_the_same_facts(path: Path) -> None:
    events = recorded(path)
    whole = folded(events, [], DEFAULT_SETTINGS)
    for step_size in (7, 61, 500):
        assert folded(events, list(range(step_size, len(events), step_size)), DEFAULT_SETTINGS) == whole


@every_recording
def test_any_cut_of_what_arrives_of_a_recording_gives_the_same_facts(path: Path) -> None:
    events = recorded(path)
    mishaps = [("delay", 11, 40), ("double", 99, 300), ("drop", 400, 1), ("drop round", 700, 1), ("delay", 901, 7)]
    arriving = mishandled(events, mishaps)
    whole = folded(arriving, [], DEFAULT_SETTINGS)
    assert whole != folded(events, [], DEFAULT_SETTINGS)
    assert folded(arriving, list(range(0, len(arriving), 83)), DEFAULT_SETTINGS) == whole


@few
@given(TIMELINES)
def test_a_step_is_the_same_as_a_fold(happenings: list[tuple[str, object]]) -> None:
    events = timeline(happenings)
    state = new_state("c", "g")
    facts = []
    for event in events:
        group = Group(state, HASTY)
        take(group, event)
        facts += group.facts
    assert facts == folded(events, [], HASTY)[0].get("g", [])
    assert [fact.seq for fact in facts] == list(range(len(facts)))


# --- the quick path is honest


def facts_of(events: list[AnyEvent], timers: Settings, forced: bool = False) -> list[Fact]:
    group = Group(new_state(events[0].cluster, events[0].group), timers)
    for event in events:
        if forced:
            group.state.evaluation_due_ts = 0
        take(group, event)
    return group.facts


@few
@given(TIMELINES, MISHAPS)
@example(happenings=[("run", 10), ("forget", "ada")], mishaps=[("drop round", 0, 1)])
@example(happenings=[("route", (0, 1)), ("outage", 3600)], mishaps=[("drop round", 0, 1)])
@example(
    happenings=[
        ("forget", "a"),
        ("outage", 60),
        ("run", 1),
        ("join", "x"),
        ("run", 7),
        ("copies", []),
        ("resume", "z"),
    ],
    mishaps=[("drop round", 0, 1), ("delay", 0, 2), ("double", 11, 1), ("double", 0, 1), ("drop round", 2552, 1)],
)
@example(
    happenings=[("run", 1), ("run", 1), ("run", 1), ("route", (0, (1, 2, 6))), ("run", 8), ("route", (0, 1))],
    mishaps=[],
)
def test_evaluating_at_every_marker_gives_the_same_facts(
    happenings: list[tuple[str, object]], mishaps: list[tuple[str, int, int]]
) -> None:
    events = mishandled(timeline(happenings), mishaps)
    assert facts_of(events, HASTY) == facts_of(events, HASTY, forced=True)


@every_recording
def test_evaluating_a_recording_at_every_marker_gives_the_same_facts(path: Path) -> None:
    events = recorded(path)
    assert facts_of(events, DEFAULT_SETTINGS) == facts_of(events, DEFAULT_SETTINGS, forced=True)


# --- what comes twice changes nothing


@few
@given(TIMELINES, DOUBLES)
def test_doubling_events_changes_no_fact(
    happenings: list[tuple[str, object]], doubles: list[tuple[str, int, int]]
) -> None:
    assume(all(map(is_onward, happenings)))  # of a clock that was set back, an old marker can pass for a new one
    events = timeline(happenings)
    assert facts_of(mishandled(events, doubles), HASTY) == facts_of(events, HASTY)


@every_recording
def test_doubling_a_stretch_of_a_recording_changes_no_fact(path: Path) -> None:
    """A producer or a broker that repeats what it is not sure to have delivered."""
    events = recorded(path)
    middle = len(events) // 2
    doubled = [*events[:middle], *events[middle - 200 : middle], *events[middle:]]
    assert facts_of(doubled, DEFAULT_SETTINGS) == facts_of(events, DEFAULT_SETTINGS)


# --- nothing alarms without evidence that counts


def fired(facts: list[Fact]) -> set[str]:
    return {f.payload.kind for f in facts if isinstance(f.payload, AlertFact) and f.payload.state == "firing"}


@few
@given(TIMELINES, MISHAPS)
def test_without_reports_nothing_is_said_of_owners(
    happenings: list[tuple[str, object]], mishaps: list[tuple[str, int, int]]
) -> None:
    events = [e for e in mishandled(timeline(happenings), mishaps) if not isinstance(e, AssignmentReport)]
    assert fired(facts_of(events, HASTY)) & BY_REPORTS == set()


@pytest.mark.parametrize("tells_changes", [True, False])
@few
@given(happenings=HEALTHY, mishaps=MISHAPS)
@example(
    happenings=[("leave", "x"), ("run", 12), ("join", "x"), ("run", 2)], mishaps=[("drop", 40, 1), ("delay", 60, 50)]
)
@example(
    happenings=[("run", 21), ("join", "y"), ("run", 1), ("leave", "y")],
    mishaps=[("drop round", 0, 1), ("drop", 0, 1), ("drop", 64, 1)],
)
def test_a_healthy_group_never_alarms_whatever_gets_lost_on_the_way(
    tells_changes: bool, happenings: list[tuple[str, object]], mishaps: list[tuple[str, int, int]]
) -> None:
    """Everybody takes over at once and reports the truth; what is lost, late or doubled makes no fault of it."""
    fleet = Fleet({"T": {"a": 2, "b": 2}})
    fleet.tells_changes = tells_changes
    fleet.join("keeps the group alive")
    for what, value in [("run", 3), *happenings, ("run", 24)]:
        if what != "join" or not fleet.of(value):  # type: ignore[arg-type]
            happen(fleet, what, value)
    assert fired(facts_of(mishandled(fleet.events, mishaps), DEFAULT_SETTINGS)) <= {"REBALANCE_STORM"}


@every_recording
def test_a_recording_of_which_reports_get_lost_raises_no_other_alarm(path: Path) -> None:
    events = recorded(path)
    known = fired(facts_of(events, DEFAULT_SETTINGS))
    for share in (2, 3, 7):
        kept = [e for n, e in enumerate(events) if isinstance(e, Round) or n % share]
        lossless = [msgspec.structs.replace(event, seq=n) for n, event in enumerate(kept)]
        assert fired(facts_of(kept, DEFAULT_SETTINGS)) <= known
        assert fired(facts_of(lossless, DEFAULT_SETTINGS)) <= known | {"REBALANCE_STORM"}
