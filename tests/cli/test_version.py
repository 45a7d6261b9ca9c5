"""Which commit the code is of, as ``evenkeel --version`` says it."""

from pathlib import Path

import pytest

from streaming import __version__
from streaming.cli import main, version
from streaming.cli.version import commit
from tests.release import git, make_repository


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder of code in a folder that is no checkout."""
    folder = tmp_path / "streaming"
    folder.mkdir()
    (folder / "code.py").write_text("")
    return folder


def test_of_a_checkout_git_is_asked(package: Path) -> None:
    made = make_repository(package.parent)
    assert commit(package) == f"commit {made[:12]}"
    git(package.parent, "-c", "user.name=x", "-c", "user.email=x@x", "tag", "--annotate", "--message", "x", "v9")
    assert commit(package) == f"commit {made[:12]}"
    (package / "code.py").write_text("changed = True")
    assert commit(package) == f"commit {made[:12]} with uncommitted changes"


def test_of_a_package_it_is_what_was_written_when_it_was_built(package: Path) -> None:
    (package / "commit.txt").write_text("commit 1a2b3c4d5e6f\n")
    assert commit(package) == "commit 1a2b3c4d5e6f"


def test_a_checkout_does_not_believe_what_a_build_left_behind(package: Path) -> None:
    made = make_repository(package.parent)
    (package / "commit.txt").write_text("commit 1a2b3c4d5e6f\n")
    assert commit(package) == f"commit {made[:12]}"


def test_where_nobody_knows_it_the_reason_is_said(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commit(package) == "commit unknown: neither a checkout nor built by make package"
    (package.parent / ".git").write_text(f"gitdir: {package}/nowhere\n")
    assert commit(package) == f"commit unknown: git says fatal: not a git repository: {package}/nowhere"
    monkeypatch.setenv("PATH", str(package))
    assert commit(package) == "commit unknown: git is not installed"


def test_the_version_is_printed_with_the_commit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(version, "commit", lambda: "commit 1a2b3c4d5e6f")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"evenkeel {__version__} (commit 1a2b3c4d5e6f)"
