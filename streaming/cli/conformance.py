"""Recompute the answers of RocketMQ's own strategy classes: 0 if all are equal, 1 if any differs."""

import argparse
import sys
from pathlib import Path

from streaming.cli.arguments import Commands
from streaming.conformance import run_conformance


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("conformance", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="vectors, one JSON case a line, also compressed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return run_conformance(arguments.file, sys.stdout)
