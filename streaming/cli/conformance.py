"""Recompute the answers of RocketMQ's own strategy classes: 0 if all are equal, 1 if any differs."""

import argparse
import sys
from pathlib import Path

from streaming.conformance import run_conformance
from streaming.progress import waiting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="vectors, one JSON case a line, also compressed")


def run(arguments: argparse.Namespace) -> int:
    with waiting(f"Computing the cases of {arguments.file}"):
        return run_conformance(arguments.file, sys.stdout)
