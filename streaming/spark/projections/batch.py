"""One batch of facts into every table. Done twice, or in another order, it leaves the same rows.

An append notes its batch in Delta's log, and what is noted is not appended again. A MERGE needs no note: it applies
only a larger ``seq``, so that a second time nothing is larger.
"""

from collections.abc import Mapping

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.table_definition import Table
from schemas.tables import CURRENT, HISTORY, PROJECTIONS
from streaming.spark.projections.appended import note_of
from streaming.spark.projections.columns import makes_row, rows_of
from streaming.spark.projections.conflicts import retried

ROWS_A_FILE = 250_000


def project(facts: DataFrame, batch_id: int, *, tables: str, identity: str, done: Mapping[str, int]) -> None:
    """Write what these facts make; ``identity`` names the checkpoint that numbers the batches.

    ``done``: by table, the newest batch that it held when the stream began.
    """
    rows, note = _count(facts), note_of(identity, batch_id)
    for table in HISTORY:
        if rows[table.name] and batch_id > done.get(table.name, -1):
            _append(rows_of(table, facts), f"{tables}/{table.name}", rows[table.name], note)
    for table in CURRENT:
        if rows[table.name]:
            merge(newest(rows_of(table, facts), table), table, f"{tables}/{table.name}")


def _count(facts: DataFrame) -> dict[str, int]:
    """Rows to come in each table. To look first is cheaper than to write nothing into tables."""
    counted = facts.agg(*(F.count_if(makes_row(table)).alias(table.name) for table in PROJECTIONS)).collect()
    return dict(counted[0].asDict())


def _append(rows: DataFrame, path: str, count: int, note: str) -> None:
    writer = rows.coalesce(1 + count // ROWS_A_FILE).write.format("delta").mode("append").option("userMetadata", note)
    retried(lambda: writer.save(path))


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
