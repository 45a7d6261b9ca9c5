"""``python -m bench.reliability``: rounds of faults, and the table of docs/reliability.md."""

import argparse
import math
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec

from bench.reliability.faults import FAULTS
from bench.reliability.figures import Round
from bench.reliability.run import chosen, played
from bench.reliability.table import table_of_faults

HEADS = (
    "fault", "rounds", "silence, s (median)", "silence, s (longest)", "overlapping requests", "events lost",
    "events repeated", "pages lost", "pages repeated", "pages false",
)  # fmt: skip
COUNTED = ("overlapping", "markers_lost", "markers_repeated", "pages_lost", "pages_repeated", "pages_false")


def table(rounds: Sequence[Round]) -> Iterator[str]:
    return table_of_faults(HEADS, FAULTS, rounds, _cells)


def _cells(rounds: Sequence[Round]) -> list[str]:
    silences = [one.silence_s for one in rounds] or [math.nan]
    counts = [str(sum(getattr(one, field) for one in rounds)) for field in COUNTED]
    return [f"{median(silences):.1f}", f"{max(silences):.1f}", *counts]


def _write(path: Path, rounds: Iterable[Round]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rounds))


def _read(path: Path) -> list[Round]:
    return [msgspec.json.decode(line, type=Round) for line in path.read_bytes().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reliability", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(FAULTS), help="the same fault in all rounds")
    parser.add_argument("--collectors", type=int, default=3)
    parser.add_argument("--away-seconds", type=float, default=60, help="of a pause and of a cut network")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no round begins later")
    parser.add_argument("--report", type=Path, help="a file for the figures of each round, as lines of JSON")
    parser.add_argument("--folder", type=Path, help="where logs are kept; without it they are deleted")
    parser.add_argument("--table-of", type=Path, nargs="+", metavar="REPORT", help="play nothing: the table of reports")
    args = parser.parse_args()
    if args.table_of:
        print("\n".join(table([one for path in args.table_of for one in _read(path)])))
        return
    rounds: list[Round] = []

    def add(one: Round) -> None:
        rounds.append(one)
        _show(one)

    ends_s = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        faults = [args.only] * args.rounds if args.only else chosen(args.rounds, args.seed)
        try:
            played(folder, faults, args.seed, args.collectors, args.away_seconds, ends_s, add)
        finally:
            if args.report:
                _write(args.report, rounds)
    print("\n".join(table(rounds)))


def _show(one: Round) -> None:
    print(
        f"{one.number:>4} {one.fault:<18} {one.ended_s - one.began_s:5.1f} s, silent for {one.silence_s:4.1f} s, "
        f"{one.overlapping} of {one.requests} requests overlapped, {one.probes} probes"
        f"{'' if one.is_over else ', NOT OVER'}",
        flush=True,
    )


if __name__ == "__main__":
    main()
