"""A bad time hides no other fault."""

from pathlib import Path

import pytest

from streaming.cli import main


def test_a_bad_time_is_told_with_the_group_and_what_else_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "orders", "--at", "never", "--tables", str(tmp_path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("evenkeel: group orders: --at never: a time as in")
    assert "no facts table can be read there" in second
