"""The tables and the checkpoint, read without Spark, and the job's place in Kafka. Only a contest writes."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from schemas.table_definition import Table
from schemas.tables import FACTS, MONITOR_FAULTS, MONITOR_HEALTH, TABLES
from streaming.collector.output.kafka import opened
from streaming.config.sections import Config
from streaming.core.state.packing import OLDEST_READABLE, STATE_VERSION, require_version
from streaming.doctor.checks import Check, Processes, unknown
from streaming.doctor.contest import require_conditions
from streaming.doctor.judgement import kafka as judge_kafka
from streaming.doctor.judgement import tables as judge
from streaming.doctor.kafka import options_of
from streaming.errors import CheckpointError, CollectorError, MonitorError, SetupError, SourceError, StateVersionError
from streaming.spark.checkpoint import Checkpoint, existing, refuse_changed
from streaming.spark.kafka_offsets import flat
from streaming.spark.sources import name_of
from streaming.tables.conditional_file import has_conditions
from streaming.tables.creation import missing_columns
from streaming.tables.query import millis, selection_of
from streaming.tables.storage import (
    REPLAYED_MARK,
    TextFiles,
    away_said,
    delta_uri,
    error_in_short,
    local_path,
    replayed_by,
)
from streaming.tables.version import TABLES_VERSION, require_known_tables
from streaming.wall_clock import now_ms

ROWS_AT_MOST = 40  # ten minutes of one cluster
LAG = "lag of the job"


def checks(config: Config, processes: Processes, late_seconds: float, contends: bool) -> Iterator[Check]:
    """``contends``: a contest of writers shows whether each object store keeps conditional writes."""
    tables = config.tables.path
    if why := _closed(tables):
        yield judge.closed(tables, why)
        return
    if by := replayed_by(tables):
        yield judge.replayed(tables, by)
        return
    yield from _storages(config, processes, contends)
    seen = {one.name: _seen(tables, one) for one in TABLES}
    facts_exist = seen[FACTS.name].version is not None
    if any(one.version is not None or one.failure for one in seen.values()):
        yield _version(tables)
        yield from (judge.table(tables, one) for one in seen.values())
    else:
        yield judge.no_tables(tables)
    if seen[MONITOR_HEALTH.name].version is not None and not seen[MONITOR_HEALTH.name].failure:
        yield _newest_health(tables, late_seconds)
    if "run" in processes:
        yield from _checkpoint(config, facts_exist)


def _storages(config: Config, processes: Processes, contends: bool) -> Iterator[Check]:
    folders = [config.tables.path, *([config.job.checkpoint] if "run" in processes else [])]
    for uri in folders:
        if local_path(uri) is None:
            yield _contest(uri) if contends and has_conditions(uri) else judge.storage(uri, has_conditions(uri))


def _contest(uri: str) -> Check:
    try:
        require_conditions(uri)
        return judge.contest(uri)
    except SetupError as error:
        return judge.contest(uri, str(error))
    except MonitorError as error:
        return unknown(judge.AREA, "write", str(error), where=uri)


def _version(tables: str) -> Check:
    try:
        with away_said(tables):
            made = require_known_tables(tables)
        return judge.version(tables, made, TABLES_VERSION)
    except CheckpointError as error:
        return judge.version(tables, None, TABLES_VERSION, str(error))
    except MonitorError as error:
        return unknown(judge.AREA, "version", str(error), where=tables)


def newest_rows(config: Config) -> Iterator[str]:
    """The newest rows about evenkeel's own health and faults, as JSON lines."""
    for table in (MONITOR_HEALTH, MONITOR_FAULTS):
        found = selection_of(delta_uri(config.tables.path), table.name)
        rows = (
            []
            if found is None
            else found.ask(f'SELECT * FROM rows ORDER BY "ts" DESC LIMIT {ROWS_AT_MOST}').to_pylist()
        )
        yield from (msgspec.json.encode({"table": table.name, **row}).decode() for row in rows)


def _closed(tables: str) -> str:
    """Why this user may not look into the folder; empty: it may, or there is none, or it is in an object store."""
    path = local_path(tables)
    try:
        if path is not None:
            (path / REPLAYED_MARK).stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _seen(tables: str, table: Table) -> judge.TableSeen:
    """Open the table and read one row of it."""
    path = delta_uri(f"{tables}/{table.name}")
    try:
        opened_table = DeltaTable(path)
        missing = missing_columns(pa.schema(opened_table.schema().to_arrow()), table)
        if (found := selection_of(delta_uri(tables), table.name)) is not None:
            found.rows([table.columns[0].name], then="LIMIT 1")
    except TableNotFoundError:
        return judge.TableSeen(table.name, None)
    except SourceError as error:
        return judge.TableSeen(table.name, opened_table.version(), failure=error_in_short(error.__cause__ or error))
    except (DeltaError, OSError, pa.ArrowException) as error:
        return judge.TableSeen(table.name, None, failure=error_in_short(error))
    return judge.TableSeen(table.name, opened_table.version(), tuple(field.name for field in missing))


def _newest_health(tables: str, late_seconds: float) -> Check:
    found = selection_of(delta_uri(tables), MONITOR_HEALTH.name)
    newest = None if found is None else found.ask('SELECT max("ts") AS ts FROM rows')["ts"][0].as_py()
    newest_ts = None if newest is None else millis(newest)
    return judge.newest_health(tables, newest_ts, now_ms(), round(late_seconds * 1000))


def _checkpoint(config: Config, facts_exist: bool) -> Iterator[Check]:
    uri = config.job.checkpoint
    try:
        with away_said(uri):
            checkpoint = existing(TextFiles(uri))
        if checkpoint is None:
            yield judge.no_checkpoint(uri, facts_exist)
            return
        yield _belongs(checkpoint, config)
        if config.source.kind == "kafka":
            yield from _place(checkpoint, config)
    except CheckpointError as error:
        yield judge.checkpoint(uri, 0, (OLDEST_READABLE, STATE_VERSION), str(error), -1)
    except MonitorError as error:
        yield unknown(judge.AREA, "checkpoint", str(error), where=uri)


def _belongs(checkpoint: Checkpoint, config: Config) -> Check:
    """Whether it was made for this configuration, and its state can be read."""
    fault, version = "", checkpoint.identity.state_version
    try:
        refuse_changed(checkpoint, name_of(config.source), config.job.shards)
        require_version(version)
    except (CheckpointError, StateVersionError) as error:
        fault = str(error)
    readable = (OLDEST_READABLE, STATE_VERSION)
    return judge.checkpoint(checkpoint.uri, version, readable, fault, checkpoint.done())


def _place(checkpoint: Checkpoint, config: Config) -> Iterator[Check]:
    """How far the job has read, against where the topic begins and ends."""
    position = flat(checkpoint.end_offsets(checkpoint.done()))
    if not position:
        yield unknown(judge.AREA, LAG, "no batch has ended yet", where=checkpoint.uri)
        return
    topic = config.source.topic
    try:
        begins, ends = _bounds(options_of(config), topic)
    except (CollectorError, KafkaError, OSError) as error:
        yield unknown(judge.AREA, LAG, f"Kafka does not answer: {error or type(error).__name__}", where=checkpoint.uri)
        return
    known = frozenset(number for name, number in position if name == topic)
    yield judge_kafka.partitions_read(judge.AREA, checkpoint.uri, known, len(ends))
    read = {number: position[topic, number] for number in known & ends.keys()}
    unread = sum(max(0, ends[number] - max(at, begins[number])) for number, at in read.items())
    gone = sum(max(0, begins[number] - at) for number, at in read.items() if at >= 0)
    yield judge_kafka.lag(judge.AREA, checkpoint.uri, unread, gone, config.source.max_offsets_per_trigger)


def _bounds(options: dict[str, Any], topic: str) -> tuple[dict[int, int], dict[int, int]]:
    """The first offset that each partition still has, and the one after the last. Raises KafkaError."""
    consumer = opened(KafkaConsumer, options | {"enable_auto_commit": False, "allow_auto_create_topics": False})
    try:
        parts = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        found = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
    finally:
        consumer.close()
    begins, ends = ({part.partition: offset for part, offset in one.items()} for one in found)
    return begins, ends
