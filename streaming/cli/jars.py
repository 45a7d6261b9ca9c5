"""Fetch the jars that Spark needs, and those of the demo's Kafka: now, so that no later start waits for them.

With --to they go into a folder for [spark] jars_folder, also on another machine, which needs no network then. If a
fetch is interrupted, the next one continues with the jars that have come.
"""

import argparse
from pathlib import Path

from streaming.cli.exit_status import DONE
from streaming.errors import OutputError
from streaming.jvm.jars import cache_dir
from streaming.jvm.pins import all_pinned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    fetch = actions.add_parser("fetch", help="fetch what is missing, and compare the checksums of all")
    fetch.add_argument(
        "--to", type=Path, metavar="DIR", help="a folder for them and their checksums; without it, the cache"
    )


def run(arguments: argparse.Namespace) -> int:
    """0. Raises AwayError if jars cannot be fetched now, SetupError if one has another checksum than the known one."""
    from streaming.loopback.kafka import kafka_jars
    from streaming.spark.packages import spark_jars

    folder = arguments.to
    count = len(spark_jars(to=folder)) + len(kafka_jars(to=folder))
    if folder is not None:
        _write_checksums(folder / "jars.sha256")
    print(f"{count} jars are in {folder or cache_dir() / 'jars'}; their checksums are right")
    return DONE


def _write_checksums(path: Path) -> None:
    """Write the checksums, for ``sha256sum -c`` in the same folder."""
    lines = [f"{jar.sha256}  {name}/{jar.file}\n" for name, jars in all_pinned().items() for jar in jars]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
