"""Tables whose files are damaged: a message that names them, whatever the damage. ``plan`` reads them likewise."""

import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from schemas.tables import QUEUE_ASSIGNMENTS
from streaming.cli import main
from testing.damage import cut
from testing.written import EPOCH, commit
from tests.explain.facts import T0, Teller
from tests.explain.test_read_facts import stand


def changed_inside(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 40] = b"\xff" * 40
    path.write_bytes(content)


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut off": cut,
    "empty": lambda path: path.write_bytes(b""),
    "other bytes": lambda path: path.write_bytes(os.urandom(500)),
    "changed inside": changed_inside,
    "gone": Path.unlink,
    "a folder": made_a_folder,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Facts from some time on, so that what held before is looked for in another table."""
    folder = tmp_path_factory.mktemp("whole")
    since = EPOCH + timedelta(milliseconds=T0)
    stand(folder, QUEUE_ASSIGNMENTS, {
        "cluster": "prod", "consumer_group": "orders", "ts": since, "topic": "T", "broker_name": "a", "queue_id": 0,
        "finding": "MATCH", "severity": "info", "cause": None, "reason": None, "expected_owners": ["x"],
        "actual_owners": ["x"], "since": since, "present": True, "seq": 4,
    })  # fmt: skip
    teller = Teller("orders", seq=7)
    teller.queue(1, 1, "MATCH")
    commit(folder / "facts", teller.facts)
    return folder


@pytest.mark.parametrize("words", [["explain", "orders"], ["plan", "--group", "orders", "--join", "1"]])
@pytest.mark.parametrize("ending", [".json", ".parquet"])
@pytest.mark.parametrize("table", ["facts", "queue_assignments"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_is_named(
    damage: str,
    table: str,
    ending: str,
    words: list[str],
    whole: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    tables = tmp_path / "tables"
    shutil.copytree(whole, tables)
    (file,) = (tables / table).rglob(f"*{ending}")
    DAMAGES[damage](file)
    status = main([*words, "--tables", str(tables)])
    _, err = capfd.readouterr()
    if (table, ending) == ("queue_assignments", ".json") and damage in ("gone", "a folder"):
        assert f"{tables}/queue_assignments" not in err  # as if it had never been there
        return
    assert status == 2
    assert err.startswith(f"evenkeel: {tables}/{table}: ")
    assert err.count("\n") == 1
    assert "cannot be read" in err or "can be read" in err


def test_table_of_somebody_else_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_deltalake(tmp_path / "facts", pa.table({"group": ["orders"], "date": ["today"]}))
    assert main(["explain", "orders", "--tables", str(tmp_path)]) == 2
    assert capfd.readouterr().err.startswith(f"evenkeel: {tmp_path}/facts: its files cannot be read: No match for")
