"""One batch of facts into every table. Done twice, or in another order, it leaves the same rows.

An append is skipped by Delta when its batch number has been seen under its application's id. A MERGE needs no such
id, which would have to go through the session's configuration and could leak into other writes: it applies only
a larger ``seq``, so that a second time nothing is larger.
"""

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.table import Table
from schemas.tables import CURRENT, HISTORY, PROJECTIONS
from streaming.spark.projections.columns import makes_row, rows_of
from streaming.spark.projections.conflicts import retried

ROWS_A_FILE = 250_000


def project(facts: DataFrame, batch_id: int, *, tables: str, identity: str) -> None:
    """Write what these facts make; ``identity`` names the checkpoint that numbers the batches."""
    rows = _count(facts)
    for table in HISTORY:
        if rows[table.name]:
            _append(rows_of(table, facts), table, f"{tables}/{table.name}", rows[table.name], (identity, batch_id))
    for table in CURRENT:
        if rows[table.name]:
            merge(newest(rows_of(table, facts), table), table, f"{tables}/{table.name}")


def _count(facts: DataFrame) -> dict[str, int]:
    """Rows to come in each table. To look first is cheaper than to write nothing into tables."""
    counted = facts.agg(*(F.count_if(makes_row(table)).alias(table.name) for table in PROJECTIONS)).collect()
    return dict(counted[0].asDict())


def _append(rows: DataFrame, table: Table, path: str, count: int, batch: tuple[str, int]) -> None:
    identity, batch_id = batch
    (
        rows.coalesce(1 + count // ROWS_A_FILE)
        .write.format("delta")
        .mode("append")
        .option("txnAppId", f"{identity}/{table.name}")
        .option("txnVersion", batch_id)
        .save(path)
    )


def newest(rows: DataFrame, table: Table) -> DataFrame:
    """One row a key: that with the largest ``seq``."""
    whole = F.struct(*(column.name for column in table.columns))
    return rows.groupBy(*table.merge_keys).agg(F.max_by(whole, "seq").alias("row")).select("row.*")


def merge(rows: DataFrame, table: Table, path: str) -> None:
    """Apply rows, one a key, where their ``seq`` is larger than what is there."""
    same_key = " AND ".join(f"t.{key} = s.{key}" for key in table.merge_keys)
    into = DeltaTable.forPath(rows.sparkSession, path).alias("t").merge(rows.alias("s"), same_key)
    whole = into.whenMatchedUpdateAll("s.seq > t.seq").whenNotMatchedInsertAll()
    retried(whole.execute)
