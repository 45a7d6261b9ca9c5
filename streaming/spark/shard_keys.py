"""The shard of each record, and the key with which Spark's shuffle spreads the shards evenly.

How many there are stands in the table ``[job]`` of ``config/sections``.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def with_shard_keys(arrived: DataFrame, keys: Sequence[int]) -> DataFrame:
    """Give each row its shard and the shard's key; drop the columns that were needed to find them."""
    shard = F.pmod(F.xxhash64("shard_by"), F.lit(len(keys))).cast("int")
    shard_key = F.element_at(F.array(*map(F.lit, keys)), F.col("shard") + 1)
    return arrived.withColumn("shard", shard).withColumn("shard_key", shard_key).drop("shard_by")


def shard_keys(spark: SparkSession, shards: int, partitions: int) -> list[int]:
    """A key for each shard: a number that Spark's hash sends to partition ``shard % partitions``.

    With the plain numbers as keys, one partition of two got 20 of 32 shards.
    """
    candidates = spark.range(64 * partitions + 64 * shards).select(
        F.col("id").cast("int"), F.pmod(F.hash(F.col("id").cast("int")), F.lit(partitions)).alias("partition")
    )
    waiting: dict[int, list[int]] = {}
    for number, partition in candidates.collect():
        waiting.setdefault(partition, []).append(number)
    return [waiting[shard % partitions][shard // partitions] for shard in range(shards)]
