"""Every statement of a look, of ``explain`` and of pages follows from an answer that was given (``law`` has the rules).

Recordings of real clusters are cut at many points, and answers of each kind withheld: then nothing may be said of them.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from schemas.events import AnyEvent, Round
from streaming.collector.wire.answers import (
    ConnectionsAnswer,
    ConsumerListAnswer,
    ConsumeStatsAnswer,
    GroupAnswer,
    Line,
    Meta,
    RouteAnswer,
    RunningInfoAnswer,
)
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.inspect.group_evaluation import snapshot_of
from streaming.inspect.observed_groups import ObservedGroup
from streaming.inspect.snapshot import InspectedGroup
from streaming.replay.input_lines import read_lines
from streaming.replay.recording import RecordingTranslation, decode_line
from tests.inspect.answers import Answers
from tests.inspect.law import unfounded, unfounded_facts

ROOT = Path(__file__).parents[2]
RECORDINGS = sorted((ROOT / "streaming" / "demo" / "recordings").glob("*.jsonl.gz"))

Withhold = Callable[[Line], Line | None]


def lines_of(path: Path) -> list[Line]:
    read = (decode_line(line.text)[0] for line in read_lines(path, pytest.fail))
    return [line for line in read if line is not None]


def everything(line: Line) -> Line | None:
    return line


def lists_of(broker: str) -> Withhold:
    def withhold(line: Line) -> Line | None:
        if isinstance(line, ConsumerListAnswer) and line.broker == broker:
            return replace(line, code=None, ids=None, error="withheld")
        return line

    return withhold


def connections(line: Line) -> Line | None:
    return replace(line, code=None, body=None, error="withheld") if isinstance(line, ConnectionsAnswer) else line


def without(kind: type[Line], of: Callable[[Line], bool] = lambda _: True) -> Withhold:
    return lambda line: None if isinstance(line, kind) and of(line) else line


def at_random(seed: int) -> Withhold:
    """Each kind of answer is withheld for some seconds now and then, of one broker or client, or of all."""
    rng = random.Random(seed)
    until: dict[object, int] = {}

    def withhold(line: Line) -> Line | None:
        if isinstance(line, Meta):
            return line
        who = getattr(line, "client_id", None) or getattr(line, "broker", None)
        key = (type(line), who)
        if line.ts >= until.get(key, 0):
            until[key] = line.ts + rng.choice((5_000, 20_000, 60_000, 150_000)) * (1 if rng.random() < 0.3 else -1)
        if line.ts >= abs(until[key]) or until[key] < line.ts:
            return line
        if isinstance(line, ConsumerListAnswer):
            return replace(line, code=None, ids=None, error="withheld")
        return connections(line) if isinstance(line, ConnectionsAnswer) else None

    return withhold


class Seen:
    """One group: what was answered, and what a look and the core make of it."""

    def __init__(self, name: str, routes: list[RouteAnswer]) -> None:
        self.name = name
        self.answers = Answers()
        self.watch = ObservedGroup("prod", name, DEFAULT_SETTINGS)
        self.group = Group(new_state("prod", name), DEFAULT_SETTINGS)
        for route in routes:
            self.answers.take(route)

    def take(self, event: AnyEvent) -> Iterator[str]:
        """Facts are told at markers, and a marker far ahead counts only once the next one confirms it."""
        self.watch.take(event)
        take(self.group, event)
        if isinstance(event, Round):
            self.answers.end_round(counts=self.group.state.now >= event.ts)
        facts, self.group.facts = self.group.facts, []
        for what in unfounded_facts(facts, self.answers):
            yield f"{self.name} at {event.ts}, fact: {what}"

    def look(self) -> Iterator[str]:
        for what in unfounded(snapshot_of(self.watch), self.answers):
            yield f"{self.name} at {self.watch.group.state.now}: {what}"


def broken_laws(lines: list[Line], withhold: Withhold, every: int) -> Iterator[str]:
    """Facts at every marker; a look at every ``every``th, and cut in the middle of the round that follows it."""
    translation, seen = RecordingTranslation("prod", confirms=False), dict[str, Seen]()
    routes: list[RouteAnswer] = []
    markers, name = 0, ""
    for line in filter(None, map(withhold, lines)):
        name = getattr(line, "group", None) or name
        for event in translation.feed(line):
            one = seen.setdefault(event.group, Seen(event.group, routes))
            yield from one.take(event)
            if isinstance(event, Round):
                markers += 1
                if markers % every == 0:
                    yield from one.look()
        if isinstance(line, RouteAnswer):
            routes.append(line)
            for one in seen.values():
                one.answers.take(line)
        elif isinstance(line, GroupAnswer):
            one = seen.setdefault(name, Seen(name, routes))
            one.answers.take(line)
            if markers % every == 1:
                yield from one.look()


def ways(lines: list[Line]) -> Iterator[tuple[str, Withhold]]:
    """Nothing withheld, then each kind of answer, of everybody, of one broker and of one client."""
    yield "nothing", everything
    yield "offsets", without(ConsumeStatsAnswer)
    yield "reports", without(RunningInfoAnswer)
    yield "routes", without(RouteAnswer)
    yield "connections", connections
    for broker in sorted({line.broker for line in lines if isinstance(line, ConsumerListAnswer)}):
        yield f"lists of {broker}", lists_of(broker)
        yield f"offsets of {broker}", without(ConsumeStatsAnswer, lambda line, b=broker: line.broker == b)  # type: ignore[misc]
    clients = sorted({line.client_id for line in lines if isinstance(line, RunningInfoAnswer)})
    for client in clients[:1]:
        yield f"reports of {client}", without(RunningInfoAnswer, lambda line, c=client: line.client_id == c)  # type: ignore[misc]


@pytest.mark.parametrize("index", range(len(RECORDINGS)), ids=lambda index: RECORDINGS[index].name.partition(".")[0])
@pytest.mark.slow("a look takes seconds")
def test_every_statement_follows_from_an_answer(index: int) -> None:
    """Each recording with some kinds of answers withheld; all kinds have their turn."""
    lines = lines_of(RECORDINGS[index])
    chosen = [("nothing", everything), *list(ways(lines))[1 + index % 5 :: 5]]
    found = {f"without {what}: {law}" for what, way in chosen for law in broken_laws(lines, way, 23)}
    assert sorted(found)[:20] == []


@pytest.mark.deep("every look at a recording, with each answer withheld")
@pytest.mark.slow("a look takes seconds")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_every_statement_follows_from_an_answer_whatever_is_withheld(path: Path) -> None:
    assert broken_whatever_is_withheld(path, 5)[:20] == []


def broken_whatever_is_withheld(path: Path, every: int) -> list[str]:
    """The laws that are broken where each kind of answer has its turn to be withheld, and then some at random."""
    lines = lines_of(path)
    chosen = [*ways(lines), *((f"some, as chosen by {seed},", at_random(seed)) for seed in range(6))]
    return sorted({f"without {what}: {law}" for what, way in chosen for law in broken_laws(lines, way, every)})


def looked() -> tuple[InspectedGroup, Answers]:
    """A healthy group, and all that was answered of it."""
    lines = lines_of(RECORDINGS[0])
    translation, seen = RecordingTranslation("prod", confirms=False), dict[str, Seen]()
    routes: list[RouteAnswer] = []
    for line in lines:
        for event in translation.feed(line):
            one = seen.setdefault(event.group, Seen(event.group, routes))
            list(one.take(event))
            picture = snapshot_of(one.watch)
            if isinstance(event, Round) and picture.status == "healthy" and len(picture.members or ()) > 1:
                return picture, one.answers
        for one in seen.values():
            one.answers.take(line)
        if isinstance(line, RouteAnswer):
            routes.append(line)
    raise AssertionError("never healthy")


Lie = Callable[[InspectedGroup, Answers], InspectedGroup]


def of_first_queue(**fields: object) -> Lie:
    def lie(picture: InspectedGroup, _: Answers) -> InspectedGroup:
        first, *others = picture.queues or ()
        return replace(picture, queues=(replace(first, **fields), *others))

    return lie


def forgets(name: str) -> Lie:
    """The same picture, had that never been answered."""

    def lie(picture: InspectedGroup, answers: Answers) -> InspectedGroup:
        getattr(answers, name).clear()
        return picture

    return lie


@pytest.mark.deep_rows("a recorded cluster is looked at")
@pytest.mark.parametrize(
    "lie",
    [
        of_first_queue(owners=("somebody else",)),
        of_first_queue(lag=12_345),
        of_first_queue(finding="STALLED"),
        of_first_queue(finding="DUPLICATED"),
        of_first_queue(cause="SAME_CLIENT_ID"),
        of_first_queue(cause="VIEW_DIVERGENCE"),
        of_first_queue(finding="NO_MEMBERS"),
        of_first_queue(queue_id=99),
        forgets("lists"),
        forgets("said"),
        forgets("offsets"),
        forgets("routes"),
        forgets("addresses"),
        forgets("profiled"),
        lambda picture, _: replace(picture, members=()),
        lambda picture, _: replace(picture, status="empty"),
        lambda picture, _: replace(picture, queues=None),
    ],
)
def test_law_can_be_broken(lie: Lie) -> None:
    picture, answers = looked()
    assert list(unfounded(picture, answers)) == []
    assert list(unfounded(lie(picture, answers), answers)) != []


def test_nobody_is_a_lie_while_somebody_has_not_spoken() -> None:
    picture, answers = looked()
    answers.said.popitem()
    first, *others = picture.queues or ()
    told = replace(picture, queues=(replace(first, owners=()), *others))
    assert any("is nobody's" in what for what in unfounded(told, answers))
