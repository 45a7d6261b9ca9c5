"""Tables of a newer evenkeel are neither written nor read."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from schemas.tables import FACTS
from streaming.cli import main
from streaming.errors import CheckpointError
from streaming.notices.notice import Text
from streaming.notifier.facts_follower import FactsFollower
from streaming.notifier.notifications_table import Delivery, NotificationsTable
from streaming.projections.projector import run_projections
from streaming.tables import version
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.creation import create_table
from streaming.tables.version import require_known_tables, take_tables
from testing.written import commit
from tests.notices.incidents import INCIDENTS, NOW
from tests.notifier.facts import alert
from tests.tables.telling import Teller, millis


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
        with pytest.raises(CheckpointError, match=f"of version {known + 1}, and this evenkeel knows version {known}"):
            use(tables)
    assert {path.name for path in tmp_path.glob("[a-z]*")} == {"facts"}


def test_tables_of_0_1_0_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    """A copy of the facts of 0.2.0 alone says no version either."""
    facts = arrow_schema(FACTS)
    status = facts.field("group_status")
    older = pa.struct([field for field in status.type if field.name != "waiting"])
    DeltaTable.create(str(tmp_path / "facts"), facts.set(facts.names.index(status.name), status.with_type(older)))
    before = sorted(tmp_path.rglob("*"))
    for use in (require_known_tables, take_tables, run_projections):
        with pytest.raises(CheckpointError, match=r"are of evenkeel 0\.1\.0: upgrade with 0.2.0 first"):
            use(str(tmp_path))
    assert sorted(path for path in tmp_path.rglob("*") if "_checkpoints" not in path.parts) == before
    create_table(str(tmp_path / "facts"), FACTS)
    assert require_known_tables(str(tmp_path)) == 0


def test_a_file_that_cannot_be_read_is_no_version(tmp_path: Path) -> None:
    (tmp_path / "_evenkeel.json").write_text("{")
    with pytest.raises(CheckpointError, match="restore it, or delete it"):
        take_tables(str(tmp_path))


def made_newer(tables: Path) -> None:
    (tables / "_evenkeel.json").write_text(f'{{"tables_version":{version.TABLES_VERSION + 1}}}')


@pytest.mark.parametrize(
    "words", [["notify"], ["sql", "-c", "SELECT 1"], ["explain", "g"], ["web", "--listen", "127.0.0.1:0"]], ids=" ".join
)
def test_commands_that_read_tables_refuse_newer_ones_before_they_write(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables, state = tmp_path / "tables", tmp_path / "state"
    commit(tables / "facts", [alert("g")])
    made_newer(tables)
    config = tmp_path / "x.toml"
    config.write_text(f'[tables]\npath = "{tables}"\n[notify]\nstate = "{state}"\n')
    before = sorted(tmp_path.rglob("*"))
    assert main([*words, "--config", str(config)]) == 2
    assert f"the tables in {tables} are of version {version.TABLES_VERSION + 1}" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow("tables are written")
def test_readers_that_run_stop_at_the_first_facts_of_a_newer_evenkeel(tmp_path: Path) -> None:
    """A job was upgraded before the notifier and the pages beside it."""
    follower = FactsFollower(str(tmp_path))
    commit(tmp_path / "facts", [alert("g")])
    assert follower.read() == [alert("g")]
    made_newer(tmp_path)
    commit(tmp_path / "facts", [alert("h")])
    for reader in (follower, FactsFollower(str(tmp_path))):
        for _ in range(2):
            with pytest.raises(CheckpointError, match="are of version"):
                reader.read()
    (tmp_path / "_evenkeel.json").unlink()
    assert follower.read() == [alert("h")], "nothing of it was taken for read"


def test_rows_of_notifications_wait_while_a_newer_evenkeel_has_the_tables(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes = tmp_path / "outcomes"
    made_newer(tmp_path)
    table = NotificationsTable(str(tmp_path), outcomes)
    table.add(Delivery("pager", "delivered", None, INCIDENTS["SAME_CLIENT_ID"], Text("title", "body"), NOW))
    table.write()
    assert "1 rows of notifications wait: the tables in" in caplog.text
    assert not (tmp_path / "notifications").exists()
    (tmp_path / "_evenkeel.json").unlink()
    NotificationsTable(str(tmp_path), outcomes).write()
    assert DeltaTable(tmp_path / "notifications").count() == 1
