"""The jars with which Spark reaches S3: 559 MB, so they are fetched by hand: ``python -m testing.stores.jars``."""

from pathlib import Path

from streaming.jvm.jars import cache_dir, fetch
from streaming.jvm.pins import set_name

COORDINATES = ("org.apache.hadoop:hadoop-aws:3.4.1",)  # as docs/configuration.md names it
PINS = Path(__file__).with_name("jars.toml")


def missing_jars() -> str:
    """What to do where they were not fetched; empty where they were."""
    there = (cache_dir() / "jars" / set_name(COORDINATES)).is_dir()
    return "" if there else "no jars of hadoop-aws: python -m testing.stores.jars fetches them, 559 MB"


def hadoop_aws_jars() -> list[Path]:
    return fetch(COORDINATES, pins=PINS)


if __name__ == "__main__":
    for jar in hadoop_aws_jars():
        print(jar)
