"""The detection query: from a source through the operator to the facts, started, watched and stopped."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import NamedTuple

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from streaming.config.sections import Config, Source
from streaming.core.settings import Settings
from streaming.core.state.packing import require_version
from streaming.errors import MonitorError
from streaming.lease import RequireHeld, always_held
from streaming.spark.batches import Batches, start_heartbeat
from streaming.spark.checkpoint import SEED_FOLDER, Checkpoint, open_checkpoint, refuse_others_checkpoint
from streaming.spark.facts import FactsTable, kinds_of, rows_of
from streaming.spark.failure import explained, root_of
from streaming.spark.health import Health, failure_facts
from streaming.spark.job_counts import BATCHES, JobCounts
from streaming.spark.kafka_offsets import Brokers, KafkaWatch, LossFinder
from streaming.spark.operator import OUTPUT_SCHEMA, STATE_SCHEMA, shard_operator
from streaming.spark.session import DETECTION_POOL, scheduler_pool
from streaming.spark.sources import name_of, read_source, shard_keys, with_shard_keys
from streaming.tables.damaged_commits import require_whole_commits
from streaming.tables.version import require_known_tables, take_tables
from streaming.wall_clock import now_ms

QUERY_NAME = "detection"
IDLE_EVERY_S = 1.0  # a look whether the query waits for records
BETWEEN_BATCHES_S = 12  # how long a stop waits for the running batch; an interrupted batch runs again at the next start
AHEAD_WITHIN_S = 10.0  # Kafka's answer to a standby, which goes on without one
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of a job. ``checkpoint`` and ``tables`` are folders on any file system that Hadoop knows.

    ``health_seconds`` None: no regular health facts. The defaults stand in the table ``[job]`` of ``config/sections``.
    """

    source: Source
    checkpoint: str
    tables: str
    settings: Settings
    shards: int
    trigger_seconds: float
    health_seconds: float | None


def plan_of(config: Config) -> Plan:
    return Plan(
        source=config.source,
        checkpoint=config.job.checkpoint,
        tables=config.tables.path,
        settings=config.settings(),
        shards=config.job.shards,
        trigger_seconds=config.job.trigger_seconds,
        health_seconds=config.job.health_seconds,
    )


def run(
    spark: SparkSession,
    plan: Plan,
    stop: Event,
    started: Callable[[], None] = lambda: None,
    counts: JobCounts | None = None,
    require_held: RequireHeld = always_held,
) -> None:
    """Run until ``stop`` is set. ``counts`` follows the batches. Raises MonitorError when the query fails.

    ``require_held`` is called before each commit.
    """
    counts = counts or JobCounts()
    with (
        _last_words(spark, plan, require_held),
        _detection(spark, plan, counts, require_held) as job,
    ):
        if stop.is_set():
            return
        interval = f"{round(plan.trigger_seconds * 1000)} milliseconds"
        query = job.writer(plan.settings).trigger(processingTime=interval).start()
        heartbeat = start_heartbeat(spark, job.batches, stop)
        if job.kafka is not None:
            job.kafka.start(stop)
        started()
        try:
            _watch(query, stop, counts)
        finally:
            stop.set()
            heartbeat.join()


def prepare_to_take_over(spark: SparkSession, plan: Plan, stop: Event) -> None:
    """Refuse a checkpoint of another configuration. Then run a job of one record in a scratch folder, and read ahead.

    So Java has loaded and compiled what a takeover needs. The folders of the plan are only read: another job writes to
    them.
    """
    refuse_others_checkpoint(spark, plan.checkpoint, name_of(plan.source), plan.shards)
    is_local = (spark.sparkContext.master or "").startswith("local")
    if stop.is_set() or not is_local:  # the workers of a cluster do not see a folder of this machine
        return
    with TemporaryDirectory(prefix="evenkeel-standby-") as scratch:
        Path(scratch, "events").mkdir()
        Path(scratch, "events", "1.jsonl").write_text("{}\n")
        folder = f"file:{scratch}"  # a path alone is one of spark.hadoop.fs.defaultFS
        source = plan.source.model_copy(update={"kind": "files", "folder": f"{folder}/events"})
        run_to_end(spark, replace(plan, source=source, tables=f"{folder}/tables", checkpoint=f"{folder}/checkpoint"))
    if not stop.is_set():
        _read_ahead(spark, plan)


def _read_ahead(spark: SparkSession, plan: Plan) -> None:
    """Read of the real storage and the real Kafka what a takeover reads. Delta keeps what it knows of the facts, and
    reads only newer commits then. What cannot be read now does not matter: the takeover reads all of it again.
    """
    table = FactsTable(spark, plan.tables)
    try:
        if table.exists():
            table.has_facts()
            table.notes()
        if plan.source.kind == "kafka":
            Brokers(spark, plan.source).ends(AHEAD_WITHIN_S)
    except (MonitorError, PySparkException, Py4JJavaError) as error:
        log.debug("not read ahead: %s", str(error).split("\n", 1)[0])


def run_to_end(spark: SparkSession, plan: Plan) -> None:
    """Read what the source holds now, to its end, and return. Raises MonitorError when the query fails."""
    with _detection(spark, replace(plan, health_seconds=None), JobCounts(), always_held) as job:
        _finish(job.writer(plan.settings).trigger(availableNow=True).start())


class _Job(NamedTuple):
    """A plan and its checkpoint, ready for queries. ``rows``: the source's, with their shards."""

    rows: DataFrame
    checkpoint: Checkpoint
    batches: Batches
    kafka: KafkaWatch | None

    def writer(self, settings: Settings) -> DataStreamWriter:
        """The query under these settings, without a trigger."""
        operated = self.rows.groupBy("shard_key").applyInPandasWithState(
            shard_operator(settings), OUTPUT_SCHEMA, STATE_SCHEMA, "append", "NoTimeout"
        )
        return (
            operated.writeStream.queryName(QUERY_NAME)
            .outputMode("append")
            .option("checkpointLocation", self.checkpoint.uri)
            .foreachBatch(self.batches.write)
        )


@contextmanager
def _detection(spark: SparkSession, plan: Plan, counts: JobCounts, require_held: RequireHeld) -> Iterator[_Job]:
    """Open the checkpoint, end an interrupted batch under its own settings, and put the plan's settings in force."""
    try:
        with scheduler_pool(spark, DETECTION_POOL):
            job = _prepare(spark, plan, counts, require_held)
            pending = job.checkpoint.pending()
            old = None if pending is None else job.checkpoint.settings_of(pending)
            if old is not None and old != plan.settings:
                log.info("finishing batch %s under the settings that began it", pending)
                # Restarted with this trigger, a query runs its pending batch and no other.
                _finish(job.writer(old).trigger(once=True).start())
            job.checkpoint.put_in_force(plan.settings)
            yield job
    except PySparkException as error:
        raise MonitorError(f"query {QUERY_NAME} cannot run: {str(error).splitlines()[0]}") from error
    except Py4JJavaError as error:
        raise MonitorError(f"query {QUERY_NAME} cannot run: {root_of(error.java_exception)}") from error


def _prepare(spark: SparkSession, plan: Plan, counts: JobCounts, require_held: RequireHeld) -> _Job:
    brokers = Brokers(spark, plan.source) if plan.source.kind == "kafka" else None
    if brokers is not None:
        brokers.require_topic()
    require_known_tables(plan.tables)
    table = FactsTable(spark, plan.tables, require_held)
    require_whole_commits(table.path)
    checkpoint = open_checkpoint(
        spark, plan.checkpoint, name_of(plan.source), plan.shards, table.exists(), table.has_facts
    )
    require_version(checkpoint.identity.state_version)  # so that the job fails now and not in the first batch
    checkpoint.keep_state_version()
    checkpoint.mend()
    take_tables(plan.tables)
    table.create()
    spark.conf.set("spark.sql.shuffle.partitions", checkpoint.identity.state_partitions)
    notes = table.notes(checkpoint.identity.identity)
    appended = max((n.batch_id for n in notes if n.identity == checkpoint.identity.identity), default=-1)
    health = Health(plan.health_seconds, notes[0].newest if notes else {}, now_ms())
    losses = None if brokers is None else LossFinder(brokers.earliest)
    kafka = None if brokers is None else KafkaWatch(brokers.ends, now_ms)
    batches = Batches(table, checkpoint, health, losses, appended, now_ms, counts, kafka)
    batches.report_loss_at_start(spark)
    return _Job(_keyed(spark, plan, checkpoint), checkpoint, batches, kafka)


@contextmanager
def _last_words(spark: SparkSession, plan: Plan, require_held: RequireHeld) -> Iterator[None]:
    """Write into the facts that the job ends with an error. Otherwise it would look like a job that was killed."""
    try:
        yield
    except MonitorError as error:
        if plan.health_seconds is not None:
            _tell_failure(spark, plan.tables, require_held, str(error).split("\n", 1)[0])
        raise


def _tell_failure(spark: SparkSession, tables: str, require_held: RequireHeld, error: str) -> None:
    try:
        require_known_tables(tables)  # that they are not known may be the error
        table = FactsTable(spark, tables, require_held)
        table.require_held()
        notes = table.notes()
        if notes:
            table.create()  # an older evenkeel may have made it, without some of today's columns
            with scheduler_pool(spark, DETECTION_POOL):
                facts = failure_facts(notes[0].newest, error, now_ms())
                table.append(rows_of(spark, facts), notes[0], kinds_of(facts))
    # Java may have ended, or the tables may be away: then only the missing health facts show it.
    except Exception as failure:
        log.debug("the facts cannot say that the job has failed: %s", failure)


def _keyed(spark: SparkSession, plan: Plan, checkpoint: Checkpoint) -> DataFrame:
    made = checkpoint.identity
    source = plan.source
    if made.starting_offsets is not None:
        source = source.model_copy(update={"starting_offsets": made.starting_offsets})
    seeds = f"{checkpoint.uri}/{SEED_FOLDER}" if made.seeded else None
    keys = shard_keys(spark, made.shards, made.state_partitions)
    return with_shard_keys(read_source(spark, source, seeds), keys)


def _finish(query: StreamingQuery) -> None:
    try:
        while query.isActive:
            time.sleep(0.05)
    except BaseException:  # Ctrl-C: the query must not go on without us
        query.stop()
        raise
    if query.exception() is not None:
        raise explained(query)


def _watch(query: StreamingQuery, stop: Event, counts: JobCounts) -> None:
    looked_s = 0.0
    try:
        while query.isActive and not stop.wait(0.2):
            if time.monotonic() - looked_s >= IDLE_EVERY_S:
                looked_s = time.monotonic()
                if _is_idle(query):
                    counts.went_on(BATCHES)
    except (Py4JError, OSError) as error:
        if not stop.is_set():
            raise MonitorError("Java, in which Spark runs, is gone: was it killed, or out of memory?") from error
    if not stop.is_set():
        raise explained(query)
    _stop(query)


def _is_idle(query: StreamingQuery) -> bool:
    """True between two batches: Spark has looked for new records, and found none. False while it asks Kafka."""
    status = query.status
    return not status["isTriggerActive"] and status["message"].startswith("Waiting for")


def _stop(query: StreamingQuery) -> None:
    """Stop the query between two batches if one ends soon, else within one. Java may have ended by the same signal."""
    deadline = time.monotonic() + BETWEEN_BATCHES_S
    try:
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.05)
        query.stop()
    except (Py4JError, OSError) as error:
        log.debug("stopping: %s", error)
