"""``evenkeel rebuild``: every projection made again from ``facts``."""

from pyspark.sql import SparkSession

from schemas.tables import PROJECTIONS
from streaming.spark.projections import run_projections


def rebuild(spark: SparkSession, tables: str) -> dict[str, int]:
    """Rows of each table afterwards. Raises CheckpointError while another process writes the projections.

    Rows whose facts have expired can't be made again and stay as they are.
    """
    run_projections(spark, tables, afresh=True)
    return {table.name: spark.read.format("delta").load(f"{tables}/{table.name}").count() for table in PROJECTIONS}
