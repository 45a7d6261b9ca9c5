"""Example queries for the tables that the demo leaves: lines to paste into a shell, with and without Spark."""

import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

# The table is read whole first. A printed result reads only a part of a dataset, and threads that read ahead while
# Python ends can abort the process ("terminate called without an active exception").
DUCKDB = """{python} - <<'EOF'
import duckdb
from deltalake import DeltaTable

alerts = DeltaTable({alerts!r}).to_pyarrow_table()
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


def example_queries(tables: Path) -> str:
    """Both queries, each with a short explanation."""
    missing = "" if find_spec("duckdb") else " (first: pip install duckdb)"
    python = quote(sys.executable)
    by_duckdb = DUCKDB.format(python=python, alerts=str(tables / "alerts"))
    by_spark = SPARK.format(python=python, queues=str(tables / "queue_assignments"))
    return (
        f"Every alert transition, by DuckDB{missing}:\n\n{by_duckdb}\n\n"
        f"Every queue that is not as it should be, by Spark:\n\n{by_spark}\n"
    )
