"""What ``scripts/setup`` decides before it installs anything. tests/clean_root lets it install."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "requirements.txt", "requirements-build.txt", "requirements-dev.txt")
NO_PYTHON = "make setup: Python 3.11 to 3.13 is needed, and none is on the PATH"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder in which no Python is found, so that a set-up ends there, with a .venv that is up to date."""
    folder = tmp_path / "evenkeel"
    for name in (*FILES, "scripts/setup", "streaming/jvm/jars.toml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in ("python3", "python3.13", "python3.12", "python3.11"):
        write_program(tmp_path / "bin" / name, "exit 1")
    write_program(folder / ".venv" / "bin" / "python", "exit 0")
    state = "sha256sum pyproject.toml requirements*.txt streaming/jvm/jars.toml scripts/setup | sha256sum | cut -c1-64"
    sums = subprocess.run(["bash", "-c", state], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    (folder / ".venv" / ".installed").write_text(f"run {sums} {folder}\n")
    return folder


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def command(folder: Path, *words: str) -> tuple[Sequence[str | Path], dict[str, str]]:
    path = f"{folder.parent / 'bin'}:/usr/bin:/bin"
    return [folder / "scripts" / "setup", *words], {**os.environ, "PATH": path, "PYTHONPATH": "/elsewhere"}


def set_up(folder: Path, *words: str) -> tuple[int, str]:
    """The status, and what was printed."""
    to_run, environment = command(folder, *words)
    done = subprocess.run(to_run, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def test_nothing_is_done_where_all_is_installed(checkout: Path) -> None:
    assert set_up(checkout) == (0, "")
    installed = checkout / ".venv" / ".installed"
    installed.write_text(installed.read_text().replace("run", "dev", 1))  # these packages, and the tools
    assert set_up(checkout) == set_up(checkout, "dev") == (0, "")


@pytest.mark.parametrize("change", ["a pin", "tools", "renamed", "python gone", "not finished"])
def test_it_begins_where_something_is_missing(checkout: Path, change: str) -> None:
    if change == "a pin":
        (checkout / "requirements.txt").write_text("pyspark==4.0.1\n")
    elif change == "renamed":
        checkout = checkout.rename(checkout.with_name("even"))  # its programs name the other folder
    elif change == "python gone":
        (checkout / ".venv" / "bin" / "python").unlink()
    elif change == "not finished":
        (checkout / ".venv" / ".installed").unlink()
    status, printed = set_up(checkout, *(["dev"] if change == "tools" else []))
    assert status == 1
    assert printed.startswith(NO_PYTHON)


def test_a_home_that_cannot_be_entered_is_named_with_the_way_out(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVENKEEL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/another")
    write_program(checkout.parent / "bin" / "df", '[ "$2" = . ] && exec /usr/bin/df "$@"; exit 1')
    (checkout / ".venv" / ".installed").unlink()
    status, printed = set_up(checkout)
    assert status == 1
    assert printed.startswith("make setup: /another/evenkeel/jars, where jars are kept, cannot be used by ")
    assert printed.endswith("Name another folder with EVENKEEL_CACHE\n")


def test_one_name_of_a_folder_is_as_good_as_another(checkout: Path) -> None:
    link = checkout.with_name("link")
    link.symlink_to(checkout)
    assert set_up(link) == (0, "")


def test_the_content_of_a_link_is_not_touched(checkout: Path) -> None:
    others = checkout.parent / "others"
    (checkout / ".venv").rename(others)
    (checkout / ".venv").symlink_to(others)
    status, printed = set_up(checkout)
    assert status == 1
    assert printed.startswith(f"make setup: .venv is a link to {others}, whose content is not touched. Remove the link")
    assert (others / ".installed").exists()


def test_a_second_set_up_waits_for_the_first(checkout: Path) -> None:
    first = os.open(checkout, os.O_RDONLY)
    fcntl.flock(first, fcntl.LOCK_EX)
    to_run, environment = command(checkout)
    with subprocess.Popen(to_run, env=environment, stdout=subprocess.PIPE, text=True) as second:
        assert second.stdout is not None
        assert second.stdout.readline() == "Another set-up is at work here: waiting for it\n"
        assert second.poll() is None
        os.close(first)
        assert second.wait(60) == 0
