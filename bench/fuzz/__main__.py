"""``python -m bench.fuzz --records 1000000 --answers 100000 --seed 1``: one JSON on stdout, progress on stderr.

It fails with the error if evenkeel raises one that it must not raise, if something hangs, or if memory is not bounded.
The same seed gives the same records and answers.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil

from bench.fuzz.answers import fuzz_answers
from bench.fuzz.records import fuzz_records
from bench.results import say

MB = 1 << 20
MOST_MB = 1_000  # resident at most, with all modules: one record may take some hundred for a moment
GROWS_MB = 60  # at most from the first tenth to the end
SAY_EVERY_S = 60.0


class Memory:
    """The resident memory after a tenth of the work, and at the end."""

    def __init__(self, what: str, number: int) -> None:
        self._what, self._number, self._said_s = what, number, time.monotonic()
        self._process = psutil.Process()
        self._first_mb: float | None = None

    def note(self, taken: int) -> None:
        if self._first_mb is None and taken >= self._number / 10:
            self._first_mb = self._now_mb()
        if time.monotonic() - self._said_s >= SAY_EVERY_S:
            self._said_s = time.monotonic()
            say(f"{taken} {self._what}, {self._now_mb():.0f} MB")

    def figures(self) -> dict[str, float]:
        last_mb = self._now_mb()
        return {
            "rss_mb_after_a_tenth": round(self._first_mb or last_mb),
            "rss_mb_at_the_end": round(last_mb),
            "rss_mb_at_most": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }

    def _now_mb(self) -> float:
        return self._process.memory_info().rss / MB


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description="Give evenkeel what is damaged.")
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N", help="of Kafka (default: %(default)s)")
    parser.add_argument("--answers", type=int, default=100_000, metavar="N", help="of RocketMQ (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all changes (default: %(default)s)")
    arguments = parser.parse_args()
    parts = (("records", fuzz_records, arguments.records), ("answers", fuzz_answers, arguments.answers))
    results = {name: _part(name, fuzz, number, arguments.seed) for name, fuzz, number in parts if number}
    print(json.dumps(results, indent=2))
    return int(any(not is_bounded(result) for result in results.values()))


def _part(
    name: str, fuzz: Callable[[int, int, Callable[[int], None]], dict[str, Any]], number: int, seed: int
) -> dict[str, Any]:
    memory, began = Memory(name, number), time.process_time()
    found = fuzz(number, seed, memory.note)
    return {**found, "cpu_s": round(time.process_time() - began, 1), **memory.figures()}


def is_bounded(result: dict[str, Any]) -> bool:
    grown_mb = result["rss_mb_at_the_end"] - result["rss_mb_after_a_tenth"]
    return grown_mb <= GROWS_MB and result["rss_mb_at_most"] <= MOST_MB


if __name__ == "__main__":
    sys.exit(main())
