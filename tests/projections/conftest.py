"""Tables in which three days of facts are projected."""

import shutil
from pathlib import Path

import pytest

from streaming.projections.projector import run_projections
from testing.written import commit
from tests.projections.story import three_days


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One commit a day. Read it only; ``told`` is a copy to change."""
    tables = tmp_path_factory.mktemp("finished")
    for day in three_days():
        commit(tables / "facts", day)
    run_projections(str(tables))
    return tables


@pytest.fixture
def told(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "tables")
    return tmp_path / "tables"
