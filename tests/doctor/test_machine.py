"""The real machine, and one that lacks something."""

import os
from pathlib import Path

import pytest

from streaming.config.sections import Config
from streaming.doctor import machine
from streaming.doctor.checks import PROCESSES, Check, Verdict
from streaming.jvm import java
from streaming.jvm.pins import set_name
from streaming.spark.packages import spark_packages


def config(folder: Path, **spark: str) -> Config:
    sections = {"tables": {"path": f"{folder}/t"}, "job": {"checkpoint": f"{folder}/c"}, "spark": spark}
    return Config.model_validate(sections)


def named(checks: list[Check]) -> dict[str, Check]:
    return {f"{check.what} {check.where.partition(' ')[0]}": check for check in checks}


def test_root_does_not_see_what_the_user_of_the_service_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    user = named(list(machine.checks(config(tmp_path), frozenset({"run"}))))["user "]
    assert (user.verdict, user.mend) == (Verdict.UNKNOWN, "runuser -u evenkeel -- evenkeel doctor ...")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "user " not in named(list(machine.checks(config(tmp_path), frozenset({"run"}))))


def test_folders_that_are_not_made_yet_are_looked_at_by_their_disk(tmp_path: Path) -> None:
    found = named(list(machine.checks(config(tmp_path), frozenset(PROCESSES))))
    assert found["Python "].verdict is Verdict.FINE
    assert found["folder tables.path"].found.endswith("not made yet")
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_machine_where_only_collect_runs_needs_no_folder_of_the_job(tmp_path: Path) -> None:
    found = named(list(machine.checks(config(tmp_path), frozenset({"collect"}))))
    assert [name for name in found if name.startswith("folder")] == ["folder collector.state"]


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(tmp_path)
    full = os.statvfs_result((real.f_bsize, 4096, 1000, 10, 10, *tuple(real)[5:]))
    monkeypatch.setattr(machine.os, "statvfs", lambda _: full)
    found = named(list(machine.checks(config(tmp_path), frozenset(PROCESSES))))
    assert found["folder tables.path"].verdict is Verdict.WRONG
    assert "0 MB are free" in found["folder tables.path"].found
    assert found["folder tables.path"].mend == f"df -h {tmp_path}"


def test_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "t").touch()
    found = named(list(machine.checks(config(tmp_path), frozenset(PROCESSES))))
    assert found["folder tables.path"].verdict is Verdict.WRONG


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "PLACES", ())
    found, _ = machine.java_checks(config(tmp_path))
    assert found.verdict is Verdict.WRONG
    assert "none was found" in found.found


@pytest.mark.slow("a folder of a release is unpacked")
def test_java_that_is_there_and_jar_with_another_checksum(tmp_path: Path) -> None:
    folder = tmp_path / set_name(spark_packages())
    folder.mkdir()
    (folder / "kafka-clients-3.9.2.jar").write_text("changed")
    found, jars = machine.java_checks(config(tmp_path, jars_folder=str(tmp_path)))
    assert found.verdict is Verdict.FINE
    assert "version" in found.found
    assert jars.verdict is Verdict.WRONG
    assert "is missing" in jars.found or "SHA-256" in jars.found
    assert "evenkeel jars fetch --to" in jars.mend


@pytest.mark.slow("a folder of a release is unpacked")
def test_jars_that_are_not_fetched_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "cache"))
    _, jars = machine.java_checks(config(tmp_path))
    assert (jars.verdict, jars.mend) == (Verdict.UNKNOWN, "evenkeel jars fetch")
