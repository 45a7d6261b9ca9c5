#!/usr/bin/env python3
"""Pin every jar again, after a version was changed: .venv/bin/python scripts/pin_jars.py

It writes the coordinates and the SHA-256 of each. All are fetched afresh, whatever the cache holds. Before you commit,
compare what has changed with what publishers say.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from streaming.jvm import ivy
from streaming.jvm.jars import checksum
from streaming.jvm.pins import PINS, set_name
from streaming.loopback import kafka
from streaming.spark.packages import spark_packages

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from testing.rocketmq import jars as rocketmq_jars  # noqa: E402
from testing.stores import jars as store_jars  # noqa: E402

SHIPPED_WITH_SPARK = ("org.scala-lang", "org.apache.hadoop", "org.slf4j", "org.xerial.snappy", "com.github.luben")
HEAD = "# The SHA-256 of the jars that are fetched: scripts/pin_jars.py writes this file.\n"


def pinned(coordinates: Sequence[str], exclude: Sequence[str] = ()) -> str:
    """The table of one set of jars: all that the coordinates need, less the excluded groups."""
    wanted = "".join(
        '<dependency org="{}" name="{}" rev="{}" conf="default->default"/>'.format(*c.split(":")) for c in coordinates
    )
    unwanted = "".join(f'<exclude org="{group}"/>' for group in exclude)
    with tempfile.TemporaryDirectory() as scratch:
        jars = ivy.retrieve(wanted + unwanted, Path(scratch))
        lines = sorted(f'"{coordinates_of(jar)}" = "{checksum(jar)}"\n' for jar in jars)
    return "".join([f'\n["{set_name(coordinates)}"]\n', *lines])


def coordinates_of(jar: Path) -> str:
    """Those of a jar in a folder that is laid out as a repository."""
    group, artifact, version = jar.parts[-4:-1]
    classifier = jar.stem.removeprefix(f"{artifact}-{version}").removeprefix("-")
    return ":".join(filter(None, [group, artifact, version, classifier]))


def write(path: Path, *tables: str) -> None:
    path.write_text("".join([HEAD, *tables]))
    print(f"written: {path.relative_to(ROOT)}")


write(PINS, pinned(spark_packages(), SHIPPED_WITH_SPARK), pinned(kafka.COORDINATES))
versions = (rocketmq_jars.OLD_LINE, rocketmq_jars.NEWEST)
of_rocketmq = [*map(rocketmq_jars.rocketmq_coordinates, versions), rocketmq_jars.PROXY, rocketmq_jars.GRPC_CLIENT]
write(rocketmq_jars.PINS, *map(pinned, of_rocketmq))
write(store_jars.PINS, pinned(store_jars.COORDINATES))
