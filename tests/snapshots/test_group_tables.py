"""``inspect`` and ``explain`` show equal things of a group alike."""

import re

import pytest

from schemas.facts import Kind
from streaming.explain.group_text import lines_of as explained_lines
from streaming.explain.snapshot import ExplainedQueue
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.inspect.group_text import full_lines as inspected_lines
from streaming.inspect.snapshot import InspectedGroup, InspectedQueue
from streaming.snapshots.group_tables import MOST_MEMBERS, finding_style, member_table
from streaming.snapshots.lines import Row
from tests.explain.facts import T0, Teller

RETRY = "%RETRY%g"
NOT_SHOWN_BY_BOTH = {"in/s", "out/s", "lag", "since", "why"}


def cells_of(lines: list[str]) -> dict[str, str]:
    """The cells of the one queue, without the columns that only one of the commands has."""
    begin = next(place for place, line in enumerate(lines) if line.startswith("  queues "))
    heads, cells = (re.split(r"\s{2,}", line.strip()) for line in lines[begin : begin + 2])
    return {head: cell for head, cell in zip(heads, cells, strict=True) if head not in NOT_SHOWN_BY_BOTH}


def tables(
    finding: str, owners: tuple[str, ...] | None, expected: tuple[str, ...] | None, topic: str = "T"
) -> tuple[list[str], list[str]]:
    known = {
        "topic": topic,
        "broker_name": "a",
        "queue_id": 0,
        "finding": finding,
        "owners": owners,
        "expected": expected,
    }
    teller = Teller()
    teller.queue(0, 0, "MATCH")
    explained = snapshot_of(teller.facts)
    explained = type(explained)(**{
        **{name: getattr(explained, name) for name in explained.__struct_fields__},
        "queues": (ExplainedQueue(**known, since_ts=T0, told_ts=T0),),
    })  # fmt: skip
    inspected = InspectedGroup(
        cluster="c", group="g", ts=T0, looked_s=6, status="findings", reason=None,
        queues=(InspectedQueue(
            **known, readable=True, writable=True, in_per_s=1.0, out_per_s=1.0, lag=0, still_s=None, stands_s=None,
        ),),
    )  # fmt: skip
    then = [line.text for line in explained_lines(explained, 100, None)]
    now = [line.text for line in inspected_lines(inspected, 100, asked_for=True, verbose=False)]
    return [line for line in then if line], [line for line in now if line]


@pytest.mark.parametrize(
    ("finding", "owners", "expected"),
    [
        ("MATCH", ("x",), ("x",)),
        ("ORPHANED", (), ("x",)),
        ("DUPLICATED", ("x", "y"), ("x",)),
        ("UNKNOWN", None, None),
        ("EXCLUDED", None, None),
        ("MISPLACED", ("x",), ("y",)),
        ("NO_MEMBERS", (), ()),
        ("PHANTOM", ("x",), ()),
    ],
)
def test_a_queue_has_the_same_words_in_both(
    finding: str, owners: tuple[str, ...] | None, expected: tuple[str, ...] | None
) -> None:
    then, now = tables(finding, owners, expected)
    assert cells_of(then) == cells_of(now)


@pytest.mark.parametrize("finding", ["MATCH", "EXCLUDED", "NO_MEMBERS", "STALLED", "UNKNOWN"])
def test_a_retry_topic_is_shown_by_both_or_by_none(finding: str) -> None:
    then, now = tables(finding, ("x",), ("x",), RETRY)
    assert (
        any(RETRY in line for line in then) == any(RETRY in line for line in now) == (finding in {"STALLED", "UNKNOWN"})
    )


def test_of_too_many_members_some_are_counted_unless_all_are_wanted() -> None:
    rows = [Row({"client id": f"x{number}"}) for number in range(MOST_MEMBERS + 3)]
    *_, last = member_table(rows, 80, "--json has all")
    assert last.text == "  ... 3 more members; --json has all"
    assert len(list(member_table(rows, 80, ""))) == 1 + len(rows)


def test_each_kind_has_a_style_and_what_is_wrong_is_red() -> None:
    assert {kind for kind in Kind if finding_style(kind) == ""} == {Kind.MATCH, Kind.POLLED}
    assert finding_style("A_KIND_OF_LATER") == finding_style(Kind.ORPHANED) == "red"
    assert finding_style(None) == finding_style(Kind.SETTLING) == "yellow"
