"""``evenkeel sql``: the tables, the views and the silences in DuckDB, as text, CSV and JSON, and a shell."""

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.fs import DeltaStorageHandler

from schemas.facts import Contradiction
from schemas.tables import QUEUE_ASSIGNMENTS
from streaming.cli import main
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.silences import Silence
from streaming.projections.projector import run_projections
from streaming.sql.database import Database
from streaming.tables.creation import create_table
from streaming.wall_clock import now_ms
from testing.written import commit
from tests.tables.telling import HOUR, Teller, health

NOW = now_ms()
Ask = Callable[..., tuple[int, str, str]]
METRICS_DOC = Path(__file__).parents[2] / "docs" / "metrics.md"
OF_RUNBOOKS = [
    " ".join(one.split()) for one in re.findall(r'evenkeel sql -c "([^"]+)"', METRICS_DOC.read_text("utf-8"))
]


def story() -> list[object]:
    """Queue 0 was right for an hour and is ORPHANED; one alert is over and another is open."""
    orders = Teller()
    return [
        orders.queue(NOW - 2 * HOUR, 0, "MATCH"),
        orders.queue(NOW - HOUR, 0, "ORPHANED", ("MATCH", NOW - 2 * HOUR), severity="critical", owners=()),
        orders.alert(NOW - 2 * HOUR, "firing", kind="DUPLICATED"),
        orders.alert(NOW - HOUR, "resolved", kind="DUPLICATED", active=NOW - 2 * HOUR),
        orders.alert(NOW - HOUR, "firing"),
        orders.status(NOW - 2 * HOUR, "healthy", MATCH=1),
        orders.status(NOW - HOUR, "findings", ORPHANED=1),
        health(
            "prod", NOW - HOUR, contradicting=2, contradiction=Contradiction("g", "ours", "theirs", ahead_ms=90_000)
        ),
        health("prod", NOW + HOUR),  # however long the other tests take, it is not old by then
    ]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sql") / "tables"
    commit(folder / "facts", story())
    run_projections(str(folder))
    return folder


@pytest.fixture
def ask(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    monkeypatch.setenv("EVENKEEL__NOTIFY__STATE", str(tmp_path / "state"))

    def ask(*words: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        code = main(["sql", "--tables", str(tables), *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ask


def rows(ask: Ask, query: str) -> list[dict[str, object]]:
    code, out, _ = ask("--json", "-c", query)
    assert code == 0
    return list(json.loads(out))


@pytest.mark.slow("tables are queried")
def test_an_interval_that_is_open_is_among_all_of_them(ask: Ask) -> None:
    found = rows(ask, "SELECT finding, to_time FROM queue_findings_all ORDER BY from_time")

    assert [(row["finding"], row["to_time"] is None) for row in found] == [("MATCH", False), ("ORPHANED", True)]


@pytest.mark.slow("tables are queried")
def test_an_alert_is_one_row_from_pending_to_resolved(ask: Ask) -> None:
    found = rows(ask, "SELECT kind, state FROM alerts_all ORDER BY kind")

    assert found == [{"kind": "DUPLICATED", "state": "resolved"}, {"kind": "ORPHANED", "state": "firing"}]


@pytest.mark.slow("a shell is started")
def test_a_group_has_one_newest_status_and_a_cluster_one_newest_round(ask: Ask) -> None:
    assert rows(ask, "SELECT status FROM group_status_now") == [{"status": "findings"}]
    assert rows(ask, "SELECT cluster, is_stale FROM newest_rounds") == [{"cluster": "prod", "is_stale": False}]


@pytest.mark.deep_rows("tables are queried")
@pytest.mark.parametrize("query", OF_RUNBOOKS)
def test_the_runbooks_of_prometheus_alerts_have_queries_that_work(ask: Ask, query: str) -> None:
    assert ask("-c", query)[0] == 0


@pytest.mark.slow("tables are queried")
def test_the_runbook_of_contradicting_rounds_names_both_producers(ask: Ask) -> None:
    (query,) = [one for one in OF_RUNBOOKS if "contradiction" in one]
    (found,) = rows(ask, query)
    said = found["contradiction"]
    assert isinstance(said, dict)
    assert (said["followed"], said["source"], said["ahead_ms"]) == ("ours", "theirs", 90_000)


@pytest.mark.slow("tables are queried")
def test_local_tables_are_read_without_python(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow reads ahead in threads, which crash in Python code while Python ends."""

    def refuse(*_: object) -> None:
        raise AssertionError("a local file is read by deltalake's file system")

    monkeypatch.setattr(DeltaStorageHandler, "open_input_file", refuse)

    assert rows(ask, "SELECT count(*) AS n FROM alerts") == [{"n": 3}]


@pytest.mark.slow("tables are queried")
def test_silences_are_a_table(ask: Ask, tmp_path: Path) -> None:
    assert rows(ask, "SELECT * FROM silences") == []
    kept = Silence(id="on", group="orders-*", from_ts=NOW, until_ts=NOW + HOUR, by="Ada", why="deploy")
    SilenceFiles(tmp_path / "state").add(kept)

    found = rows(ask, "SELECT consumer_group, who FROM silences WHERE until_time > from_time")
    assert found == [{"consumer_group": "orders-*", "who": "Ada"}]


@pytest.mark.slow("tables are queried")
def test_a_table_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    commit(tmp_path / "tables" / "facts", story())
    database = Database(str(tmp_path / "tables"), tmp_path / "state")

    (answer,) = database.answers("SELECT count(*), max(title) FROM notifications")
    assert list(answer.rows()) == [(0, None)]


@pytest.mark.slow("tables are queried")
def test_tables_of_an_older_evenkeel_have_the_columns_of_today(tables: Path, tmp_path: Path) -> None:
    """Also those that nothing brings up to date, as in a copy; and after something has."""
    shutil.copytree(tables, tmp_path / "tables")
    path = tmp_path / "tables" / "queue_assignments"
    older = DeltaTable(path).to_pyarrow_table().drop_columns(["reason_details"])
    write_deltalake(path, older, mode="overwrite", schema_mode="overwrite")
    database = Database(str(tmp_path / "tables"), tmp_path / "state")
    query = "SELECT seq, reason_details.error FROM queue_assignments"
    (answer,) = database.answers(query)
    found = list(answer.rows())
    assert [error for _, error in found] == [None]
    create_table(str(path), QUEUE_ASSIGNMENTS)
    (answer,) = database.answers(query)
    assert list(answer.rows()) == found


def test_text_shows_times_lists_and_nulls(ask: Ask) -> None:
    code, out, _ = ask("-c", "SELECT finding, actual_owners, to_time FROM queue_findings_all ORDER BY from_time DESC")

    assert code == 0
    assert [line.split() for line in out.splitlines() if "ORPHANED" in line] == [["ORPHANED", "[]", "null"]]


@pytest.mark.slow("a shell is started")
def test_text_ends_after_the_rows_that_somebody_reads(ask: Ask) -> None:
    _, out, _ = ask("-c", "SELECT * FROM range(201)")
    assert "199" in out
    assert "200" not in out.replace("first 200 rows", "")
    assert "first 200 rows. --csv and --json print all" in out
    assert "first 200 rows" not in ask("-c", "SELECT * FROM range(200)")[1]


def test_csv_has_a_line_of_names_and_lists_as_json(ask: Ask) -> None:
    _, out, _ = ask("--csv", "-c", "SELECT 'a,b' AS name, ['x', 'y'] AS owners, NULL AS nothing")

    assert list(csv.reader(io.StringIO(out))) == [["name", "owners", "nothing"], ["a,b", '["x", "y"]', ""]]


def test_names_cannot_act_on_a_terminal(ask: Ask) -> None:
    assert "\x1b" not in ask("-c", "SELECT chr(27) || '[2J' AS name")[1]


@pytest.mark.slow("tables are queried")
@pytest.mark.parametrize("words", [(), ("-c", "-")])
def test_queries_come_from_standard_input(ask: Ask, words: tuple[str, ...]) -> None:
    code, out, _ = ask("--json", *words, typed="SELECT 1 AS a;\n-- one more\nSELECT ';' AS b\n")

    assert (code, [json.loads(line) for line in out.splitlines()]) == (0, [[{"a": 1}], [{"b": ";"}]])


def test_a_query_that_is_refused_says_why(ask: Ask) -> None:
    code, out, err = ask("-c", "SELECT nothing FROM alerts")

    assert (code, out) == (2, "")
    assert "the query is refused" in err
    assert '"nothing"' in err


def test_a_folder_without_tables_is_refused(ask: Ask, tmp_path: Path) -> None:
    code, _, err = ask("--tables", str(tmp_path), "-c", "SELECT 1")

    assert code == 2
    assert f"{tmp_path}: there are no tables of evenkeel" in err


def test_duckdb_is_named_where_it_is_missing(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)

    code, _, err = ask("-c", "SELECT 1")
    assert code == 2
    assert "pip install duckdb" in err


def test_the_views_are_printed_for_spark_and_duckdb(ask: Ask) -> None:
    code, out, _ = ask("--views")

    assert code == 0
    assert len(duckdb.extract_statements(out)) == 4


@pytest.mark.slow("tables are queried")
def test_a_shell_goes_on_after_a_query_that_is_refused(
    ask: Ask, tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("SELECT\n'a;b' AS x;\nnonsense;\n\nSELECT 7 AS y;\n"))
    assert main(["sql", "--tables", str(tables)]) == 0
    said = capsys.readouterr()
    assert "a;b" in said.out
    assert "7" in said.out.rpartition("y")[2]
    assert "the query is refused" in said.err


@pytest.mark.slow("tables are queried")
def test_each_query_sees_the_tables_as_they_are_then(tables: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tables"
    commit(copy / "facts", story()[:1])
    database = Database(str(copy), tmp_path / "state")
    count = "SELECT count(*) FROM facts"

    before = [list(answer.rows()) for answer in database.answers(count)]
    commit(copy / "facts", story()[1:])
    after = [list(answer.rows()) for answer in database.answers(count)]

    assert (before, after) == ([[(1,)]], [[(len(story()),)]])
