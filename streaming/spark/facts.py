"""The facts table: one append a batch, atomic, each with a note in Delta's log of which batch it was."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import msgspec
from delta import DeltaTable
from msgspec import Struct
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from schemas.ddl import struct_type
from schemas.facts import PAYLOADS, Fact, Payload, payload_column
from schemas.tables import FACT_KEYS, FACTS
from streaming.errors import MonitorError
from streaming.lease import RequireHeld, always_held
from streaming.secret_mask import masked
from streaming.spark.checkpoint import Offsets
from streaming.spark.operator import OUTPUT_SCHEMA, fact_row
from streaming.tables.conflicts import retried
from streaming.tables.creation import delta_properties, missing_columns

# Each is a small file to read, and nearly all have a note. The second number is read where the first has none.
COMMITS_READ = (50, 1000)
NO_SHARD = -1  # of facts that the driver makes
CODEGEN_KEY = "spark.sql.codegen.factoryMode"


class CommitNote(Struct, frozen=True, kw_only=True):
    """What each commit of ours says in Delta's log: up to where the source is read, for a new checkpoint."""

    identity: str
    batch_id: int
    offsets: Offsets
    newest: dict[str, int]  # cluster -> its newest round


class FactsTable:
    """The facts table in the folder of the tables."""

    def __init__(self, spark: SparkSession, tables: str, require_held: RequireHeld = always_held) -> None:
        """``require_held`` is called before each commit."""
        self.path = f"{tables}/{FACTS.name}"
        self.require_held = require_held
        self._spark = spark
        self._keys_of: dict[str, list[Column]] = {}  # by identity; to make all columns takes 90 ms
        self._payloads: dict[str, Column] = {}

    def exists(self) -> bool:
        return bool(DeltaTable.isDeltaTable(self._spark, self.path))

    def has_facts(self) -> bool:
        """Whether the table, which exists, has a row. Spark computes the whole state of the table for that."""
        return bool(self._spark.read.format("delta").load(self.path).limit(1).collect())

    def create(self) -> None:
        """Make the table unless it is there; add columns that it lacks, and fields of structs."""
        columns = StructType()
        for one in FACTS.columns:
            columns.add(one.name, DataType.fromDDL(one.type), True, {"comment": one.comment})
        if not self.exists():
            new = DeltaTable.createIfNotExists(self._spark).location(self.path).comment(FACTS.comment)
            for name, value in delta_properties(FACTS).items():
                new = new.property(name, value)
            new.addColumns(columns).partitionedBy(*FACTS.partitioned_by).execute()
        elif missing_columns(to_arrow_schema(self._spark.read.format("delta").load(self.path).schema), FACTS):
            writer = self._spark.createDataFrame([], columns).write.format("delta").mode("append")
            for note in self.notes()[:1]:  # the newest write says what was read, and maintenance keeps the newest one
                writer = writer.option("userMetadata", msgspec.json.encode(note).decode())
            writer.option("mergeSchema", "true").save(self.path)

    def append(
        self,
        rows: DataFrame,
        note: CommitNote,
        kinds: Collection[str],
        files: int = 1,
        once: tuple[str, int] | None = None,
    ) -> None:
        """Append rows of the operator's schema. ``kinds``: of the facts in them; their files lack other columns.

        ``once``: skip them if this (id, version) was appended before.
        To know that, Delta computes the table's whole state again, which takes as long as the append: batches go by
        the notes instead.
        """
        writer = self._typed(rows, note.identity, kinds).coalesce(files).write.format("delta").mode("append")
        if once is not None:
            writer = writer.option("txnAppId", once[0]).option("txnVersion", once[1])
        writer = writer.option("userMetadata", msgspec.json.encode(note).decode())
        with _projections_interpreted(rows.sparkSession):
            retried(lambda: self._commit(writer))

    def _commit(self, writer: DataFrameWriter) -> None:
        self.require_held()
        writer.save(self.path)

    def _typed(self, rows: DataFrame, identity: str, kinds: Collection[str]) -> DataFrame:
        """The table's columns without those of other kinds, which are null.

        A file describes each of its columns: all 329 take 100 KB, also for a single fact.
        """
        if identity not in self._keys_of:
            self._keys_of[identity] = key_columns(identity)
        for payload in PAYLOADS:
            if payload.fact in kinds and payload.fact not in self._payloads:
                self._payloads[payload.fact] = payload_of(payload)
        payloads = [self._payloads[payload.fact] for payload in PAYLOADS if payload.fact in kinds]
        return rows.select(*self._keys_of[identity], *payloads)

    def notes(self, identity: str | None = None, before: int | None = None) -> list[CommitNote]:
        """What our newest commits say, newest first: at least one of this checkpoint, if there is one.

        ``before``: only commits of versions below this one.
        """
        if not self.exists():
            return []
        table = DeltaTable.forPath(self._spark, self.path)
        for commits in COMMITS_READ:
            history = table.history(commits).orderBy(F.desc("version"))
            if before is not None:
                history = history.where(F.col("version") < before)
            ours = history.where("userMetadata LIKE '{\"identity\"%'").select("userMetadata").collect()
            notes = [self._note(row.userMetadata) for row in ours]
            if any(identity in (None, note.identity) for note in notes):
                break
        return notes

    def _note(self, said: str) -> CommitNote:
        try:
            return msgspec.json.decode(said, type=CommitNote)
        except msgspec.MsgspecError as error:
            raise MonitorError(
                f"{self.path}: a commit of evenkeel says something that this one does not understand: {error}. Run the "
                f"release that wrote it, or a newer one. The commit says: {said[:200]}"
            ) from error


@contextmanager
def _projections_interpreted(spark: SparkSession) -> Iterator[None]:
    """Interpret projections instead of compiling them. Each task of each batch would generate their code again.

    For the columns of ``facts`` that takes 50 ms and more, and a batch has few rows.
    """
    before = spark.conf.get(CODEGEN_KEY)
    spark.conf.set(CODEGEN_KEY, "NO_CODEGEN")
    try:
        yield
    finally:
        spark.conf.set(CODEGEN_KEY, str(before))


def table_columns(identity: str) -> list[Column]:
    """The table's columns from the operator's rows: each payload in the column of its kind."""
    return [*key_columns(identity), *map(payload_of, PAYLOADS)]


def key_columns(identity: str) -> list[Column]:
    when = F.timestamp_millis("ts")
    made = {"identity": F.lit(identity), "ts": when, "date": F.to_date(when)}
    return [made.get(key.name, F.col(key.name)).cast(key.type).alias(key.name) for key in FACT_KEYS]


def payload_of(kind: type[Payload]) -> Column:
    """The payload in the column of its kind, null in rows of other kinds."""
    of_kind = F.when(F.col("fact") == kind.fact, F.col("payload"))
    return F.from_json(of_kind, struct_type(kind)).alias(payload_column(kind))


def kinds_of(facts: Iterable[Fact]) -> set[str]:
    return {fact.payload.fact for fact in facts}


def rows_of(spark: SparkSession, facts: Iterable[Fact]) -> DataFrame:
    """Facts that the driver made, as rows of the operator's schema; they travel as one literal.

    An error that they tell of may quote a secret.
    """
    rows = [fact_row(NO_SHARD, fact)._asdict() for fact in facts]
    literal = F.lit(masked(msgspec.json.encode(rows).decode()))
    return spark.range(1).select(F.inline(F.from_json(literal, f"ARRAY<STRUCT<{OUTPUT_SCHEMA}>>")))
