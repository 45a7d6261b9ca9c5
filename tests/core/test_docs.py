"""docs/findings.md names every kind, cause, reason and timer, with the defaults that hold."""

import re
from pathlib import Path

import pytest

from schemas.facts import Cause, Kind
from streaming.core.alerts.phases import Reason
from streaming.core.causes.table import RULES
from streaming.core.finding_kinds import KINDS
from streaming.core.settings import Timing

PAGE = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
UNITS = {"s": 1_000, "h": 3_600_000, "days": 86_400_000}


def rows(heading: str) -> dict[str, list[str]]:
    """The first cell of each row of the table under a heading, and the others."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {first: others for first, *others in cells[2:]}


def test_every_kind_of_finding_has_its_row() -> None:
    named = [*rows("Findings of a queue"), *rows("Findings of a topic or a group")]
    assert sorted({*named}) == sorted(kind.value for kind in Kind)


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


def test_every_reason_is_named() -> None:
    named = {word for first in rows("The life of an alert") for word in re.findall(r"`(\w+)`", first)}
    assert named == {reason.value for reason in Reason}


@pytest.mark.parametrize("field", Timing.__struct_fields__)
def test_every_timer_is_named_with_its_default(field: str) -> None:
    name = field.removesuffix("_ms")
    (row,) = [(first, cells[0]) for first, cells in rows("Grace and other timers").items() if name in first.split(", ")]
    default = row[1].split(", ")[row[0].split(", ").index(name)]
    number, unit = re.match(r"(\d+) ?(\w*)", default).groups()  # type: ignore[union-attr]
    assert int(number) * UNITS.get(unit, 1) == getattr(Timing(), field)


def test_every_kind_and_every_cause_has_a_section_for_those_who_are_called() -> None:
    sections = re.findall(r"^### (\w+)\n\n(.+?)(?=\n\n#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    kinds = {kind.value for kind in Kind}
    assert sorted(name for name, _ in sections) == sorted(kinds | {cause.value for cause in Cause})
    undone = {name for name, text in sections if "*What to do:*" not in text}
    assert undone == {Kind.MATCH.value}
