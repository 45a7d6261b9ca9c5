"""The driver's work for each batch: appending the facts, and adding up the records that were read."""

import logging
import time
from collections.abc import Callable
from threading import Event, Thread

import msgspec
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas.facts import Fact
from streaming.spark.checkpoint import Checkpoint
from streaming.spark.facts import CommitNote, FactsTable, kinds_of, rows_of
from streaming.spark.health import BatchSummary, Health, Sight
from streaming.spark.java_objects import JavaObjects
from streaming.spark.job_counts import BATCHES, HEALTH, JobCounts
from streaming.spark.kafka_offsets import KafkaWatch, Loss, LossFinder
from streaming.spark.operator import FACT, REPORT, ShardReport
from streaming.spark.session import DETECTION_POOL, scheduler_pool

ROWS_PER_FILE = 200_000


log = logging.getLogger(__name__)

HEARTBEAT_PATIENCE_MS = 1_000  # a batch that comes a little late carries the health fact itself


class Batches:
    """Writes batches, and health facts while there are none. ``losses``: None where the source cannot lose records.

    ``appended``: the newest batch whose facts are in the table; its commit may be missing. ``kafka``: the topic's
    end by Kafka's answers, None where the source is not Kafka.
    """

    def __init__(
        self,
        table: FactsTable,
        checkpoint: Checkpoint,
        health: Health,
        losses: LossFinder | None,
        appended: int,
        now_ms: Callable[[], int],
        counts: JobCounts,
        kafka: KafkaWatch | None = None,
    ) -> None:
        self._counts = counts
        self._table = table
        self._checkpoint = checkpoint
        self._health = health
        self._losses = losses
        self._appended = appended
        self._now_ms = now_ms
        self._identity = checkpoint.identity.identity
        self._done = checkpoint.done()
        self._began_ts: int | None = None
        self._kafka = kafka
        self._java_objects = JavaObjects(time.monotonic())
        self._took_ms = 0
        self._is_report, self._is_fact = F.col("kind") == REPORT, F.col("kind") == FACT

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch, for ``foreachBatch``.

        The reports are collected in any case. If nothing is appended, this is what makes Spark compute the batch, and
        the state must reach its next version."""
        began = time.monotonic()
        self._began_ts = self._now_ms()
        batch.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            found = batch.where(self._is_report).select("payload").collect()
            reports = [msgspec.json.decode(row.payload, type=ShardReport) for row in found]
            summary = BatchSummary(batch_id, self._took_ms, reports, self._loss(batch_id, reports))
            self._health.add(summary)
            self._counts.add(summary, self._now_ms())
            self._append(batch, batch_id, reports)
            self._table.require_held()  # Spark commits the batch in the checkpoint next
        finally:
            batch.unpersist()
            self._began_ts = None
            took_s = time.monotonic() - began
            self._took_ms = round(took_s * 1000)
            self._counts.ended(took_s, self._now_ms())
            self._health.ended(self._took_ms, self._now_ms())
            self._java_objects.free(time.monotonic())
        self._done = batch_id
        self._counts.went_on(BATCHES)

    def report_loss_at_start(self, spark: SparkSession) -> None:
        """Report records that were lost while no job was reading: before the first batch, and once."""
        position = self._checkpoint.end_offsets(self._done)
        if self._losses is not None and position:
            loss = self._losses.at_start(position)
            self._health.add_loss(loss)
            self._counts.lost(loss.records)
            facts = self._health.facts(self._now_ms(), self._sight())
            if facts:
                once = (f"{self._identity}-start", self._checkpoint.next_batch())
                self._table.append(rows_of(spark, facts), self._note(self._newest()), kinds_of(facts), once=once)

    def beat(self, spark: SparkSession) -> None:
        """Write a health fact if no batch has written one in time."""
        try:
            facts = self._health.facts(self._now_ms(), self._sight(), HEARTBEAT_PATIENCE_MS)
            if facts:
                self._table.append(rows_of(spark, facts), self._note(self._newest()), kinds_of(facts))
                self._counts.appended(self._now_ms())
        finally:
            self._counts.went_on(HEALTH)

    def _append(self, batch: DataFrame, batch_id: int, reports: list[ShardReport]) -> None:
        if batch_id <= self._appended:  # it was cut short between append and commit
            return
        health: list[Fact] = self._health.facts(self._now_ms(), self._sight())
        count, kinds = sum(report.facts for report in reports), kinds_of(health)
        if not count and not health:
            return
        rows = batch.where(self._is_fact)
        if health:
            rows = rows.unionByName(rows_of(batch.sparkSession, health))
        kinds.update(*(report.kinds for report in reports))
        self._table.append(rows, self._note(batch_id), kinds, 1 + count // ROWS_PER_FILE)
        self._appended = batch_id
        self._counts.appended(self._now_ms())

    def _loss(self, batch_id: int, reports: list[ShardReport]) -> Loss:
        if self._losses is None:
            return Loss()
        start, end = self._checkpoint.end_offsets(batch_id - 1), self._checkpoint.end_offsets(batch_id)
        return self._losses.in_batch(start, end, [one for report in reports for one in report.read])

    def _sight(self) -> Sight:
        began_ts = self._began_ts  # the batches' thread may change it meanwhile
        working_ms = None if began_ts is None else max(0, self._now_ms() - began_ts)
        if self._kafka is None:
            return Sight(working_ms)
        return Sight(working_ms, self._kafka.seen, self._kafka.seen.unread(self._checkpoint.end_offsets(self._done)))

    def _newest(self) -> int:
        """The newest batch whose facts are in the table, for the note of a health fact alone.

        After many of these the next start no longer reads the batch's own note.
        """
        return max(self._done, self._appended)

    def _note(self, batch_id: int) -> CommitNote:
        offsets = self._checkpoint.end_offsets(batch_id)
        return CommitNote(identity=self._identity, batch_id=batch_id, offsets=offsets, newest=dict(self._health.newest))


def start_heartbeat(spark: SparkSession, batches: Batches, stop: Event) -> Thread:
    """Start a thread that writes health facts while nothing arrives, or while a batch takes long."""

    def run() -> None:
        while not stop.wait(1):
            try:
                with scheduler_pool(spark, DETECTION_POOL):
                    batches.beat(spark)
            except Exception as error:  # the query itself must say what is wrong, if anything still is
                if not stop.is_set():  # Java may be gone by then, and its errors cannot even be read
                    log.warning("no health fact could be written: %s", str(error).split("\n", 1)[0])

    thread = Thread(target=run, name="heartbeat", daemon=True)
    thread.start()
    return thread
