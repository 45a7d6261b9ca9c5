"""``evenkeel doctor`` says what the next start takes over of what a release left, and writes nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from streaming.config.load import read_config
from streaming.core.state.packing import STATE_VERSION
from streaming.doctor import tables, upgrade
from streaming.doctor.checks import PROCESSES, Check, Verdict
from streaming.notifier.state_files import FORM
from streaming.tables.version import TABLES_VERSION
from tests.releases.kept import RELEASES, Release

pytestmark = pytest.mark.slow("a folder of a release is unpacked")
ALL = frozenset(PROCESSES)


@pytest.fixture
def job(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    release: Release = getattr(request, "param", RELEASES[-1])
    monkeypatch.chdir(release.unpack_job(tmp_path))
    return tmp_path


def found() -> list[Check]:
    config = read_config(Path("evenkeel.toml")).config
    return [*upgrade.checks(config, ALL), *tables.checks(config, ALL, 1e9, contends=False)]


def wrong() -> str:
    return "\n".join(check.found for check in found() if check.verdict is Verdict.WRONG)


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("job", RELEASES, indirect=True, ids=lambda release: release.version)
def test_what_a_release_left_goes_on_and_is_only_read(job: Path) -> None:
    before = contents(job)
    ours = [check for check in found() if check.area == upgrade.AREA]
    assert [check.what for check in ours if check.verdict is not Verdict.FINE] == []
    assert {check.what for check in ours} == {"batch", "facts", "notifier", "collector"}
    assert "firing alert" in " ".join(check.found for check in ours)
    assert contents(job) == before


def test_without_anything_all_begins_anew(job: Path) -> None:
    for name in ("checkpoint", "tables", "notifier", "collector"):
        shutil.rmtree(job / name)
    assert {check.verdict for check in found()} == {Verdict.UNKNOWN}


def newer_state(job: Path) -> None:
    path = job / "checkpoint" / "evenkeel" / "identity.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"state_version": STATE_VERSION + 1}))


def other_shards(job: Path) -> None:
    path = job / "evenkeel.toml"
    path.write_text(path.read_text().replace("shards = 4", "shards = 8"))


def damaged_state(job: Path) -> None:
    (job / "notifier" / "position.json").write_text("{")


def newer_notifier(job: Path) -> None:
    path = job / "notifier" / "position.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"form": FORM + 1}))


def first_notifier(job: Path) -> None:
    path = job / "notifier" / "position.json"
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "form"}))


def newer_tables(job: Path) -> None:
    (job / "tables" / "_evenkeel.json").write_text(json.dumps({"tables_version": TABLES_VERSION + 1}))


def lost_checkpoint(job: Path) -> None:
    shutil.rmtree(job / "checkpoint")


def emptied(folder: Path, pattern: str) -> None:
    max(folder.glob(pattern)).write_bytes(b"")


def damaged_facts(job: Path) -> None:
    emptied(job / "tables" / "facts" / "_delta_log", "*.json")


def damaged_offsets(job: Path) -> None:
    emptied(job / "checkpoint" / "offsets", "[0-9]*")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (newer_state, f"state of version {STATE_VERSION + 1}, of a newer"),
        (other_shards, "was made with 4 shards"),
        (damaged_state, "position.json: cannot be read"),
        (newer_notifier, f"is of form {FORM + 1}"),
        (first_notifier, "is of evenkeel 0.1.0: upgrade with 0.2.0 first"),
        (newer_tables, f"are of version {TABLES_VERSION + 1}"),
        (lost_checkpoint, "there is none, and there are facts"),
        (damaged_facts, "damaged by a failure of the machine: commit "),
        (damaged_offsets, "damaged: offsets/"),
    ],
)
def test_what_would_be_refused_is_named_before(change: Callable[[Path], None], words: str, job: Path) -> None:
    assert wrong() == ""
    change(job)
    before = contents(job)
    assert words in wrong()
    assert contents(job) == before
