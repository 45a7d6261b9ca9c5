"""Prove the detector: random simulated groups with every fault of the cause list, and healthy ones, against the truth.

It says how much was found, how soon and with the right cause, and how often it would have called somebody for nothing.
What was missed is listed with the seed that shows it again. Then the same is played with perturbations (name servers
that are behind, lost events, slow deploys and others), with figures of their own: whether somebody was called for all
that was wrong for ten minutes. Groups of gRPC clients behind proxies come last, with faults and operations of their
own. It ends with 1 if anything was missed, or a healthy group paged.
Ctrl-C ends it with the figures of what was played by then.
"""

import argparse
import json

from streaming.cli.configuration import configured
from streaming.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--incidents", type=_count, default=200, metavar="N", help="how many incidents (default: 200)")
    parser.add_argument(
        "--healthy", type=_count, default=2_000, metavar="N", help="how many healthy rebalances (default: 2000)"
    )
    parser.add_argument(
        "--perturbed-incidents", type=_count, default=100, metavar="N", help="with perturbations (default: 100)"
    )
    parser.add_argument(
        "--perturbed-healthy", type=_count, default=1_000, metavar="N", help="with perturbations (default: 1000)"
    )
    parser.add_argument(
        "--pop-incidents", type=_count, default=100, metavar="N", help="of groups of gRPC clients (default: 100)"
    )
    parser.add_argument(
        "--pop-healthy", type=_count, default=1_000, metavar="N", help="healthy operations of them (default: 1000)"
    )
    parser.add_argument("--seed", default="1", metavar="TEXT", help="the same seed gives the same figures (default: 1)")
    parser.add_argument("--jobs", type=_count, metavar="N", help="processes (default: one a processor)")
    parser.add_argument("--json", action="store_true", help="one JSON object (docs/simulation.md has the keys)")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("0 or more")
    return number


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments, writes=())
    from streaming.simulation.evaluation.report import as_text
    from streaming.simulation.evaluation.runner import RunCounts, evaluate

    counts = RunCounts(
        arguments.incidents,
        arguments.healthy,
        arguments.perturbed_incidents,
        arguments.perturbed_healthy,
        arguments.pop_incidents,
        arguments.pop_healthy,
    )
    with Progress() as progress:
        report = evaluate(counts, arguments.seed, config.settings(), arguments.jobs, progress)
    found = report.as_json()
    print(json.dumps(found, indent=1) if arguments.json else "\n".join(as_text(found)))
    return 1 if report.is_bad else 0
