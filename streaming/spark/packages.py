"""The jars that Spark needs beside its own: Delta and the Kafka connector, as new as the installed pyspark."""

from importlib.metadata import version
from pathlib import Path

from streaming.jvm.jars import fetch

SCALA = "2.13"
SHIPPED_WITH_SPARK = ("org.scala-lang", "org.apache.hadoop")


def spark_packages() -> list[str]:
    """Coordinates, as `spark.jars.packages` and `spark-submit --packages` take them."""
    return [
        f"io.delta:delta-spark_{SCALA}:{version('delta-spark')}",
        f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{version('pyspark')}",
    ]


def spark_jars() -> list[Path]:
    """The same as files for `spark.jars`: a session then starts without Ivy's resolution, messages and network."""
    return fetch(spark_packages(), exclude=SHIPPED_WITH_SPARK)
