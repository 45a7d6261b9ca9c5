"""The table ``facts`` as the job makes it, and as an older evenkeel has left it."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from schemas.facts import PAYLOADS, payload_column
from schemas.tables import FACTS
from streaming.errors import MonitorError
from streaming.explain.read_facts import read_group
from streaming.projections.projector import run_projections
from streaming.spark.facts import CommitNote, FactsTable, kinds_of, rows_of
from streaming.tables.creation import delta_properties, missing_columns
from streaming.tables.facts_log import FactsLog
from tests.notifier.facts import health
from tests.tables.telling import Teller, millis

pytestmark = pytest.mark.spark
T0 = millis("2026-03-01 12:00")


def made(folder: Path) -> DeltaTable:
    return DeltaTable(folder / "facts")


def test_the_table_has_the_columns_comments_and_properties_of_its_definition(
    spark: SparkSession, tmp_path: Path
) -> None:
    FactsTable(spark, str(tmp_path)).create()
    table = made(tmp_path)
    fields = pa.schema(table.schema().to_arrow())
    assert [field.name for field in fields] == [column.name for column in FACTS.columns]
    assert [field.metadata[b"comment"].decode() for field in fields] == [column.comment for column in FACTS.columns]
    metadata = table.metadata()
    assert (metadata.description, tuple(metadata.partition_columns)) == (FACTS.comment, FACTS.partitioned_by)
    assert delta_properties(FACTS).items() <= metadata.configuration.items()


def test_columns_and_fields_that_an_older_table_lacks_are_added(spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/facts"
    columns = {column.name: column.type for column in FACTS.columns if column.name != "member"}
    columns["alert"] = "STRUCT<`fingerprint`:STRING,`queues`:ARRAY<STRUCT<`broker_name`:STRING>>>"
    wanted = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
    spark.sql(f"CREATE TABLE delta.`{path}` ({wanted}) USING delta PARTITIONED BY (date)")
    assert [field.name for field in missing_columns(pa.schema(made(tmp_path).schema().to_arrow()), FACTS)]
    note = CommitNote(identity="query", batch_id=7, offsets={}, newest={"prod": 5})
    schema = spark.read.format("delta").load(path).schema
    row = spark.createDataFrame([(None,) * len(schema)], schema).write.format("delta").mode("append")
    row.option("userMetadata", msgspec.json.encode(note).decode()).save(path)
    table = FactsTable(spark, str(tmp_path))
    table.create()
    assert not missing_columns(pa.schema(made(tmp_path).schema().to_arrow()), FACTS)
    assert table.notes() == [note, note], "maintenance keeps the newest write: it must say what was read"
    version = made(tmp_path).version()
    FactsTable(spark, str(tmp_path)).create()
    assert made(tmp_path).version() == version, "nothing is missing any more"


def test_a_file_has_the_columns_of_its_facts_alone_and_every_reader_finds_nulls(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A file describes each of its columns: all 329 take 100 KB, those of a health fact a tenth."""
    table, note = FactsTable(spark, str(tmp_path)), CommitNote(identity="query", batch_id=7, offsets={}, newest={})
    table.create()
    teller = Teller()
    commits = [[health()], [teller.queue(T0, 0, "MATCH"), teller.status(T0, "healthy")], [teller.alert(T0, "firing")]]
    for facts in commits:
        table.append(rows_of(spark, facts), note, kinds_of(facts))
    log = FactsLog(str(tmp_path / "facts"))
    files = [Path(uri) for uri in log.table().file_uris()]
    names = [set(pq.read_schema(file).names) for file in files]
    payloads = {payload_column(kind) for kind in PAYLOADS}
    assert sorted(len(name & payloads) for name in names) == [1, 1, 2]
    assert min(file.stat().st_size for file in files) < 20_000
    # each reader: the follower, the projections, DataFusion, Arrow, and Spark
    assert [fact for commit in log.commits(1, PAYLOADS) for fact in commit] == [
        one for facts in commits for one in facts
    ]
    run_projections(str(tmp_path))
    assert read_group(str(tmp_path), teller.group, None, None) == [*commits[1], *commits[2]]
    assert log.table().to_pyarrow_table()["alert"].null_count == 3
    assert spark.read.format("delta").load(table.path).where("alert IS NULL").count() == 3


def test_fields_that_only_an_older_table_has_stay_and_are_null(spark: SparkSession, tmp_path: Path) -> None:
    """0.2.0 wrote the slots of clusters that collectors shared."""
    added = {"health": ",`slots`:ARRAY<STRUCT<`slot`:BIGINT>>", "group_status": ",`slot`:BIGINT"}
    columns = {
        one.name: one.type.removesuffix(">") + added[one.name] + ">" if one.name in added else one.type
        for one in FACTS.columns
    }
    wanted = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/facts` ({wanted}) USING delta PARTITIONED BY (date)")
    table, note = FactsTable(spark, str(tmp_path)), CommitNote(identity="query", batch_id=7, offsets={}, newest={})
    table.create()
    assert made(tmp_path).version() == 0
    teller = Teller()
    facts = [health(), teller.queue(T0, 0, "MATCH"), teller.status(T0, "healthy")]
    table.append(rows_of(spark, facts), note, kinds_of(facts))
    log = FactsLog(str(tmp_path / "facts"))
    assert [fact for commit in log.commits(0, PAYLOADS) for fact in commit] == facts
    run_projections(str(tmp_path))
    assert read_group(str(tmp_path), teller.group, None, None) == facts[1:]
    assert spark.read.format("delta").load(table.path).where("group_status.slot IS NULL").count() == 3


def test_notes_are_read_until_one_of_the_checkpoint_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit that is read is a request to the storage."""
    monkeypatch.setattr("streaming.spark.facts.COMMITS_READ", (2, 1000))
    old, new = (CommitNote(identity=name, batch_id=7, offsets={}, newest={}) for name in ("old", "new"))
    table = FactsTable(spark, str(tmp_path))
    table.create()
    for note in (old, old, new, new, new):
        table.append(rows_of(spark, [health()]), note, {"health"})
    assert table.notes() == table.notes("new") == [new, new]
    assert table.notes("old") == [new, new, new, old, old]


def test_a_commit_whose_note_is_not_known_is_a_clear_error(spark: SparkSession, tmp_path: Path) -> None:
    """Without its offsets a new checkpoint would read from the wrong place."""
    table = FactsTable(spark, str(tmp_path))
    table.create()
    schema = spark.read.format("delta").load(table.path).schema
    row = spark.createDataFrame([(None,) * len(schema)], schema).write.format("delta").mode("append")
    row.option("userMetadata", '{"identity":"query","batch":7}').save(table.path)
    with pytest.raises(MonitorError, match=r'facts: a commit of evenkeel.*`batch_id`.*"batch":7'):
        table.notes()
