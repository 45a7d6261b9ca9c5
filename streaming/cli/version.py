"""The versions of evenkeel and of what it runs on: ``evenkeel --version``, and a report of a fault."""

import platform
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from streaming import __version__

HERE = Path(__file__).parents[1]
BUILT_OF = "commit.txt"  # what ``commit`` said when scripts/package built this
CHANGED = " with uncommitted changes"
GIT_ANSWERS_WITHIN_S = 10

PACKAGES = ("pyspark", "delta-spark", "deltalake", "pandas", "pyarrow", "msgspec", "pydantic")


def lines() -> Iterator[str]:
    yield evenkeel()
    for package in PACKAGES:
        yield f"{package} {_version_of(package)}"
    yield f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"


def evenkeel() -> str:
    """Which evenkeel this is: its version, and the commit of its code."""
    return f"evenkeel {__version__} ({commit()})"


def commit(package: Path = HERE) -> str:
    """The commit of this code, in words. git knows that of a checkout; scripts/package wrote it into a wheel."""
    if (package.parent / ".git").exists():
        return _commit_of_checkout(package.parent)
    try:
        return (package / BUILT_OF).read_text().strip()
    except OSError:
        return "commit unknown: neither a checkout nor built by make package"


def _commit_of_checkout(checkout: Path) -> str:
    words = ["git", "--no-optional-locks", "describe", "--always", "--exclude=*", "--abbrev=12", f"--dirty={CHANGED}"]
    try:
        asked = subprocess.run(words, cwd=checkout, capture_output=True, text=True, timeout=GIT_ANSWERS_WITHIN_S)
    except FileNotFoundError:
        return "commit unknown: git is not installed"
    except subprocess.TimeoutExpired:
        return f"commit unknown: git does not answer within {GIT_ANSWERS_WITHIN_S} s"
    if asked.returncode != 0:
        return f"commit unknown: git says {' '.join(asked.stderr.split())}"
    return f"commit {asked.stdout.strip()}"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"
