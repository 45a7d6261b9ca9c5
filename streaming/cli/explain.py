"""What was known of a group at a time, and why it alerted or not: members, views, owners, findings, reasons.

It reads the tables alone: no Spark, no Kafka, no RocketMQ.
"""

import argparse
from datetime import UTC, datetime

from streaming.cli.configuration import configured
from streaming.errors import SourceError
from streaming.explain.group_text import lines_of
from streaming.explain.read_facts import read_group, read_monitor
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.explain.times import parse_moment
from streaming.progress import waiting
from streaming.snapshots.screen import json_line, show
from streaming.wording.names import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="the consumer group")
    parser.add_argument("--cluster", metavar="C", help="its cluster, where several have a group of that name")
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="as in 2026-11-21T16:58:03 (this machine's time zone, if it names none) or 30m ago, as in 30m; "
        "without it, the newest that is known",
    )
    parser.add_argument("--tables", metavar="DIR", help="the folder of the tables; without it, the configuration's")
    parser.add_argument("--json", action="store_true", help="one JSON object (docs/explain.md has the keys)")


def run(arguments: argparse.Namespace) -> int:
    """0. Raises MonitorError for a time, table or group that there is none of: for all of them at once."""
    config = configured(arguments, writes=())
    tables = arguments.tables or config.tables.path
    at, faults = None, []
    try:
        at = parse_moment(arguments.at, datetime.now(UTC)) if arguments.at else None
    except SourceError as error:
        faults.append(f"group {plain(arguments.group)}: {error}")
    try:
        with waiting(f"Reading {tables}"):
            facts = read_group(tables, arguments.group, arguments.cluster, at and at.ts)
    except SourceError as error:
        faults.append(str(error))
    if faults:
        raise SourceError("\n".join(faults))
    with waiting(f"Reading {tables}"):
        monitor = read_monitor(tables, facts[0].cluster, at and at.ts)
    group = snapshot_of(facts, at and at.ts, monitor)
    if arguments.json:
        print(json_line(group))
    else:
        show(lambda width: lines_of(group, width, at and at.zone))
    return 0
