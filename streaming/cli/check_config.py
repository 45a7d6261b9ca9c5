"""Read a configuration as every command would, and name every fault of it, or say what is in effect."""

import argparse
from pathlib import Path

from streaming.cli.exit_status import REFUSED
from streaming.config import ConfigFaults, faults_of_alerts, load_alerts, read_config
from streaming.config.effect import differences, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="without it, the environment alone")


def run(arguments: argparse.Namespace) -> int:
    """0 if it is accepted, with the alert rules that it names; else 2, and a line for each fault of both."""
    try:
        loaded = read_config(arguments.file)
        load_alerts(loaded.config)
    except ConfigFaults as refused:
        print(refused)
        for fault in faults_of_alerts(refused.rest):
            print(fault)
        return REFUSED
    print("ok")
    print("\nOther than the defaults:")
    for line in list(differences(loaded)) or ["nothing"]:
        print(f"  {line}")
    print("\nIn effect:")
    for line in summary(loaded.config):
        print(f"  {line}")
    return 0
