"""The time of an append to the facts while the table's log grows."""

import tempfile
from statistics import median
from time import perf_counter

from bench.results import Results, say
from schemas.facts import Fact, MembershipFact
from streaming.spark.facts import CommitNote, FactsTable, rows_of
from streaming.spark.session import build_session

ROWS, COMMITS, ENDS = 20, 1_000, 100


def measure(results: Results, _quick: bool) -> None:
    with results.part("appends"), tempfile.TemporaryDirectory(prefix="bench-") as folder:
        spark = build_session("evenkeel-bench")
        try:
            table = FactsTable(spark, folder)
            table.create()
            rows = rows_of(spark, [_fact(number) for number in range(ROWS)])
            for number in range(10):  # a cold Java is slow
                _append(table, rows, number)
            seconds = [_append(table, rows, number) for number in range(10, 10 + COMMITS)]
        finally:
            spark.stop()
        say(f"appends: {[round(s, 2) for s in seconds[:: COMMITS // 25]]}")
        first, last = median(seconds[:ENDS]), median(seconds[-ENDS:])
        results.put(
            "appends",
            {
                "commits": COMMITS,
                "first_ms": round(first * 1000),
                "last_ms": round(last * 1000),
                "last_over_first": round(last / first, 2),
                "of_each": ENDS,
            },
        )


def _append(table: FactsTable, rows: object, number: int) -> float:
    began = perf_counter()
    note = CommitNote(identity="bench", batch_id=number, offsets={}, newest={})
    table.append(rows, note, {MembershipFact.fact})  # type: ignore[arg-type]
    return perf_counter() - began


def _fact(number: int) -> Fact:
    payload = MembershipFact(broker_name="broker-a", client_id=f"10.0.0.{number}@1#2", change="appeared", entries=1)
    return Fact(number, "bench", "group", None, 1_790_000_000_000 + number, payload)
