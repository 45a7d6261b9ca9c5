"""Reads Kafka or a folder of files into rows of one shape: the columns of ``Record``, and each row's shard.

The source's keys, and the number of shards, stand in ``config/sections``.

Keys and values over the limit are cut here, before the shuffle, with a value's length and hash kept: whole, a few
thousand of them in one shard would exceed what one Arrow batch can hold, and would do so again after every restart.
"""

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas.records import MAX_KEY_BYTES, MAX_RECORD_BYTES, QUARANTINED_BYTES
from streaming.config.sections import Source
from streaming.core.shard import Record
from streaming.core.state.restore import SEED_TOPIC
from streaming.errors import SourceError


def reader_options(source: Source) -> dict[str, str]:
    """Options of Spark's Kafka source; those of the configuration win over what is set here.

    ``kafka_offsets`` finds and reports lost data, which must not end the query.
    """
    return {
        "kafka.bootstrap.servers": source.bootstrap_servers,
        "subscribe": source.topic,
        "startingOffsets": source.starting_offsets,
        "maxOffsetsPerTrigger": str(source.max_offsets_per_trigger),
        "failOnDataLoss": "false",
        "kafka.max.poll.records": "250",  # of 500, as by default, with a megabyte each, two tasks fill the heap
        # After each poll Spark asks for the topic's end over the same connection. There the consumer has just asked
        # for more, and the broker answers one request after the other: 500 ms for each partition, in every trigger.
        "kafka.fetch.max.wait.ms": "10",
        **source.kafka_options(),
    }


def name_of(source: Source) -> str:
    """The name of the source that a checkpoint keeps: the brokers may change, the topic or folder may not."""
    return f"topic {source.topic}" if source.kind == "kafka" else f"folder {source.folder}"


def read_source(spark: SparkSession, source: Source, seed_folder: str | None = None) -> DataFrame:
    """The source as an unkeyed stream; with a ``seed_folder``, its records go before all others."""
    arrived = _read_kafka(spark, source) if source.kind == "kafka" else _read_files(spark, source)
    if seed_folder is not None:
        arrived = arrived.unionByName(_read_seeds(spark, seed_folder))
    return arrived


def _read_kafka(spark: SparkSession, source: Source) -> DataFrame:
    return _rows(
        spark.readStream.format("kafka").options(**reader_options(source)).load(),
        shard_by=F.col("key"),
        key=F.col("key"),
        topic=F.col("topic"),
        offset=F.col("offset"),
        partition=F.col("partition"),
        arrival_ts=F.unix_millis("timestamp"),
    )


def _read_files(spark: SparkSession, source: Source) -> DataFrame:
    """The lines of the folder's files, which may be compressed. One without a readable ``seq`` goes first, under a
    negative number made from its content: Spark does not tell a line's position. Its shard is its file's."""
    try:
        lines = spark.readStream.format("text").load(source.folder).where("trim(value) != ''")
    except AnalysisException as error:
        raise SourceError(f"folder {source.folder} cannot be read: {str(error).splitlines()[0]}") from error
    parsed = lines.select(
        "value",
        F.col("_metadata.file_name").alias("file"),
        F.json_tuple(_first_event(), "cluster", "group", "seq").alias("cluster", "group", "seq"),
    )
    nameless = F.lit(-1) - F.pmod(F.xxhash64("value"), F.lit(1 << 52))
    return _rows(
        parsed,
        shard_by=F.coalesce(F.concat("cluster", F.lit("/"), "group"), F.col("file")).cast("binary"),
        key=F.lit(None),
        topic=F.col("file"),
        offset=F.coalesce(F.expr("try_cast(seq AS BIGINT)"), nameless),
    )


def _first_event() -> Column:
    """The first event of a line that is an array of events."""
    is_array = F.startswith(F.ltrim("value"), F.lit("["))
    return F.when(is_array, F.get_json_object("value", "$[0]")).otherwise(F.col("value"))


def _read_seeds(spark: SparkSession, folder: str) -> DataFrame:
    rows = spark.readStream.schema("key BINARY, value BINARY").parquet(folder)
    return _rows(rows, shard_by=F.col("key"), key=F.col("key"), topic=F.lit(SEED_TOPIC), offset=F.lit(0))


def _rows(
    stream: DataFrame,
    *,
    shard_by: Column,
    key: Column,
    topic: Column,
    offset: Column,
    partition: Column | None = None,
    arrival_ts: Column | None = None,
) -> DataFrame:
    """The columns of ``Record``, and ``shard_by``. Of a value that is too long: a cut, and the hash of the whole.

    A key that is too long for any group is cut so that it stays so.
    """
    length = F.coalesce(F.octet_length("value"), F.lit(0))
    value = F.col("value").cast("binary")
    too_long = length > MAX_RECORD_BYTES
    columns = {
        "key": F.substring(key.cast("binary"), 1, MAX_KEY_BYTES + 1),
        "value": F.when(too_long, F.substring(value, 1, QUARANTINED_BYTES)).otherwise(value),
        "length": length,
        "sha256": F.when(too_long, F.sha2(value, 256)),
        "arrival_ts": (F.lit(None) if arrival_ts is None else arrival_ts).cast("long"),
        "topic": topic,
        "partition": (F.lit(None) if partition is None else partition).cast("int"),
        "offset": offset.cast("long"),
    }
    return stream.select(shard_by.alias("shard_by"), *[columns[name].alias(name) for name in Record._fields])


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
