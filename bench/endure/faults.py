"""The faults part: one fault after another in the midst of a run, and what each has cost.

Before each fault a group loses the consumer of a queue, or has it again, so that a page is due about then.
"""

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct

from bench.endure.fault_kinds import CLOCKS, FAULTS, RESEEDED, playable
from bench.endure.fault_stage import Refused, Stage, staged
from bench.endure.report import LINES, PAGE, about_table, read_lines
from bench.reliability.counting import repeated_notices, times_without_page
from bench.reliability.table import table_of_faults
from bench.results import say
from streaming.errors import MonitorError
from streaming.file_lock import HeldElsewhere, held
from streaming.wall_clock import now_ms

RANDOM_MOMENT_S = 40.0  # after a group has changed: its page is due about then
RECOVERS_WITHIN_S = 600.0
PAGED_WITHIN_S = 180.0
LEARNS_WITHIN_S = 300.0  # more, of a new checkpoint: so long groups may be UNKNOWN (docs/upgrading.md)
CALM_S = 10.0  # between two faults
HEADS = (
    "fault", "times", "events lost", "events repeated", "facts missing", "facts repeated", "pages lost",
    "pages repeated", "pages false", "facts again, s (median)", "(longest)", "all well, s (median)", "(longest)",
)  # fmt: skip
COUNTED = (
    "events_lost", "events_repeated", "facts_missing", "facts_repeated", "pages_lost", "pages_repeated", "pages_false",
)  # fmt: skip


class Played(Struct, kw_only=True):
    """A fault and what it has cost. ``facts_s``, ``well_s``: from its end until new facts came, and until all was well;
    null: that did not happen in time. ``wrong``: what else is not as it must be.
    """

    fault: str
    seed: int
    number: int  # in its session
    ts: int
    away_s: float
    load: float = 0  # of the machine, when the fault began
    facts_s: float | None = None
    well_s: float | None = None
    events_lost: int = 0
    events_repeated: int = 0
    facts_missing: int = 0
    facts_repeated: int = 0
    pages: int = 0
    pages_lost: int = 0
    pages_repeated: int = 0
    pages_false: int = 0
    troubles: int = 0  # of evenkeel itself, of which there was a notice
    starts: dict[str, int] = {}
    wrong: list[str] = []

    @property
    def is_bad(self) -> bool:
        return bool(self.wrong) or any(getattr(self, name) for name in COUNTED)


def run_faults(folder: Path, lasts_s: float, groups: int, away_s: float, only: Sequence[str], seed: int) -> None:
    """Play faults until the time is over, the rarest of the folder first. Raises MonitorError if the stage fails. A
    signal ends it in the midst of a fault, which is not counted then. Other sessions may play in this folder meanwhile.
    """
    with free_stage(folder) as place, staged(place, groups) as stage:
        say(f"the faults begin, with seed {seed}")
        player, faults = _Player(stage, away_s, seed), only or playable()
        ends_s = time.monotonic() + lasts_s
        while time.monotonic() < ends_s:
            played = Counter(one.fault for one in read_played(folder))
            one = player.play(player.rarest(faults, played))
            with (folder / LINES).open("ab") as file:
                file.write(msgspec.json.encode(one) + b"\n")
            if one.is_bad:
                shutil.copytree(stage.folder / "logs", folder / f"logs-{one.ts}", dirs_exist_ok=True)
            say(f"{one.fault}: facts after {one.facts_s} s, all well after {one.well_s} s; {_bad_of(one) or 'good'}")
            if one.well_s is None:
                raise MonitorError(f"the stage is not well after '{one.fault}': it ends here; the logs are kept")
            stage.pause(CALM_S)


@contextmanager
def free_stage(folder: Path) -> Iterator[Path]:
    """The folder of a stage that no other session uses."""
    with ExitStack() as stack:
        for number in count(1):
            stage = folder / f"stage-{number}"
            try:
                stack.enter_context(held(stage.with_suffix(".lock")))
            except HeldElsewhere:
                continue
            break
        yield stage


class _Player:
    """Plays faults on a stage, and counts."""

    def __init__(self, stage: Stage, away_s: float, seed: int) -> None:
        self._stage, self._away_s, self._seed = stage, away_s, seed
        self._chance = random.Random(seed)
        self._number = 0
        self._counted: Counter[str] = Counter()  # what the faults before have cost
        self._settle()
        self._count(Played(fault="", seed=seed, number=0, ts=now_ms(), away_s=0))

    def rarest(self, faults: Iterable[str], played: Counter[str]) -> str:
        found = sorted(faults)
        self._chance.shuffle(found)
        return min(found, key=lambda fault: played[fault])

    def play(self, fault: str) -> Played:
        stage, self._number = self._stage, self._number + 1
        stage.turn()
        stage.pause(self._chance.uniform(0, RANDOM_MOMENT_S))
        load = round(os.getloadavg()[0], 1)
        one = Played(fault=fault, seed=self._seed, number=self._number, ts=now_ms(), away_s=self._away_s, load=load)
        say(f"{self._number}: {fault}")
        try:
            one.wrong = [*FAULTS[fault](stage, self._away_s)]
            one.facts_s, one.well_s = self._settle()
            within_s = PAGED_WITHIN_S + (LEARNS_WITHIN_S if fault in RESEEDED else 0)
            if not stage.is_reached(stage.is_turn_told, within_s):
                one.wrong.append(f"no notice within {within_s:g} s says how the group that changed is")
        except Refused as error:
            one.wrong.append(str(error))
        self._count(one)
        return one

    def _settle(self) -> tuple[float | None, float | None]:
        """When facts of new events came and none was missing, and when all was well, in seconds from now."""
        stage, began_s, given = self._stage, time.monotonic(), 0

        def has_facts() -> bool:
            nonlocal given
            stage.ledger.read_facts()
            if not stage.ledger.is_even:
                return False
            if not given:  # until now only those of events that came during the fault
                given = stage.ledger.read_records()
                return False
            return True

        stage.ledger.read_records()
        facts_s = _taken(began_s) if stage.is_reached(has_facts, RECOVERS_WITHIN_S) else None
        version = stage.facts_version()

        def is_well() -> bool:
            return stage.is_well() and stage.is_projected(version)

        well_s = _taken(began_s) if stage.is_reached(is_well, RECOVERS_WITHIN_S) else None
        return facts_s, well_s

    def _count(self, one: Played) -> None:
        """Set what this fault has cost: all until now without that of those before."""
        stage, ledger = self._stage, self._stage.ledger
        ledger.read_facts()
        ledger.read_records()
        one.facts_repeated = ledger.count_repeated()
        stage.is_reached(self._is_even, RECOVERS_WITHIN_S if one.facts_s is not None else 0)
        one.facts_missing = ledger.count_missing()
        notices = stage.told.notices()
        firing = [notice for notice in notices if notice["status"] == "firing"]
        total = Counter(
            events_lost=ledger.events_lost,
            events_repeated=ledger.events_repeated,
            pages=sum(notice["trouble"] is None for notice in firing),
            pages_lost=len(list(times_without_page(notices, ledger.facts, now_ms()))),
            pages_repeated=len(list(repeated_notices(notices))),
            pages_false=sum(not set(notice["groups"]) <= stage.ill() for notice in firing if not notice["trouble"]),
            troubles=sum(notice["trouble"] is not None for notice in firing),
            **{f"starts {name}": service.starts for name, service in stage.services.items()},
        )
        since = {name: number - self._counted[name] for name, number in total.items()}
        self._counted = total
        for name, number in since.items():
            if name.startswith("starts "):
                one.starts = {**one.starts, **({name.partition(" ")[2]: number} if number else {})}
            else:
                setattr(one, name, max(number, 0))
        if one.fault in CLOCKS:  # facts have times of the clock that was wrong, notices have not
            one.pages_lost = 0

    def _is_even(self) -> bool:
        self._stage.ledger.read_facts()
        return self._stage.ledger.is_even


def _taken(began_s: float) -> float:
    return round(time.monotonic() - began_s, 1)


def read_played(folder: Path) -> list[Played]:
    return [msgspec.convert(line, Played) for line in read_lines(folder / LINES)]


def write_faults_report(folder: Path, about: dict[str, Any]) -> list[str]:
    """Write the page; return the faults of which something was lost, repeated or wrong."""
    played = read_played(folder)
    bad = [one for one in played if one.is_bad]
    text = [
        f"# {about['title']}",
        "",
        f"{len(played)} faults. "
        + (f"**{len(bad)} have cost something.**" if bad else "Nothing was lost or repeated."),
        "",
        *about_table(about),
        "",
        *table_of_faults(HEADS, sorted({one.fault for one in played}), played, _cells),
        "",
        *(f"- {one.fault} ({one.ts}, away {one.away_s:g} s): {_bad_of(one)}" for one in bad),
        "",
    ]
    (folder / PAGE).write_text("\n".join(text))
    return sorted({one.fault for one in bad})


def _bad_of(one: Played) -> str:
    counts = [f"{getattr(one, name)} {name.replace('_', ' ')}" for name in COUNTED if getattr(one, name)]
    return "; ".join([*counts, *one.wrong])


def _cells(played: Sequence[Played]) -> list[str]:
    counts = [str(sum(getattr(one, field) for one in played)) for field in COUNTED]
    spans: Sequence[Callable[[Played], float | None]] = (lambda one: one.facts_s, lambda one: one.well_s)
    times = [_span(of, [at(one) for one in played]) for at in spans for of in (median, max)]
    return [*counts, *times]


def _span(of: Callable[[list[float]], float], times: Sequence[float | None]) -> str:
    """One that never came is longer than all others."""
    found = of([RECOVERS_WITHIN_S + 1 if one is None else one for one in times])
    return f"{found:.0f}" if found <= RECOVERS_WITHIN_S else f"over {RECOVERS_WITHIN_S:.0f}"
