"""``make proof``: random simulated groups with every fault of the cause list, and healthy ones, against the truth.

It says how much was found, how soon and with the right cause, and how often it would have called somebody for nothing.
What was missed is listed with the seed that shows it again. The same is played with perturbations, with figures of
their own: whether somebody was called for all that was wrong for ten minutes. Groups of gRPC clients come last. It ends
with 1 if anything was missed, or a healthy group paged. Ctrl-C ends it with the figures of what was played by then.
"""

import argparse
import json
import sys
from pathlib import Path

from bench.proof.report import as_text
from bench.proof.runner import RunCounts, evaluate
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.progress import Progress

HEALTHY_EACH = 10  # healthy operations for each incident with perturbations, and of gRPC clients


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.proof", description="Prove the detection by simulation.")
    parser.add_argument("--incidents", type=_count, default=200, metavar="N", help="how many incidents (200)")
    parser.add_argument("--healthy", type=_count, default=2_000, metavar="N", help="how many healthy rebalances (2000)")
    of_each = f"incidents, and {HEALTHY_EACH} times as many healthy"
    parser.add_argument("--perturbed", type=_count, default=100, metavar="N", help=f"{of_each} rebalances (100)")
    parser.add_argument("--pop", type=_count, default=100, metavar="N", help=f"{of_each} operations, of gRPC (100)")
    parser.add_argument("--seed", default="1", metavar="TEXT", help="the same seed gives the same figures (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets all figures (docs/proof.md has the keys)")
    arguments = parser.parse_args(words)
    perturbed, pop = arguments.perturbed, arguments.pop
    counts = RunCounts(
        arguments.incidents, arguments.healthy, perturbed, HEALTHY_EACH * perturbed, pop, HEALTHY_EACH * pop
    )
    with Progress() as progress:
        report = evaluate(counts, arguments.seed, DEFAULT_SETTINGS, progress=progress)
    found = report.as_json()
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(as_text(found)))
    return int(report.is_bad)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("0 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
