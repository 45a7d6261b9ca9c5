"""The page as people read it. ``UPDATE_GOLDEN=1`` writes what is printed now over what was expected."""

from pathlib import Path

import pytest
from rich.cells import cell_len

from schemas.events import Subscription
from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.inspect.snapshot import InspectedGroup
from testing.golden import compare
from tests.core.fleet import Fleet
from tests.inspect.looks import fleet, looked_at, page, picture

GOLDEN = Path(__file__).parent / "golden"
LONG = "10.131.7.21@12345#98123456789012345"


def healthy(group: str = "payments") -> InspectedGroup:
    one = fleet(group=group)
    one.join("10.0.0.1@1", "10.0.0.2@2")
    return picture(looked_at(one))


def mixed() -> InspectedGroup:
    """Two strategies and two subscriptions for long enough, and a long id."""
    one = fleet(group="orders")
    one.join(LONG)
    one.join("10.0.0.2@2", strategy=AveragelyByCircle(), report={"subscriptions": (Subscription("T", "TagA"),)})
    one.report_every = 20
    return picture(looked_at(one, 70))


def young() -> InspectedGroup:
    """Everything that cannot be judged within a look."""
    one = fleet(group="shipping")
    one.join("10.0.0.1@1", "10.0.0.2@2", "10.0.0.3@3")
    one.own("10.0.0.2@2", "a2-3 b1")
    one.stick("a0")
    return picture(looked_at(one))


def unheard() -> InspectedGroup:
    one = fleet(group="audit")
    one.join("10.0.0.1@1", "10.0.0.1@1", "10.0.0.2@2")
    one.pause("10.0.0.2@2")
    one.down.add("b")
    return picture(looked_at(one))


@pytest.mark.parametrize("width", [80, 120])
def test_page_is_as_expected(width: int) -> None:
    silent = {"b": "no answer within 2 s"}
    shown = page(healthy(), mixed(), young(), unheard(), healthy("refunds"), width=width, silent=silent)
    compare(shown, GOLDEN / f"page-{width}.txt")


def test_healthy_groups_take_a_line_unless_they_are_asked_for() -> None:
    assert len(page(healthy()).splitlines()) == 6
    assert "10.0.0.1@1" not in page(healthy())
    for shown in (page(healthy(), asked_for=True), page(healthy(), verbose=True)):
        assert "10.0.0.1@1" in shown


def test_what_is_wrong_comes_first() -> None:
    shown = page(healthy("a"), unheard(), young(), mixed())
    indices = [shown.index(name) for name in ("orders", "shipping", "audit", "healthy   a")]
    assert indices == sorted(indices)


def large(strategy: AveragelyByCircle | None = None) -> Fleet:
    """A thousand queues on ten brokers, and forty members."""
    one = fleet({"T": {f"broker-{n}": 100 for n in range(10)}}, rate=1)
    one.join(*(f"10.0.0.{n}@{n}" for n in range(40)), strategy=strategy)
    return one


@pytest.mark.slow("a look takes seconds")
@pytest.mark.parametrize("strategy", [None, AveragelyByCircle()])
def test_thousand_queues_are_read_on_a_screen_or_two(strategy: AveragelyByCircle | None) -> None:
    one = large(strategy)
    one.own("10.0.0.7@7", "")
    shown = page(picture(looked_at(one)))
    lines = shown.splitlines()
    assert len(lines) < 90
    assert max(map(cell_len, lines)) <= 80
    assert "may be ORPHANED, 25 queues of T" in shown
    first_row = next(line for line in lines if "ORPHANED?" in line)
    assert lines.index(first_row) < lines.index(next(line for line in lines if line.endswith("MATCH")))
    assert "20 more members; --verbose shows all" in shown
    everything = page(picture(looked_at(one)), verbose=True)
    assert "--verbose" not in everything
    assert all(f"10.0.0.{n}@{n}" in everything for n in range(40))


EVIL = ["[bold red]x[/]", "\x1b[2Jx", "a\u202eb", "a\nb", "漢字" * 60, "x" * 500, "\ud800", ":smile:"]


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("width", [40, 80])
def test_names_neither_act_nor_spoil_the_page(name: str, width: int) -> None:
    one = fleet({name: {name: 2}}, group=name)
    one.join(name, "y")
    seen = picture(looked_at(one))
    for shown in (page(seen, width=width, verbose=True), page(seen, width=width, silent={name: name})):
        assert all(line.isprintable() for line in shown.splitlines())
        assert max(map(cell_len, shown.splitlines())) <= width
