"""``python -m bench.reliability.jobs``: faults of a job that has a standby, on S3."""

import argparse
import math
import os
import signal
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from deltalake import DeltaTable
from msgspec import Struct

from bench.reliability.counting import is_of_group, named, repeated_notices, times_without_page
from bench.reliability.faults import RESTARTS_AFTER_S
from bench.reliability.figures import records_of
from bench.reliability.pair import BATCHES, COLLECTOR, FACTS, FOLDER, JOBS, Life, Pair, by_two
from bench.reliability.stage import CHANGING, CLUSTERS, Stage, give_queue_back, take_queue
from bench.reliability.table import table_of_faults
from schemas.facts import Fact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import fold
from streaming.wall_clock import now_ms
from testing.http_server import Server
from testing.written import fact_of

CALM_S = 20  # without a fault, between two of them
OVER_WITHIN_S = 400  # on a busy machine a start of Spark takes minutes
READ_WITHIN_S = 180
HEADS = (
    "fault", "rounds", "take-over, s (median)", "take-over, s (longest)", "without facts, s (median)",
    "without facts, s (longest)", "commits by two", "facts missing", "facts repeated", "pages lost", "pages repeated",
)  # fmt: skip
COUNTED = ("by_two", "facts_missing", "facts_repeated", "pages_lost", "pages_repeated")


class PairRound(Struct):
    """A fault and what it did. ``*_s``: monotonic; ``began_ts``: by the machine's clock, in ms."""

    number: int
    fault: str
    load: float
    began_s: float
    began_ts: int
    ended_s: float = 0
    is_over: bool = False
    takeover_s: float | None = None  # None: the job that worked went on
    silence_s: float = 0
    batch_silence_s: float = 0
    by_two: int = 0
    facts_missing: int = 0
    facts_repeated: int = 0
    pages: int = 0
    pages_lost: int = 0
    pages_repeated: int = 0


def _killed(pair: Pair, life: Life, _: float) -> None:
    """Its Java ends by itself."""
    life.process.send_signal(signal.SIGKILL)
    life.process.wait()
    time.sleep(RESTARTS_AFTER_S)


def _paused(pair: Pair, life: Life, away_s: float) -> None:
    pair.pause(life, with_java=False)
    _away(pair, away_s)
    pair.go_on(life, with_java=False)


def _paused_with_java(pair: Pair, life: Life, away_s: float) -> None:
    pair.pause(life, with_java=True)
    _away(pair, away_s)
    pair.go_on(life, with_java=True)


def _cut_from_store(pair: Pair, life: Life, away_s: float) -> None:
    pair.cut(life)
    _away(pair, away_s)
    pair.mend(life)


def _cut_from_kafka(pair: Pair, life: Life, away_s: float) -> None:
    pair.stage.cut(pair.stage.to_kafka[life.job])
    _away(pair, away_s)
    pair.stage.mend(pair.stage.to_kafka[life.job])


def _away(pair: Pair, away_s: float) -> None:
    end_s = time.monotonic() + away_s
    while time.monotonic() < end_s:
        pair.look()
        time.sleep(0.5)


FAULTS: dict[str, Callable[[Pair, Life, float], None]] = {
    "kill -9": _killed,
    "cut from S3": _cut_from_store,
    "SIGSTOP of the process": _paused,
    "SIGSTOP, with its Java": _paused_with_java,
    "cut from Kafka": _cut_from_kafka,
}


def played(
    folder: Path, faults: Iterable[str], away_s: float, ends_s: float, on_round: Callable[[PairRound], None]
) -> list[PairRound]:
    """Rounds with these faults, until all are done or ``ends_s`` (monotonic) is over."""
    rounds: list[PairRound] = []
    with Stage(folder, 1 + len(JOBS)) as stage, Server() as hook, Pair(stage, folder, hook) as pair:
        stage.start(COLLECTOR)
        for job in JOBS:
            pair.start(job)
        assert pair.wait_until_settled(0, 2 * OVER_WITHIN_S), "the jobs did not start"
        for number, fault in enumerate(faults):
            if time.monotonic() > ends_s:
                break
            for cluster in CLUSTERS:
                (give_queue_back if number % 2 else take_queue)(stage.groups[cluster][CHANGING])
            one = PairRound(number, fault, os.getloadavg()[0], time.monotonic(), now_ms())
            FAULTS[fault](pair, pair.writer(), away_s)
            one.is_over = pair.wait_until_settled(time.monotonic(), OVER_WITHIN_S)
            one.ended_s = time.monotonic()
            _count_commits(pair, one)
            rounds.append(one)
            on_round(one)
            time.sleep(CALM_S)
        _count_facts_and_pages(pair, hook, rounds)
    return rounds


def _count_commits(pair: Pair, one: PairRound) -> None:
    one.silence_s, one.batch_silence_s = (_silence(pair, one, folder) for folder in (FACTS, BATCHES))
    took_over = [life.took_over_s for life in pair.lives if (life.took_over_s or 0) > one.began_s]
    one.takeover_s = took_over[0] - one.began_s if took_over and took_over[0] else None
    one.by_two = sum(write.at_s >= one.began_s for write in by_two(pair.written("")))


def _silence(pair: Pair, one: PairRound, folder: str) -> float:
    times = [write.at_s for write in pair.written(folder, one.began_s)]
    return max(later - before for before, later in pairwise([one.began_s, *times, one.ended_s]))


def _count_facts_and_pages(pair: Pair, hook: Server, rounds: Sequence[PairRound]) -> None:
    """Compare the facts in the table with those that the core makes of Kafka's records, and the pages with both."""
    collector = pair.stage.process(COLLECTOR)
    collector.terminate()
    collector.wait(60)
    begins = [one.began_ts for one in rounds]

    def at(ts: int) -> PairRound:
        return rounds[max(bisect_right(begins, ts) - 1, 0)]

    wanted = Counter(map(named, fold(None, records_of(pair.stage), DEFAULT_SETTINGS).facts))
    end_s = time.monotonic() + READ_WITHIN_S
    while wanted - (found := Counter(map(named, _facts(pair)))) and time.monotonic() < end_s:
        time.sleep(5)
    for ts, _ in (wanted - found).elements():
        at(ts).facts_missing += 1
    for ts, _ in (found - wanted).elements():
        at(ts).facts_repeated += 1
    _count_pages([got.json for got in hook.taken], _facts(pair), at)


def _facts(pair: Pair) -> list[Fact]:
    """Of the groups, without those of the run itself."""
    rows = DeltaTable(f"s3://{FOLDER}/tables/facts", storage_options=pair.store.environment).to_pyarrow_table()
    return list(filter(is_of_group, map(fact_of, rows.to_pylist())))


def _count_pages(notices: Sequence[Any], facts: Iterable[Fact], at: Callable[[int], PairRound]) -> None:
    for notice in notices:
        at(notice["sent_ts"]).pages += notice["trouble"] is None and notice["status"] == "firing"
    for notice in repeated_notices(notices):
        at(notice["sent_ts"]).pages_repeated += 1
    for from_ts in times_without_page(notices, facts, now_ms()):
        at(from_ts).pages_lost += 1


def table(rounds: Sequence[PairRound]) -> Iterator[str]:
    return table_of_faults(HEADS, FAULTS, rounds, _cells)


def _cells(rounds: Sequence[PairRound]) -> list[str]:
    spans = [[one.takeover_s for one in rounds if one.takeover_s is not None], [one.silence_s for one in rounds]]
    times = [f"{of(span):.0f}" if span else "–" for span in spans for of in (median, max)]
    counts = [str(sum(getattr(one, field) for one in rounds)) for field in COUNTED]
    return [*times, *counts]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reliability.jobs", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--only", choices=list(FAULTS), help="the same fault in all rounds")
    parser.add_argument("--away-seconds", type=float, default=60, help="of a pause and of a cut network")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no round begins later")
    parser.add_argument("--report", type=Path, help="a file for the figures of each round, as lines of JSON")
    parser.add_argument("--folder", type=Path, help="where logs are kept; without it they are deleted")
    args = parser.parse_args()
    ends_s = time.monotonic() + 60 * args.minutes
    faults = islice(cycle([args.only] if args.only else FAULTS), args.rounds)
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rounds = played(folder, faults, args.away_seconds, ends_s, _show)
    if args.report:
        args.report.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rounds))
    print("\n".join(table(rounds)))


def _show(one: PairRound) -> None:
    takeover = "no take-over" if one.takeover_s is None else f"take-over after {one.takeover_s:.0f} s"
    print(
        f"{one.number:>4} {one.fault:<24} load {one.load:4.1f}, {one.ended_s - one.began_s:5.1f} s, {takeover}, "
        f"{one.silence_s:.0f} s without facts, {one.batch_silence_s:.0f} s without a batch, {one.by_two} by two"
        f"{'' if one.is_over else ', NOT OVER'}",
        flush=True,
    )


if __name__ == "__main__":
    main()
