"""The cost of ``evenkeel explain`` over five million facts, and the table for this.

``python -m bench.explain FOLDER`` makes the table in a folder that is kept, unless it exists, and measures. The core
folds a few simulated groups whose clients join and leave. Their facts are copied to many groups and days: appended as
by the job, then compacted as by maintenance. The newest day stays in small files, as before its end.
"""

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.feeder import whole_rounds
from bench.results import Results, say
from schemas.facts import Fact
from schemas.tables import FACTS
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.simulation.load.fleet_spec import FleetSpec, templates_for
from streaming.simulation.load.generated_fleet import generated_fleet
from streaming.spark.facts import FactsTable, rows_of, table_columns
from streaming.spark.maintain import maintain_facts
from streaming.spark.session import build_session

FACTS_WANTED, DAYS = 5_000_000, 5
FILES_A_DAY, FILES_OF_TODAY = 48, 190  # 200 small files of a day that is not over would be compacted
TEMPLATES, EVENTS = 8, 60_000
START_TS = 1_789_948_800_000  # midnight, UTC
DAY_MS = 86_400_000
TIMES = 5


class Cost(NamedTuple):
    """The cost of one process: elapsed seconds, CPU seconds, and highest resident memory."""

    seconds: float
    cpu_seconds: float
    rss_mb: int


def measure(results: Results, quick: bool) -> None:
    with results.part("explain"), tempfile.TemporaryDirectory(prefix="bench-") as folder:
        facts = make_table(folder, FACTS_WANTED // (10 if quick else 1))
        results.put("explain", {"facts": facts, **costs_over(folder)})


def costs_over(folder: str) -> dict[str, dict[str, float]]:
    """The costs for a group now, for its third day, and for a group that does not exist (all names are looked up)."""
    explain = ["explain", "--tables", folder]
    noon = datetime.fromtimestamp((START_TS + 5 * DAY_MS // 2) / 1000, UTC).isoformat()
    return {
        "newest": cost_of([*explain, "group-00033"]),
        "at": cost_of([*explain, "group-00033", "--at", noon]),
        "misspelt": cost_of([*explain, "gruop-00033"]),
    }


def cost_of(command: list[str]) -> dict[str, float]:
    """The median of each cost, because other work on the machine slows some runs."""
    costs = [_run(command) for _ in range(TIMES)]
    middle = sorted(costs)[len(costs) // 2]
    return {
        "s": round(middle.seconds, 2),
        "cpu_s": round(sorted(cost.cpu_seconds for cost in costs)[len(costs) // 2], 2),
        "rss_mb": max(cost.rss_mb for cost in costs),
    }


def _run(arguments: list[str]) -> Cost:
    began = perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-m", "streaming", *arguments], **quiet) as process:  # type: ignore[call-overload]
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return Cost(perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)


def make_table(folder: str, wanted: int) -> int:
    """Write about ``wanted`` facts into the folder's facts table. Return their number."""
    spark = build_session("evenkeel-bench")
    try:
        return _write(spark, folder, wanted)
    finally:
        spark.stop()


def _write(spark: SparkSession, folder: str, wanted: int) -> int:
    table = FactsTable(spark, folder)
    table.create()
    told = _template_facts()
    each = max(1, round(wanted / DAYS / len(told)))
    say(f"{len(told)} facts of {TEMPLATES} groups, copied to {each * TEMPLATES} groups and {DAYS} days")
    rows = rows_of(spark, told).select(*table_columns("bench")).localCheckpoint()
    for day in range(DAYS):
        files = FILES_OF_TODAY if day == DAYS - 1 else FILES_A_DAY
        in_order = _copied(rows, day, each).repartitionByRange(files, "ts").sortWithinPartitions("ts", "group")
        in_order.write.format("delta").mode("append").save(table.path)
        say(f"day {day + 1} of {DAYS} is written")
    today = datetime.fromtimestamp(START_TS / 1000, UTC) + timedelta(days=DAYS - 1, hours=23)
    say(str(maintain_facts(spark, folder, now=today)))
    return int(spark.read.format("delta").load(table.path).count())


def _template_facts() -> list[Fact]:
    """The facts of the templates. In one of twenty rounds of a group a client joins, so that there are facts."""
    spec = FleetSpec(TEMPLATES, churn=0.05)
    fleet = generated_fleet(spec, templates_for(spec), START_TS)
    rounds = (*fleet.introduce(TEMPLATES), *whole_rounds(fleet, EVENTS))
    values = [event for group_round in rounds for event in group_round.events]
    records = [Record(None, value, len(value), None, None, "file", None, number) for number, value in enumerate(values)]
    return fold(None, records, DEFAULT_SETTINGS).facts


def _copied(rows: DataFrame, day: int, each: int) -> DataFrame:
    """The rows copied to ``each`` groups a template, which begin at different times of the day; ``seq`` grows by
    day.
    """
    names = sorted(row["group"] for row in rows.select("group").distinct().collect())
    place = F.create_map([F.lit(x) for number, name in enumerate(names) for x in (name, number)])
    spread = rows.withColumn("of", F.explode(F.sequence(F.lit(0), F.lit(each - 1))))
    number = F.col("of") * TEMPLATES + place[F.col("group")]
    moved_ms = F.lit(day * DAY_MS) + F.col("of") * (DAY_MS // 2 // each)
    (last,) = rows.agg(F.max("seq")).collect()[0]
    return (
        spread.withColumn("seq", F.col("seq") + F.lit(day * (last + 1)))
        .withColumn("group", F.format_string("group-%05d", number))
        .withColumn("ts", F.timestamp_millis(F.unix_millis("ts") + moved_ms))
        .withColumn("date", F.to_date("ts"))
        .drop("of")
    )


if __name__ == "__main__":
    tables = Path(sys.argv[1])
    if not (tables / FACTS.name).exists():
        tables.mkdir(parents=True, exist_ok=True)
        make_table(str(tables), FACTS_WANTED)
    print(json.dumps(costs_over(str(tables)), indent=2))
