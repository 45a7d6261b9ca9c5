"""No command starts where another project's `streaming` or `schemas` is installed among evenkeel's own."""

import subprocess
import sys
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.cli.own_packages import FOLDER, other_owners, require_own_packages
from tests.release import OUTSIDE


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """With evenkeel, as pip installs it."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    for name in ("streaming", "schemas"):
        (folder / name).symlink_to(FOLDER / name)
    installed(folder, "evenkeel_rocketmq-0.3.0", "streaming/__init__.py", "schemas/__init__.py")
    installed(folder, "requests-2.32.3", "requests/__init__.py", "requests/streaming/__init__.py", "streaming.py")
    return folder


def installed(site_packages: Path, distribution: str, *files: str) -> None:
    about = site_packages / f"{distribution}.dist-info"
    about.mkdir()
    (about / "RECORD").write_text("".join(f"{file},sha256=0,0\n" for file in files))


def run(*path: Path) -> "subprocess.CompletedProcess[str]":
    """``evenkeel --version`` with these folders before those of Python."""
    environment = OUTSIDE | {"PYTHONPATH": ":".join(map(str, path))}
    code = "import sys; from streaming.cli import main; sys.exit(main(['--version']))"
    return subprocess.run([sys.executable, "-c", code], cwd="/", env=environment, capture_output=True, text=True)


def test_with_evenkeel_alone_every_command_starts(site_packages: Path) -> None:
    assert list(other_owners(site_packages)) == []
    assert run(site_packages).returncode == 0
    require_own_packages()


@pytest.mark.parametrize("file", ["streaming/base/stream.py", "schemas/__init__.py"])
def test_another_owner_of_our_names_is_refused_and_named(file: str, site_packages: Path) -> None:
    installed(site_packages, "mosaicml_streaming-0.9.1", file)
    done = run(site_packages)
    assert (done.returncode, done.stdout) == (2, "")
    package = file.partition("/")[0]
    assert done.stderr == (
        f"evenkeel: mosaicml_streaming 0.9.1 has packages of evenkeel's names ({package}) in {site_packages}: pip lets "
        "the one that is installed last overwrite the files of the other. Install evenkeel in an environment "
        "of its own, with python3 -m venv, pipx or uv (docs/install.md), and install here again what evenkeel has "
        "overwritten\n"
    )


def test_another_schemas_that_comes_first_is_refused(site_packages: Path, tmp_path: Path) -> None:
    other = tmp_path / "theirs" / "schemas" / "__init__.py"
    other.parent.mkdir(parents=True)
    assert run(other.parents[1], site_packages).returncode == 0  # a plain folder of this name does no harm
    other.write_text("")
    done = run(other.parents[1], site_packages)
    assert done.returncode == 2
    assert f"Python finds the package schemas in {other}, not evenkeel's own in {site_packages}/schemas." in done.stderr


def test_what_pip_had_begun_to_remove_owns_nothing(site_packages: Path) -> None:
    installed(site_packages, "~treaming-1", "streaming/__init__.py")
    assert list(other_owners(site_packages)) == []


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["config", "check", "none.toml"]])
def test_it_is_looked_at_before_every_command(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], site_packages: Path
) -> None:
    installed(site_packages, "mosaicml_streaming-0.9.1", "streaming/__init__.py")
    monkeypatch.setattr("streaming.cli.require_own_packages", lambda: require_own_packages(site_packages))
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("evenkeel: mosaicml_streaming 0.9.1 has ")
