"""docs/findings.md names every kind, cause, reason, transition and timer, as the code has them."""

import re
from math import prod
from pathlib import Path

from msgspec.structs import asdict

from schemas.facts import Cause, Kind
from schemas.observed import fields_by_type
from schemas.reasons import ReasonDetails, ReasonKind
from streaming.core.alerts.phases import STATES, TRANSITIONS, AlertReason, Signal, Transition
from streaming.core.causes.table import CAUSES, RULES
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.finding_kinds import KINDS
from streaming.core.settings import Timing
from testing.golden import compare

PATH = Path(__file__).parents[2] / "docs" / "findings.md"
PAGE = PATH.read_text("utf-8")
CORE = Path(__file__).parents[2] / "streaming" / "core"
TIMERS = [  # every constant of the core that is a time
    (match[1].lower(), prod(map(int, match[2].split("*"))))
    for path in sorted(CORE.rglob("*.py"))
    for match in re.finditer(r"^([A-Z_]+_MS) = ([0-9_ *]+)", path.read_text("utf-8"), re.MULTILINE)
]
FIXED = {name: value for name, value in TIMERS if name not in Timing.__struct_fields__}
VALUES = {name.removesuffix("_ms"): value for name, value in (asdict(DEFAULT_TIMING) | FIXED).items()}
UNITS = {"s": 1_000, "h": 3_600_000, "days": 86_400_000}


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading of any level, without the table's head."""
    section = re.split(r"\n#+ ", PAGE.partition(f"# {heading}\n")[2])[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return cells[2:]


def rows(heading: str) -> dict[str, list[str]]:
    """The first cell of each row, and the others."""
    return {first: others for first, *others in table(heading)}


def words(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_every_kind_of_finding_has_its_row() -> None:
    named = {*rows("Findings of a queue"), *rows("Findings of a topic or a group")}
    assert sorted(named) == sorted(kind.value for kind in Kind)


def test_every_kind_has_the_severity_that_its_row_says() -> None:
    said = {**rows("Findings of a queue"), **rows("Findings of a topic or a group")}
    assert KINDS.keys() == set(Kind)
    usual = {kind: said[kind.value][-1].partition(";")[0].replace("–", "none") for kind in KINDS}
    assert usual == {kind: row.severity.value for kind, row in KINDS.items()}


def test_every_cause_has_its_row_in_the_order_in_which_causes_are_asked() -> None:
    named = list(rows("Causes"))
    assert sorted(named) == sorted(cause.value for cause in Cause)
    order = [rule.__name__.upper() for rule, _ in RULES]
    indices = [named.index(cause) for cause in order if cause in named]
    assert indices == sorted(indices)


def test_every_cause_names_the_columns_of_its_evidence() -> None:
    named = {cause: words(evidence) for cause, (_, evidence) in rows("Causes").items()}
    column = fields_by_type()
    assert named == {cause.value: [column[part] for part in row.shown_by] for cause, row in CAUSES.items()}


def test_every_kind_of_reason_has_its_row_and_every_detail_is_named() -> None:
    named = [kind for kinds in rows("Kinds of reasons") for kind in kinds.split(", ")]
    assert sorted(named) == sorted(kind.value for kind in ReasonKind)
    details = {word for _, named_details in rows("Kinds of reasons").values() for word in words(named_details)}
    assert details == set(ReasonDetails.__struct_fields__)


def test_every_reason_is_named() -> None:
    named = {word for first in rows("Why it changed") for word in words(first)}
    assert named == {reason.value for reason in AlertReason}


def test_every_phase_has_the_state_that_its_row_says() -> None:
    named = {phase: words(state)[0] for phase, (state, _) in rows("The life of an alert").items()}
    assert named == {phase.value: state.value for phase, state in STATES.items()}


def reason_of(transition: Transition) -> list[str]:
    return [] if transition.reason is None else [transition.reason.value]


def test_transitions_are_those_of_the_code() -> None:
    """Every phase and signal that has a transition, and no other."""
    of_signals = {
        Signal.HELD_BACK: ["waits_for_deploy"],
        Signal.KEPT_OPEN: ["comes_and_goes", "lists_differ"],
        Signal.OVER: ["gone", "excluded", "forgotten"],
    }
    named = {(phase, signal): (to, words(reasons)) for phase, signal, to, reasons in table("From phase to phase")}
    assert named == {
        (phase.value, signal.value): (
            next_step.to.value,
            reason_of(next_step) or of_signals.get(signal, []),
        )
        for phase, by_signal in TRANSITIONS.items()
        for signal, next_step in by_signal.items()
    }


def test_picture_has_every_transition() -> None:
    drawn = set(re.findall(r"^    (\w+) --> (\w+)$", PAGE, re.MULTILINE))
    assert drawn == {
        (phase.value, next_step.to.value)
        for phase, by_signal in TRANSITIONS.items()
        for next_step in by_signal.values()
        if next_step.to is not phase
    }


def test_every_signal_has_a_row_of_the_table() -> None:
    assert {signal for by_signal in TRANSITIONS.values() for signal in by_signal} == set(Signal)


def test_every_timer_has_its_row() -> None:
    named = [name for first in rows("Grace and other timers") for name in first.split(", ")]
    assert sorted({*named} - {"timer", "---"}) == sorted(VALUES)


def test_the_values_of_the_timers_are_those_of_the_core() -> None:
    """After a change of one: ``UPDATE_GOLDEN=1 python -m pytest tests/core/test_docs.py`` writes it into the page."""
    compare("".join(map(with_values, PAGE.splitlines(keepends=True))), PATH)


def with_values(line: str) -> str:
    """A row ``| stall | 60 s | ... |`` with the value that the timer has; every other line as it is."""
    head, *cells = line.split(" | ")
    names = head.removeprefix("| ").split(", ")
    if not set(names) <= VALUES.keys():
        return line
    values = cells[0].split(", ")
    for place, name in enumerate(names):
        written = re.match(r"[\d.]+(?: (s|h|days)\b)?", values[place])
        assert written is not None
        values[place] = text_of(VALUES[name], written[1] or "") + values[place][written.end() :]
    return " | ".join([head, ", ".join(values), *cells[1:]])


def text_of(value: int, unit: str) -> str:
    """In the unit that the page has, unless the value is no multiple of it."""
    unit = unit if value % UNITS.get(unit, 1) == 0 else "s"
    return f"{value / UNITS.get(unit, 1):g} {unit}".rstrip()


def test_every_kind_and_every_cause_has_a_section_for_those_who_are_called() -> None:
    sections = re.findall(r"^### (\w+)\n\n(.+?)(?=\n\n#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    kinds = {kind.value for kind in Kind}
    assert sorted(name for name, _ in sections) == sorted(kinds | {cause.value for cause in Cause})
    undone = {name for name, text in sections if "*What to do:*" not in text}
    assert undone == {Kind.MATCH.value, Kind.POLLED.value}


def test_the_settings_have_no_timer_of_their_own() -> None:
    """Each number stands in the module that acts on it, and once."""
    for name in ("settings.py", "default_settings.py"):
        assert not re.findall(r"\b[1-9][0-9_]*\b", (CORE / name).read_text("utf-8"))
    assert sorted(name for name, _ in TIMERS) == sorted({name for name, _ in TIMERS})
