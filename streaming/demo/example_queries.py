"""Example queries for the tables that the demo leaves: lines to paste into a shell, with and without Spark."""

import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

DUCKDB = """{python} - <<'EOF'
import duckdb
from deltalake import DeltaTable

alerts = DeltaTable({alerts!r}).to_pyarrow_dataset()
print(duckdb.sql("SELECT ts, consumer_group, topic, kind, state, cause FROM alerts ORDER BY ts, consumer_group, seq"))
EOF"""
SPARK = """{python} - <<'EOF'
from streaming.spark.session import build_session

spark = build_session()
queues = spark.read.format("delta").load({queues!r})
queues.where("finding != 'MATCH'").select(
    "consumer_group", "topic", "broker_name", "queue_id", "finding", "cause", "actual_owners", "since_time"
).orderBy("consumer_group", "topic", "broker_name", "queue_id").show(50, truncate=False)
EOF"""


def duckdb_query(tables: Path) -> str:
    """The query for every alert transition, without a JVM."""
    return DUCKDB.format(python=quote(sys.executable), alerts=str(tables / "alerts"))


def spark_query(tables: Path) -> str:
    """The query for every queue with a finding now, by Spark."""
    return SPARK.format(python=quote(sys.executable), queues=str(tables / "queue_assignments"))


def example_queries(tables: Path) -> str:
    """Both queries, each with a short explanation."""
    missing = "" if find_spec("duckdb") else " (first: pip install duckdb)"
    return (
        f"Every alert transition, by DuckDB{missing}:\n\n{duckdb_query(tables)}\n\n"
        f"Every queue that is not as it should be, by Spark:\n\n{spark_query(tables)}\n"
    )
