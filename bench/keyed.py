"""The job with the consumer group as the operator's key, all else equal: the cost that shards avoid."""

import time

from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from bench.environment import PATIENCE_S, Environment, Trigger, tell, triggers_of
from streaming.spark.batches import Batches
from streaming.spark.checkpoint import open_checkpoint
from streaming.spark.facts import FactsTable
from streaming.spark.health import Health
from streaming.spark.job import Plan
from streaming.spark.job_counts import JobCounts
from streaming.spark.operator import OUTPUT_SCHEMA, STATE_SCHEMA, shard_operator
from streaming.spark.sources import name_of, read_source
from streaming.wall_clock import now_ms

QUERY = "keyed-by-group"
NOT_COUNTED = 2  # triggers: the first one is cold, and groups are new in the first two


def catch_up_keyed_by_group(environment: Environment, plan: Plan, triggers: int) -> list[Trigger]:
    """Read the topic from its beginning. Return the counted triggers."""
    query = _start(environment, plan)
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(seen := triggers_of(query)) < triggers + NOT_COUNTED:
            if not query.isActive:
                raise RuntimeError(f"the query keyed by group ended: {query.exception()}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(seen)} triggers in {PATIENCE_S} s")
            time.sleep(0.5)
    finally:
        query.stop()
    counted = seen[NOT_COUNTED : NOT_COUNTED + triggers]
    tell("the group as key", counted)
    return counted


def _start(environment: Environment, plan: Plan) -> StreamingQuery:
    """Start the query like ``streaming.spark.job``, with another key."""
    spark = environment.spark
    table = FactsTable(spark, plan.tables)
    checkpoint = open_checkpoint(
        spark, plan.checkpoint, name_of(plan.source), plan.shards, table.exists(), table.has_facts
    )
    table.create()
    spark.conf.set("spark.sql.shuffle.partitions", checkpoint.identity.state_partitions)
    batches = Batches(table, checkpoint, Health(None, {}, now_ms()), None, -1, now_ms, JobCounts())
    operated = (
        read_source(spark, plan.source)
        .withColumn("shard", F.lit(0))
        .groupBy("shard_by")
        .applyInPandasWithState(shard_operator(plan.settings), OUTPUT_SCHEMA, STATE_SCHEMA, "append", "NoTimeout")
    )
    return (
        operated.writeStream.queryName(QUERY)
        .outputMode("append")
        .option("checkpointLocation", checkpoint.uri)
        .foreachBatch(batches.write)
        .start()
    )
