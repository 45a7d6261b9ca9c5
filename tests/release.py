"""What ``make package`` builds, of a copy of this checkout; and environments into which the wheel is installed."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from streaming import __version__
from streaming.cli.command_table import COMMANDS

ROOT = Path(__file__).parents[1]
FILES = (
    ".gitignore",
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "README.zh-CN.md",
    "CHANGELOG.md",
    "LICENSE",
    "NOTICE",
    "requirements.txt",
)
FOLDERS = ("streaming", "schemas", "conf", "deploy", "docs", "scripts")
SUPPORTED = ("3.11", "3.12", "3.13")


OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # nothing of this checkout


def pythons() -> list[str]:
    """A Python of each supported version that this machine has, on the path or among those of pyenv."""
    return [python for version in SUPPORTED for python in _working(version)[:1]]


def _working(version: str) -> list[str]:
    found = shutil.which(f"python{version}")
    if found is None:
        return []
    of_pyenv = sorted(map(str, Path(found).parents[1].glob(f"versions/{version}.*/bin/python3")))
    asked = [(python, [python, "-c", "import ensurepip, venv"]) for python in (found, *of_pyenv)]
    return [python for python, words in asked if subprocess.run(words, capture_output=True).returncode == 0]


def built(folder: Path) -> Path:
    """The folder of what ``scripts/package`` builds. The copy, which is one commit, is in ``folder``."""
    for file in FILES:
        shutil.copy(ROOT / file, folder)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".venv").symlink_to(sys.prefix)
    make_repository(folder)
    done = package(folder)
    assert done.returncode == 0, done.stderr
    return folder / "dist"


def package(checkout: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["scripts/package"], cwd=checkout, capture_output=True, text=True)


def make_repository(folder: Path) -> str:
    """Make all files of a folder a commit, and return it."""
    for words in (
        ["init"],
        ["add", "--all"],
        ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "--message", "x"],
    ):
        git(folder, *words)
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def wheel_in(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def sdist_in(dist: Path) -> Path:
    (sdist,) = dist.glob("*.tar.gz")
    return sdist


def environment(folder: Path, python: str) -> Path:
    """The Python of a fresh environment."""
    subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)
    return folder / "bin" / "python"


def pip(python: Path, *words: str | Path) -> None:
    done = subprocess.run([python, "-m", "pip", *words], capture_output=True, text=True, env=OUTSIDE)
    assert done.returncode == 0, done.stdout + done.stderr


def with_packages_of_this_one(python: Path) -> None:
    """Let the environment find what is installed beside pytest. Only what lies there itself: not this checkout."""
    (packages,) = python.parents[1].glob("lib/python3.*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")


def try_installed(python: Path, folder: Path) -> None:
    """Every command answers, the first configuration is accepted, and there are docs and the files to begin with."""
    assert re.fullmatch(said_version(r"[0-9a-f]{12}"), installed(python, "--version", cwd=folder).stdout)
    for command in COMMANDS:
        done = installed(python, command, "--help", cwd=folder)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert COMMANDS[command].example in done.stdout
    first = installed(python, "config", "init", cwd=folder).stdout
    checked = installed(python, "config", "check", "-", cwd=folder, given=first)
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, "ok")
    assert installed(python, "config", "export", "files", cwd=folder).returncode == 0
    exported = {path.relative_to(folder / "files") for path in (folder / "files").rglob("*")}
    units = {Path("systemd"), *(Path("systemd", path.name) for path in (ROOT / "deploy" / "systemd").iterdir())}
    assert exported == {path.relative_to(ROOT / "conf") for path in (ROOT / "conf").rglob("*")} | units
    docs = Path(installed(python, "--help", cwd=folder).stdout.splitlines()[-1].removeprefix("The folder docs/: "))
    assert docs.is_relative_to(python.parents[1])
    assert (docs / "findings.md").is_file()
    recording = docs.parent / "demo" / "recordings" / "d_sameid.jsonl.gz"
    replayed = installed(python, "replay", str(recording), "--engine", "core", cwd=folder)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert "SAME_CLIENT_ID" in replayed.stdout
    assert "#compdef" in installed(python, "completion", "zsh", cwd=folder).stdout


def said_version(commit: str) -> str:
    """A regular expression: what ``--version`` prints, the lines of the packages included."""
    return rf"evenkeel {re.escape(__version__)} \(commit {commit}\)\n(.+\n)+"


def installed(python: Path, *words: str, cwd: Path, given: str = "") -> "subprocess.CompletedProcess[str]":
    """A run of the installed ``evenkeel``, which sees nothing of this checkout."""
    command = [python.parent / "evenkeel", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=OUTSIDE, input=given)
