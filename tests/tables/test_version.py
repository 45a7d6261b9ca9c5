"""Tables of a newer evenkeel are not written to."""

from pathlib import Path

import pytest

from streaming.errors import CheckpointError
from streaming.projections.projector import run_projections
from streaming.tables import version
from streaming.tables.version import require_known_tables, take_tables
from tests.tables.telling import Teller, millis
from tests.tables.written import commit


def test_an_older_evenkeel_is_refused_from_the_first_write_of_a_newer_one_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = str(tmp_path)
    assert require_known_tables(tables) == 0
    assert list(tmp_path.iterdir()) == []
    take_tables(tables)
    known = version.TABLES_VERSION
    assert require_known_tables(tables) == known
    monkeypatch.setattr(version, "TABLES_VERSION", known + 1)
    assert require_known_tables(tables) == known
    take_tables(tables)
    monkeypatch.setattr(version, "TABLES_VERSION", known)
    for use in (require_known_tables, take_tables, run_projections):
        commit(tmp_path / "facts", [Teller().member(millis("2026-03-01 09:00"), "a")])
        with pytest.raises(CheckpointError, match=f"of version {known + 1}, and this evenkeel writes version {known}"):
            use(tables)
    assert {path.name for path in tmp_path.glob("[a-z]*")} == {"facts"}


def test_a_file_that_cannot_be_read_is_no_version(tmp_path: Path) -> None:
    (tmp_path / "_evenkeel.json").write_text("{")
    with pytest.raises(CheckpointError, match="restore it, or delete it"):
        take_tables(str(tmp_path))
