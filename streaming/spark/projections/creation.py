"""Delta tables from their plain definitions, comments included."""

from collections.abc import Iterable

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from schemas.table import Column, Table
from schemas.tables import TABLES


def create_tables(spark: SparkSession, tables: str, wanted: Iterable[Table] = TABLES) -> None:
    """Those that are not there yet; columns that an older evenkeel did not know are added."""
    for table in wanted:
        create_table(spark, f"{tables}/{table.name}", table)


def create_table(spark: SparkSession, path: str, table: Table) -> None:
    if not DeltaTable.isDeltaTable(spark, path):
        spark.sql(create_statement(path, table))
        return
    known = {field.name for field in spark.read.format("delta").load(path).schema}
    if missing := [column for column in table.columns if column.name not in known]:
        spark.sql(f"ALTER TABLE {sql_name(path)} ADD COLUMNS ({', '.join(map(_column, missing))})")


def create_statement(path: str, table: Table) -> str:
    """``IF NOT EXISTS``, since two queries may start at once."""
    parts = f" PARTITIONED BY ({', '.join(table.partitioned_by)})" if table.partitioned_by else ""
    properties = ", ".join(f"{_literal(key)} = {_literal(value)}" for key, value in table.properties.items())
    return (
        f"CREATE TABLE IF NOT EXISTS {sql_name(path)} ({', '.join(map(_column, table.columns))}) USING delta"
        f"{parts} COMMENT {_literal(table.comment)} TBLPROPERTIES ({properties})"
    )


def sql_name(path: str) -> str:
    """A table's path where SQL wants its name."""
    return f"delta.`{path.replace('`', '``')}`"


def _column(column: Column) -> str:
    return f"`{column.name}` {column.type} COMMENT {_literal(column.comment)}"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
