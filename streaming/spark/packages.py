"""The jars that Spark needs beside its own: Delta and the Kafka connector, as new as the installed pyspark."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from streaming.jvm.jars import fetch, kept_in

SCALA = "2.13"
KAFKA = "3.9.2"  # newer than what the connector asks for: 3.9.0 and its lz4-java 1.8.0 have known vulnerabilities


def spark_packages() -> list[str]:
    """Coordinates, as `spark.jars.packages` and `spark-submit --packages` take them."""
    return [
        f"io.delta:delta-spark_{SCALA}:{version('delta-spark')}",
        f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{version('pyspark')}",
        f"org.apache.kafka:kafka-clients:{KAFKA}",
    ]


def newer_lz4(jars: Sequence[Path]) -> Path:
    """The lz4 jar that must stand before Spark's own lz4-java 1.8.0, because Java takes the first that it finds."""
    return next(jar for jar in jars if jar.name.startswith("lz4-java-"))


def spark_jars(jars_folder: str = "", to: Path | None = None) -> list[Path]:
    """The packages as files for `spark.jars`. A session then starts without Ivy and without the network.

    They are those of ``jars_folder``, if it is given. Else they are fetched once, into ``to`` or the cache.
    """
    if jars_folder:
        return kept_in(Path(jars_folder), spark_packages())
    return fetch(spark_packages(), to=to)
