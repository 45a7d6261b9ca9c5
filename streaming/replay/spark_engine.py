"""The whole job on files: Spark, checkpoint and Delta tables, to the end of what the files hold."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from schemas.facts import Fact
from schemas.tables import FACTS
from streaming.config.sections import Config, Source
from streaming.projections.projector import run_projections
from streaming.replay.core_engine import EVENTS_FILE, Outcome, outcome_of
from streaming.replay.output_folder import fresh_folder
from streaming.spark.job import plan_of, run_to_end
from streaming.spark.session import SparkSession, build_session
from streaming.tables.facts_log import FactsReader
from streaming.tables.storage import mark_replayed

# Most of a short run is Java compiling what it will hardly use: without its second compiler it takes half the time.
SHORT_LIVED = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
SHARDS = 4  # a file holds few groups, and the checkpoint does not outlive the replay


def run_spark(
    records: Iterable[bytes], config: Config, tables: Path, say: Callable[[str], None], show: Callable[[Outcome], None]
) -> None:
    """Run the job over the records and make all tables in ``tables``, which is emptied first.

    ``show`` is called when the facts are written, before the other tables are made from them.
    """
    tables = fresh_folder(tables.absolute())
    mark_replayed(tables, "evenkeel replay")
    say("starting Spark ...")
    spark = build_session("evenkeel replay", SHORT_LIVED | config.spark.spark_settings(), config.spark.jars_folder)
    say("running the job ...")
    facts = spark_facts(spark, {EVENTS_FILE: records}, config, tables)
    show(outcome_of(facts, tables))
    say("making the other tables ...")
    run_projections(str(tables))


def spark_facts(spark: SparkSession, files: Mapping[str, Iterable[bytes]], config: Config, tables: Path) -> list[Fact]:
    """The facts of the job over files of records; they stay in ``tables``."""
    with TemporaryDirectory(prefix="evenkeel-replay-") as scratch:
        folder = Path(scratch, "events")
        folder.mkdir()
        for name, records in files.items():
            with (folder / name).open("wb") as stream:
                stream.writelines(record + b"\n" for record in records)
        plan = replace(
            plan_of(config),
            source=Source(kind="files", folder=str(folder)),
            checkpoint=str(Path(scratch, "checkpoint")),
            tables=str(tables),
            shards=SHARDS,
        )
        run_to_end(spark, plan)
    return FactsReader(tables / FACTS.name).new()
