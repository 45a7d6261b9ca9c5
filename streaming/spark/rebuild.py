"""``evenkeel rebuild``: every projection made again from ``facts``."""

from pyspark.sql import SparkSession

from schemas.tables import PROJECTIONS
from streaming.spark.projections import run_projections
from streaming.spark.projections.query import Tell


def rebuild(spark: SparkSession, tables: str, tell: Tell | None = None) -> dict[str, int]:
    """Rows of each table afterwards. Raises CheckpointError while another process writes the projections.

    ``tell`` hears how many facts are read, and of how many. Rows whose facts have expired can't be made again and stay
    as they are.
    """
    run_projections(spark, tables, afresh=True, tell=tell)
    return {table.name: spark.read.format("delta").load(f"{tables}/{table.name}").count() for table in PROJECTIONS}
