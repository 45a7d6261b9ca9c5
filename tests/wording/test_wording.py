"""Names, numbers and columns as they fit."""

import pytest
from rich.cells import cell_len

from streaming.snapshots.lines import Column, laid_out
from streaming.wording.names import cut, cut_middle, named, plain, wrapped
from streaming.wording.numbers import folded, ranges, rate, short
from streaming.wording.times import age


@pytest.mark.parametrize(
    ("text", "shown"),
    [("T", "T"), ("漢 字", "漢 字"), ("\x1b[1m", "\\x1b[1m"), ("a\u202eb", "a\\u202eb"), ("\ud800", "\\ud800")],
)
def test_nothing_acts(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize("width", range(12))
@pytest.mark.parametrize("text", ["", "abc", "abcdefghijklmnop", "漢字漢字漢字漢字"])
def test_cut_never_takes_more_room(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width
    assert cell_len(cut_middle(text, width)) <= width


def test_beginning_and_end_tell_ids_apart() -> None:
    assert cut_middle("10.0.0.1@12345#6789", 11) == "10.0.…#6789"
    assert cut("broker-a 0-99", 9) == "broker-a…"


def test_words_are_kept_whole_where_they_fit() -> None:
    assert wrapped("one two three", 8) == ["one two", "three"]
    assert wrapped("x" * 10 + " y", 4) == ["xxxx", "xxxx", "xx y"]
    assert wrapped("", 8) == [""]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0, "0"), (99_999, "99999"), (123_456, "123k"), (12_345_678, "12M"), (10**11, "100G")],
)
def test_large_numbers_are_short(value: int | None, shown: str) -> None:
    assert short(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (0.0, "0.0"), (12.34, "12.3"), (1234.5, "1234")])
def test_rates(value: float | None, shown: str) -> None:
    assert rate(value) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(-5, "0 s"), (119_999, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"), (172_800_000, "2 d")],
)
def test_ages(milliseconds: int, shown: str) -> None:
    assert age(milliseconds) == shown


def test_neighbours_are_folded() -> None:
    assert folded([3, 0, 1, 2, 5, 7, 8, 8]) == ["0-3", "5", "7-8"]
    assert folded([]) == []


def test_columns_give_way_and_empty_ones_are_left_out() -> None:
    heads = [Column("id", cut=cut_middle), Column("why", cut=cut), Column("lag", right=True), Column("finding")]
    rows = [["10.0.0.1@12345#6789", "", "7", "MATCH"], ["y", "", "12345", "ORPHANED"]]
    assert laid_out(heads, rows, 28) == [
        "id             lag  finding",
        "10.0.…#6789      7  MATCH",
        "y            12345  ORPHANED",
    ]


@pytest.mark.parametrize(
    ("ids", "text"), [([], "nobody"), (["x"], "x"), (["x", "y"], "x, y"), (["x", "x", "y"], "x (2 instances), y")]
)
def test_owners_by_name(ids: list[str], text: str) -> None:
    assert named(ids) == text


@pytest.mark.parametrize(
    ("queues", "text"),
    [
        ([], ""),
        ([("a", 0)], "a 0"),
        ([("a", 3), ("a", 1), ("a", 2), ("a", 7), ("b", 0)], "a 1-3 7, b 0"),
        ([("a", 0), ("a", 1), ("a", 0)], "a 0-1"),
    ],
)
def test_queues_are_folded_into_ranges(queues: list[tuple[str, int]], text: str) -> None:
    assert ranges(queues) == text
