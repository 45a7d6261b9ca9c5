"""``evenkeel upgrade --check`` says what the next start does with what a release left, and writes nothing."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.core.state.packing import STATE_VERSION
from streaming.lease import local_leases
from streaming.notifier.state_files import FORM
from streaming.projections.projector import run_projections
from streaming.tables.creation import create_tables
from streaming.tables.version import TABLES_VERSION
from tests.releases.kept import RELEASES, Release

pytestmark = pytest.mark.slow
Check = Callable[[], tuple[int, str]]
OLDEST = RELEASES[0]


@pytest.fixture
def job(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    release: Release = getattr(request, "param", OLDEST)
    monkeypatch.chdir(release.unpack_job(tmp_path))
    return tmp_path


@pytest.fixture
def check(job: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def check() -> tuple[int, str]:
        status = main(["upgrade", "--check", "--config", "evenkeel.toml"])
        said = capsys.readouterr()
        return status, said.out + said.err

    return check


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("job", RELEASES, indirect=True, ids=lambda release: release.version)
def test_what_a_release_left_goes_on_and_is_only_read(job: Path, check: Check) -> None:
    before = contents(job)
    status, said = check()
    assert status == 0, said
    assert "The next start continues with all of this." in said
    assert contents(job) == before


def test_what_it_says_of_tables_is_what_happens(job: Path, check: Check) -> None:
    _, said = check()
    assert "8 of 12 are brought up to date" in said
    assert "renamed, so change your queries: queue_assignments.since is since_time, group_members.since is" in said
    assert "quarantine gets events\n" in said
    run_projections(str(job / "tables"))
    create_tables(str(job / "tables"))
    _, said = check()
    assert [line.split()[0] for line in said.splitlines() if " gets " in line] == ["facts"]
    assert "renamed" not in said


def test_a_job_that_runs_is_named(job: Path, check: Check) -> None:
    with local_leases({"tables.path": str(job / "tables")}):
        status, said = check()
    assert status == 0
    assert f"running        process {os.getpid()} on " in said
    assert ": stop it before the new version starts" in said
    assert "stop it" not in check()[1]


def test_without_anything_all_begins_anew(job: Path, check: Check) -> None:
    for name in ("checkpoint", "tables", "notifier", "collector"):
        shutil.rmtree(job / name)
    status, said = check()
    assert (status, said.count("none yet")) == (0, 3)


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
        (newer_state, f"state of version {STATE_VERSION + 1:02}"),
        (other_shards, "was made with 4 shards"),
        (damaged_state, "position.json: cannot be read"),
        (newer_notifier, f"is of form {FORM + 1}"),
        (newer_tables, f"are of version {TABLES_VERSION + 1}"),
        (lost_checkpoint, "Run 'evenkeel reseed'"),
        (damaged_facts, "damaged by a failure of the machine: commit "),
        (damaged_offsets, "damaged: offsets/"),
    ],
)
def test_what_would_be_refused_is_named_before(
    change: Callable[[Path], None], words: str, job: Path, check: Check
) -> None:
    change(job)
    before = contents(job)
    status, said = check()
    assert status == 1
    assert "NOT RIGHT: " in said
    assert words in said
    assert contents(job) == before


def test_a_key_that_is_not_known_is_refused_as_everywhere(job: Path, check: Check) -> None:
    path = job / "evenkeel.toml"
    path.write_text(path.read_text().replace("shards = 4", "shards = 4\nshard_size = 1"))
    status, said = check()
    assert status == 2
    assert "job.shard_size" in said
