"""Recompute the answers of RocketMQ's own strategy classes: 0 if all are equal, 1 if any differs."""

import argparse
import sys

from streaming.cli.options import readable
from streaming.conformance import run_conformance
from streaming.progress import waiting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=readable,
        metavar="FILE",
        help="vectors, one JSON case a line, also compressed; - is standard input",
    )


def run(arguments: argparse.Namespace) -> int:
    with waiting(f"Computing the cases of {arguments.file}"):
        return run_conformance(arguments.file, sys.stdout)
