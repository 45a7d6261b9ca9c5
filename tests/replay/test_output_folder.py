"""A folder is made afresh only where nobody else's files would go."""

from pathlib import Path

import pytest

from streaming.errors import SetupError
from streaming.replay.output_folder import fresh_folder


def test_an_earlier_run_makes_way(tmp_path: Path) -> None:
    folder = fresh_folder(tmp_path / "a" / "b")
    (folder / "facts").mkdir()
    (folder / "facts" / "part").write_text("old")
    assert fresh_folder(folder) == folder
    assert not (folder / "facts").exists()


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    assert fresh_folder(tmp_path) == tmp_path


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(SetupError, match="did not make"):
        fresh_folder(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(SetupError, match="cannot be made"):
        fresh_folder(tmp_path / "a")
