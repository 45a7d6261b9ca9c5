"""A new checkpoint made from the tables: for another number of shards, another version, or a lost checkpoint.

The checkpoint has a second source, the seeds, which the first batch reads before all other records. Kafka is read from
the offsets in the newest commit of facts, so no record is left out. If commits are damaged, it is the newest one before
the first of them.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas.facts import MemberFact, payload_column
from schemas.table_definition import Column, Form, Table
from schemas.tables import ALERTS, GROUP_MEMBERS, QUEUE_ASSIGNMENTS
from streaming.errors import CheckpointError, SourceError
from streaming.projections.projector import run_projections
from streaming.spark.checkpoint import SEED_FOLDER, create, new_identity, refuse_existing
from streaming.spark.facts import CommitNote, FactsTable
from streaming.spark.job import Plan
from streaming.spark.kafka_offsets import Brokers
from streaming.spark.sources import name_of
from streaming.spark.storage import Folder
from streaming.tables.damaged_commits import say_mended, set_damaged_aside
from streaming.tables.version import require_known_tables
from streaming.wall_clock import now_ms

GROUP = ["cluster", "consumer_group"]


def _fact(table: Table, fields: str) -> str:
    """SQL that makes a fact again from a row of the table, with these fields."""
    (kind,) = table.kinds
    column_of = {one.field: one for one in table.columns if one.path == f"{payload_column(kind)}.{one.field}"}  # type: ignore[arg-type]
    defaults = {one.name: one.default for one in msgspec.structs.fields(kind)}
    return _struct((name, _filled(_field(column_of[name], ""), defaults[name])) for name in fields.split())


def _field(column: Column, row: str) -> str:
    value = f"{row}{column.name}"
    if column.form is Form.TIME:
        return f"unix_millis({value})"
    if column.form is Form.PARTS:
        return f"transform({value}, part -> {_struct((one.field, _field(one, 'part.')) for one in column.parts)})"
    return value


def _filled(value: str, default: Any) -> str:
    """The value, or the field's empty default where the table has null."""
    return f"coalesce({value}, array())" if default == () else value


def _struct(fields: Iterable[tuple[str, str]]) -> str:
    return f"named_struct({', '.join(f'{name!r}, {value}' for name, value in fields)})"


QUEUE = _fact(QUEUE_ASSIGNMENTS, "broker_name queue_id finding severity cause reason owners expected since_ts")
MEMBER = _fact(GROUP_MEMBERS, " ".join(MemberFact.__struct_fields__))
ALERT = _fact(
    ALERTS,
    "fingerprint state severity kind cause observed reason stale active_ts fired_ts resolved_ts since_ts queues",
)


class Reseeded(NamedTuple):
    """The content of the new checkpoint, and the offsets where it begins to read."""

    groups: int
    open_alerts: int
    starting_offsets: str


def reseed(spark: SparkSession, plan: Plan, start: str | None = None) -> Reseeded:
    """Make ``plan.checkpoint``, which must be new. ``start``: Spark's startingOffsets; they replace those of the
    tables.
    """
    folder = Folder(spark, plan.checkpoint)
    refuse_existing(folder)
    require_known_tables(plan.tables)
    table = FactsTable(spark, plan.tables)
    damaged = set_damaged_aside(table.path, now_ms())
    if not table.exists() or not table.has_facts():
        raise CheckpointError(f"there are no facts in {plan.tables} to begin with: run 'evenkeel run' as it is")
    starting = start or _position(spark, plan, next(iter(table.notes(before=min(damaged, default=None))), None))
    run_projections(plan.tables)
    seeds = _seeds(spark, plan.tables).persist()
    try:
        path = f"{plan.checkpoint}/{SEED_FOLDER}"
        seeds.select("key", "value").coalesce(1 + plan.shards // 8).write.mode("overwrite").parquet(path)
        counts = seeds.agg(F.count("*"), F.coalesce(F.sum("open_alerts"), F.lit(0))).collect()[0]
    finally:
        seeds.unpersist()
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or plan.shards)
    made = new_identity(name_of(plan.source), plan.shards, partitions)
    create(folder, msgspec.structs.replace(made, seeded=True, starting_offsets=starting))
    say_mended(table.path, damaged)
    return Reseeded(int(counts[0]), int(counts[1]), starting)


def _position(spark: SparkSession, plan: Plan, note: CommitNote | None) -> str:
    """The offset to read from, for every partition that exists now; new partitions are read from their beginning."""
    source = plan.source
    if source.kind != "kafka":
        raise SourceError(
            "a folder of files has no position to go on from: give --starting-offsets earliest to read all again"
        )
    known = note.offsets.get(source.topic) if note else None
    if not known:
        raise CheckpointError(
            f"the log of facts in {plan.tables} does not say up to where topic {source.topic} was read: say where to "
            "begin with --starting-offsets earliest, latest or an offset for every partition in JSON"
        )
    brokers = Brokers(spark, source)
    brokers.require_topic()
    position = {str(number): known.get(str(number), -2) for number in brokers.partitions()}
    return msgspec.json.encode({source.topic: position}).decode()


def _seeds(spark: SparkSession, tables: str) -> DataFrame:
    """One row a group: its key, its seed (``core.state.restore.GroupSeed``) as JSON, and how many alerts are open."""
    groups = _clocks(spark, tables)
    for lists in (_alerts(spark, tables), _members(spark, tables), _queues(spark, tables)):
        groups = groups.join(lists, GROUP, "left")
    seed = F.to_json(
        F.struct(
            "cluster",
            F.col("consumer_group").alias("group"),
            "now",
            "next_seq",
            *[F.coalesce(name, F.array()).alias(name) for name in ("alerts", "members", "queues")],
        ),
        {"ignoreNullFields": "false"},
    )
    return groups.select(
        F.concat("cluster", F.lit("/"), "consumer_group").cast("binary").alias("key"),
        seed.cast("binary").alias("value"),
        F.coalesce(F.size("alerts"), F.lit(0)).alias("open_alerts"),
    )


def _clocks(spark: SparkSession, tables: str) -> DataFrame:
    """Each group's time and the number of its next fact. The newest fact may be in any of the tables."""
    facts = _read(spark, tables, "facts").where("fact NOT IN ('health', 'quarantine')")
    rows = facts.select("cluster", F.col("group").alias("consumer_group"), "ts", "seq")
    for table in ("alerts", "group_status", "queue_assignments", "group_members", "rebalances"):
        rows = rows.unionByName(_read(spark, tables, table).select(*GROUP, "ts", "seq"))
    return rows.groupBy(*GROUP).agg(F.max(F.unix_millis("ts")).alias("now"), (F.max("seq") + 1).alias("next_seq"))


def _alerts(spark: SparkSession, tables: str) -> DataFrame:
    newest = _read(spark, tables, "alerts").groupBy("fingerprint").agg(F.max_by(F.struct("*"), "seq").alias("row"))
    is_open = newest.select("row.*").where("state != 'resolved'")
    return _listed(is_open, "alerts", f"named_struct('topic', coalesce(topic, ''), 'alert', {ALERT})")


def _members(spark: SparkSession, tables: str) -> DataFrame:
    return _listed(_read(spark, tables, "group_members").where("present"), "members", MEMBER)


def _queues(spark: SparkSession, tables: str) -> DataFrame:
    present = _read(spark, tables, "queue_assignments").where("present")
    return _listed(present, "queues", f"named_struct('topic', topic, 'queue', {QUEUE})")


def _listed(rows: DataFrame, name: str, expression: str) -> DataFrame:
    return rows.groupBy(*GROUP).agg(F.sort_array(F.collect_list(F.expr(expression))).alias(name))


def _read(spark: SparkSession, tables: str, table: str) -> DataFrame:
    return spark.read.format("delta").load(f"{tables}/{table}")
