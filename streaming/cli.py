"""The command line."""

import argparse
from collections.abc import Sequence
from importlib.metadata import version


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="evenkeel", description=__doc__)
    parser.add_argument("--version", action="version", version=f"evenkeel {version('evenkeel')}")
    parser.parse_args(argv)
    parser.print_help()
    return 0
