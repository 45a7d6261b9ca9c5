"""Print the versions of evenkeel and of what it runs on: put them into a report of a fault."""

import argparse
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from streaming import __version__

PACKAGES = ("pyspark", "delta-spark", "deltalake", "pandas", "pyarrow", "msgspec", "pydantic")


def run(arguments: argparse.Namespace) -> int:
    for line in lines():
        print(line)
    return 0


def lines() -> Iterator[str]:
    yield f"evenkeel {__version__}"
    for package in PACKAGES:
        yield f"{package} {_version_of(package)}"
    yield f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"
