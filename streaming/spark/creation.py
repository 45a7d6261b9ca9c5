"""Creates ``facts``, which Spark alone writes, and adds the columns that an older evenkeel did not know."""

from collections.abc import Iterator

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, StructType

from schemas.table_definition import Column, Table
from streaming.tables.creation import delta_properties


def create_table(spark: SparkSession, path: str, table: Table) -> None:
    if not DeltaTable.isDeltaTable(spark, path):
        spark.sql(create_statement(path, table))
        return
    known = spark.read.format("delta").load(path).schema
    wanted = _schema(spark, table)
    missing = [_column(column) for column in table.columns if column.name not in known.names]
    for name in set(known.names) & set(wanted.names):
        missing += _missing_fields(known[name].dataType, wanted[name].dataType, f"`{name}`")
    if missing:
        spark.sql(f"ALTER TABLE {sql_name(path)} ADD COLUMNS ({', '.join(missing)})")


def _schema(spark: SparkSession, table: Table) -> StructType:
    nulls = ", ".join(f"CAST(NULL AS {column.type}) AS `{column.name}`" for column in table.columns)
    return spark.sql(f"SELECT {nulls}").schema


def _missing_fields(known: DataType, wanted: DataType, name: str) -> Iterator[str]:
    """Fields that structs within ``name`` lack, as ``ADD COLUMNS`` wants them."""
    if isinstance(known, ArrayType) and isinstance(wanted, ArrayType):
        yield from _missing_fields(known.elementType, wanted.elementType, f"{name}.element")
    elif isinstance(known, StructType) and isinstance(wanted, StructType):
        for field in wanted:
            inner = f"{name}.`{field.name}`"
            if field.name in known.names:
                yield from _missing_fields(known[field.name].dataType, field.dataType, inner)
            else:
                yield f"{inner} {field.dataType.simpleString()}"


def create_statement(path: str, table: Table) -> str:
    """``IF NOT EXISTS``, since two queries may start at once."""
    parts = f" PARTITIONED BY ({', '.join(table.partitioned_by)})" if table.partitioned_by else ""
    properties = ", ".join(f"{_literal(key)} = {_literal(value)}" for key, value in delta_properties(table).items())
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
