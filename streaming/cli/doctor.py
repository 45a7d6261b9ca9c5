"""Look at everything that evenkeel needs: before it is installed, after that, and when something is odd.

Each thing is fine, wrong (with the command that mends it) or unknown (with the reason). Nothing is written, but with
--contend and --bundle. It takes 30 s at most, and ends with 1 if something is wrong.
"""

import argparse
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from streaming import __version__
from streaming.cli import version
from streaming.cli.configuration import configured_with_alerts
from streaming.cli.exit_status import DONE, NOT_RIGHT
from streaming.config.alerts import Alerts
from streaming.config.sections import Config
from streaming.doctor.areas import areas
from streaming.doctor.checks import PROCESSES, Report
from streaming.doctor.examination import TOTAL_S, examined
from streaming.doctor.text import lines
from streaming.progress import waiting

WIDTH = 160  # of the report in a bundle
CLIENTS = ("kafka", "streaming.collector", "asyncio")  # loggers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="processes",
        action="append",
        choices=PROCESSES,
        help="only what this process needs, on a machine where not all run; may be repeated",
    )
    parser.add_argument("--page", action="store_true", help="also send a test page and its end through every sink")
    parser.add_argument(
        "--contend",
        action="store_true",
        help="also let 16 writers write one trial file at once in each object store: does it keep conditional writes?",
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="FILE",
        help="also write a .tar.gz for a report of a fault: this report, the configuration, versions, newest rows, "
        "logs; without secrets",
    )
    parser.add_argument(
        "--log", type=Path, action="append", default=[], metavar="FILE", help="a log whose end goes into the bundle"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object (docs/doctor.md has the keys)")


def run(arguments: argparse.Namespace) -> int:
    """0 if nothing is wrong, 1 if something is. Raises ConfigError for a configuration that is refused, and OutputError
    for a bundle that cannot be written.
    """
    config, alerts = configured_with_alerts(arguments, writes=())
    processes = frozenset(arguments.processes or PROCESSES)
    if arguments.bundle is not None:
        from streaming.doctor import bundle  # deltalake, which need not work for a report

        bundle.require_new(arguments.bundle)
    asked = {"sends_pages": arguments.page, "contends": arguments.contend, "file": arguments.config}
    wanted = list(areas(config, alerts, processes, **asked))
    with waiting(f"Looking at everything, for {TOTAL_S:g} s at most"), _clients_are_quiet():
        report = examined(__version__, wanted)
    _show(report, arguments.json)
    if arguments.bundle is not None:
        _write_bundle(arguments, config, alerts, report)
    return NOT_RIGHT if report.is_wrong else DONE


def _show(report: Report, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(report).decode())
    else:
        print("\n".join(lines(report, shutil.get_terminal_size().columns)))


def _write_bundle(arguments: argparse.Namespace, config: Config, alerts: Alerts, report: Report) -> None:
    from streaming.doctor import bundle

    ours = {
        "report.txt": "\n".join(lines(report, WIDTH)),
        "report.json": msgspec.json.encode(report).decode(),
        "versions.txt": "\n".join(version.lines()),
    }
    names = bundle.write(arguments.bundle, [*ours.items(), *bundle.texts(config, alerts, arguments.log, os.environ)])
    print(f"{arguments.bundle} has {', '.join(names)}: read them before you send them", file=sys.stderr)


@contextmanager
def _clients_are_quiet() -> Iterator[None]:
    """Keep the clients' logs quiet: the report says what did not answer."""
    before = {name: logging.getLogger(name).level for name in CLIENTS}
    for name in CLIENTS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
