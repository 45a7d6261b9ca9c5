"""Prove the detector: random simulated groups with every fault of the cause list, and healthy ones, against the truth.

It says how much was found, how soon and with the right cause, and how often it would have called somebody for nothing.
What was missed is listed with the seed that shows it again. It ends with 1 if anything was, or a healthy group paged.
Ctrl-C ends it with the figures of what was played by then.
"""

import argparse
import json
import sys

from streaming.cli.arguments import Commands, add_config
from streaming.cli.session import configured


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("evaluate", description=__doc__)
    parser.add_argument("--incidents", type=_count, default=200, metavar="N", help="how many incidents (default: 200)")
    parser.add_argument(
        "--healthy", type=_count, default=2_000, metavar="N", help="how many healthy rebalances (default: 2000)"
    )
    parser.add_argument("--seed", default="1", metavar="TEXT", help="the same seed gives the same figures (default: 1)")
    parser.add_argument("--jobs", type=_count, metavar="N", help="processes (default: one a processor)")
    parser.add_argument("--json", action="store_true", help="one JSON object (docs/simulation.md has the keys)")
    add_config(parser)
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("0 or more")
    return number


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments)
    from streaming.simulation.proof.evaluation import evaluate
    from streaming.simulation.proof.page import lines

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    settings = config.settings()
    report = evaluate(arguments.incidents, arguments.healthy, arguments.seed, settings, arguments.jobs, say).as_json()
    print(json.dumps(report, indent=1) if arguments.json else "\n".join(lines(report)))
    return 1 if report["missed"] or report["total"]["healthy_pages"] else 0
