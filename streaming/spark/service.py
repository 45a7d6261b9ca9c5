"""``evenkeel run``: detection, and beside it the projections' process and maintenance, until a signal ends it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from threading import Event, Thread

from pyspark.sql import SparkSession

from streaming.config.sections import Config
from streaming.lease import RequireHeld, local_leases, remote_leases
from streaming.projections.process import keep_running, projection_settings
from streaming.shutdown_signals import ended_by_signals
from streaming.spark import job
from streaming.spark.java_lock import java_lock
from streaming.spark.job_counts import JobCounts
from streaming.spark.maintain import maintain_regularly
from streaming.spark.session import build_session
from streaming.standby import Standby, taken
from streaming.tables.maintenance import maintain_options

END_WITHIN_S = 25
log = logging.getLogger(__name__)


def serve(
    config: Config,
    stop: Event | None = None,
    started: Callable[[], None] = lambda: None,
    counts: JobCounts | None = None,
    standby: Standby | None = None,
) -> None:
    """Run until SIGTERM, SIGINT or ``stop``, then end within 30 s. Raises InUseError while another process writes
    to the same tables or checkpoint, and MonitorError when detection fails. ``counts`` follows the batches.

    ``standby``: wait for the end of that other process. Spark starts meanwhile, because that takes longest. A
    checkpoint of another configuration is refused then, and not only after the wait.
    An error beside detection is logged and never ends detection.
    """
    stop = stop or Event()
    # Spark ends before the locks, because it may still write.
    with ended_by_signals(stop, END_WITHIN_S), ExitStack() as locks, ExitStack() as java:
        session = cache(lambda: java.enter_context(_session(config, stop)))

        @cache
        def prepare() -> None:
            spark = session()
            if standby is not None:
                standby.goes_on()
            job.prepare_to_take_over(spark, job.plan_of(config), stop)
            log.info("standby: Spark has started, and this job is ready to take over")

        leased = taken(locks, partial(local_leases, written_by(config), standby is not None), stop, standby, prepare)
        if leased is None:
            return
        spark = session()
        for folder in leased.locked:
            taken(locks, partial(java_lock, spark, folder, stop), stop, standby)
        lost = Event()
        leases = partial(remote_leases, leased.far, stop, lost.set)
        held = taken(java, leases, stop, standby, prepare)
        if held is not None:
            _detect(spark, config, stop, started, counts, held, lost)


@contextmanager
def _session(config: Config, stop: Event) -> Iterator[SparkSession]:
    spark = build_session("evenkeel", config.spark.spark_settings(), config.spark.jars_folder)
    try:
        yield spark
    finally:
        stop.set()
        with _ignored(stop):
            spark.sparkContext.setLogLevel("OFF")  # interrupted tasks would miss files that are deleted now
            spark.stop()


def written_by(config: Config) -> dict[str, str]:
    """The folders that only one process may write to, by key."""
    return {"tables.path": config.tables.path, "job.checkpoint": config.job.checkpoint}


def _detect(
    spark: SparkSession,
    config: Config,
    stop: Event,
    started: Callable[[], None],
    counts: JobCounts | None,
    require_held: RequireHeld,
    lost: Event,
) -> None:
    ended = Event()
    works = _beside(spark, config, stop, ended, require_held, lost)
    beside = [Thread(target=work, name=work.__name__, daemon=True) for work in works]

    def begin() -> None:
        for thread in beside:
            thread.start()
        log.info("watching %s", config.source.topic if config.source.kind == "kafka" else config.source.folder)
        started()

    try:
        if not stop.is_set():
            job.run(spark, job.plan_of(config), stop, begin, counts, require_held)
    finally:
        stop.set()
        ended.set()
        for thread in beside:
            if thread.is_alive():
                thread.join(15)


def _beside(
    spark: SparkSession, config: Config, stop: Event, ended: Event, require_held: RequireHeld, lost: Event
) -> list[Callable[[], None]]:
    """Run what stands beside detection. ``ended``: detection has written its last facts; the tables get them too.
    ``lost``: another job may write the tables soon.
    """

    def projections() -> None:
        with _ignored(stop):
            keep_running(projection_settings(config), ended, lost.is_set)

    def maintenance() -> None:
        with _ignored(stop):
            maintain_regularly(
                spark, config.tables.path, maintain_options(config), stop=stop, require_held=require_held
            )

    return [projections, maintenance] if config.job.maintenance else [projections]


@contextmanager
def _ignored(stop: Event) -> Iterator[None]:
    """Log an error and go on. While stopping, Java may have ended, which is not logged."""
    try:
        yield
    except Exception as error:
        if not stop.is_set():
            log.exception("beside detection: %s", error)
