"""Print the versions of evenkeel and of what it runs on: put them into a report of a fault."""

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version

from streaming import __version__

PACKAGES = ("pyspark", "delta-spark", "deltalake", "pandas", "pyarrow", "msgspec", "pydantic")


def run(arguments: argparse.Namespace) -> int:
    print(f"evenkeel {__version__}")
    for package in PACKAGES:
        print(f"{package} {_version_of(package)}")
    print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    return 0


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"
