#!/usr/bin/env python3
"""Write the SHA-256 of every jar again, after a version was changed: .venv/bin/python scripts/pin_jars.py

All are fetched afresh, whatever the cache holds. Before you commit, compare what has changed with what publishers say.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from streaming.jvm.jars import CHECKSUMS, checksum, download, set_name
from streaming.loopback import kafka
from streaming.spark.packages import SHIPPED_WITH_SPARK, spark_packages

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.real import jars as rocketmq_jars  # noqa: E402
from tests.stores import jars as store_jars  # noqa: E402

HEAD = "# SHA-256 of the jars that are fetched: scripts/pin_jars.py writes this file.\n"


def pinned(coordinates: Sequence[str], exclude: Sequence[str] = ()) -> str:
    """The lines of one set of jars."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, set_name(coordinates))
        download(coordinates, exclude, folder, expected=None)
        return "".join(f"{checksum(jar)}  {folder.name}/{jar.name}\n" for jar in sorted(folder.glob("*.jar")))


def write(path: Path, *lines: str) -> None:
    path.write_text("".join([HEAD, *lines]))
    print(f"written: {path.relative_to(ROOT)}")


write(CHECKSUMS, pinned(spark_packages(), SHIPPED_WITH_SPARK), pinned(kafka.COORDINATES))
versions = (rocketmq_jars.OLD_LINE, rocketmq_jars.NEWEST)
of_rocketmq = [*map(rocketmq_jars.rocketmq_coordinates, versions), rocketmq_jars.PROXY, rocketmq_jars.GRPC_CLIENT]
write(rocketmq_jars.CHECKSUMS, *map(pinned, of_rocketmq))
write(store_jars.CHECKSUMS, pinned(store_jars.COORDINATES))
