"""``evenkeel jars fetch`` on a folder that has the jars already: those that ``make setup`` has fetched. No network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.jvm.jars import cache_dir
from streaming.jvm.pins import set_name
from streaming.loopback import kafka
from streaming.spark.packages import spark_jars, spark_packages

pytestmark = pytest.mark.slow("processes are started")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for coordinates in (spark_packages(), kafka.COORDINATES):
        (tmp_path / set_name(coordinates)).symlink_to(cache_dir() / "jars" / set_name(coordinates))
    return tmp_path


def test_the_folder_has_checksums_and_is_what_spark_takes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jars", "fetch", "--to", str(folder)]) == 0
    lines = (folder / "jars.sha256").read_text().splitlines()
    assert capsys.readouterr().out == f"{len(lines)} jars are in {folder}; their checksums are right\n"
    checked = subprocess.run(["sha256sum", "-c", "jars.sha256"], cwd=folder, capture_output=True, text=True, check=True)
    assert len(checked.stdout.splitlines()) == len(lines)
    assert {jar.parent.parent for jar in spark_jars(str(folder))} == {folder}


def test_a_session_does_not_begin_without_the_named_jars(tmp_path: Path) -> None:
    """Spark is not started: the class path of its Java has one of them."""
    command = [sys.executable, "-m", "streaming", "maintain"]
    environment = {**os.environ, "EVENKEEL__SPARK__JARS_FOLDER": str(tmp_path), "EVENKEEL__TABLES__PATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert f"evenkeel: {tmp_path}/{set_name(spark_packages())}: " in done.stderr
    assert "is missing. Where there is a network, fill a folder with: evenkeel jars fetch --to DIR." in done.stderr
    assert done.returncode == 2
