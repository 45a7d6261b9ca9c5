"""Play a recording or a file of events to its end, and say what would have been paged."""

import argparse
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from streaming.cli.options import readable
from streaming.config.load import load_config
from streaming.progress import Progress
from streaming.replay.alert_transitions import as_json, details, headline
from streaming.replay.core_engine import Outcome, run_core
from streaming.replay.input_file import Counts, open_input
from streaming.replay.recording import DEFAULT_CLUSTER
from streaming.snapshots.group_tables import ALERT_STYLES
from streaming.wording.names import plain, plain_lines
from streaming.wording.numbers import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=readable, metavar="FILE", help="JSON lines, also compressed with gzip; - is standard input"
    )
    parser.add_argument(
        "--tables", type=Path, metavar="DIR", help="where to make the tables (default: data/replay/NAME)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object for each alert transition, nothing else")
    parser.add_argument(
        "--engine", choices=("spark", "core"), default="spark", help="core: the same alerts without Spark and tables"
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay, print, and return 0. Raises MonitorError for a file or configuration that is refused."""
    config = load_config(arguments.config, writes=())
    progress = Progress()

    def warn(text: str) -> None:
        progress.clear()
        say(text)

    source = open_input(arguments.file, warn, DEFAULT_CLUSTER)

    def show(outcome: Outcome) -> None:
        (_print_json if arguments.json else _print_words)(outcome, source.counts)

    if arguments.engine == "core":
        if arguments.tables is not None:
            say("--tables is of no use with --engine core, which makes none")
        with progress:
            outcome = run_core(source.records, config.settings(), progress.count)
        show(outcome)
        return 0
    from streaming.replay.spark_engine import run_spark  # importing Spark takes a second that --engine core need not

    name = arguments.file.name.split(".", 1)[0] or "replay"
    tables = arguments.tables or Path("data", "replay", name)
    run_spark(source.records, config, tables, say, show)
    if not arguments.json:
        print(f"Tables: {tables}")
    return 0


def say(text: str) -> None:
    """Print a warning or the progress to standard error, so that standard output has only results."""
    print(plain_lines(text), file=sys.stderr, flush=True)


def _print_json(outcome: Outcome, counts: Counts) -> None:
    for transition in outcome.transitions:
        sys.stdout.write(msgspec.json.encode(as_json(transition, counts.first_ts or 0)).decode() + "\n")
    sys.stdout.flush()


def _print_words(outcome: Outcome, counts: Counts) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for transition in outcome.transitions:
        at_s = (transition.fact.ts - (counts.first_ts or 0)) / 1000
        console.print(Text(f"{at_s:8.1f} s  {plain(headline(transition))}", style=ALERT_STYLES[transition.alert.state]))
        for line in details(transition):
            console.print(Text(" " * 12 + plain(line)))
    console.print(Text(summary(outcome, counts)))


def summary(outcome: Outcome, counts: Counts) -> str:
    last = {transition.alert.fingerprint: transition.alert.state for transition in outcome.transitions}
    fired = {t.alert.fingerprint for t in outcome.transitions if t.alert.state == "firing"}
    still = sum(last[fingerprint] == "firing" for fingerprint in fired)
    parts = [
        f"{counted(counts.rounds, 'round')} and {counted(counts.events, 'event')}"
        f" of {counted(outcome.groups, 'group')}",
        f"{counted(outcome.quarantined, 'record')} quarantined",
        f"{counted(len(fired), 'alert')} fired, {still} of them still firing at the end",
    ]
    if outcome.failed_evaluations:
        parts.append(f"evaluation failed {counted(outcome.failed_evaluations, 'time')}: this is evenkeel's own fault")
    return "; ".join(parts)
