"""``python -m bench``: one JSON on stdout, progress on stderr. The exit status is 1 if a measurement failed."""

import argparse
import json
import sys
from pathlib import Path

from bench.results import Results, has_error
from bench.stages import STAGES, run_stages, stage_named


def main() -> int:
    names = [stage.name for stage in STAGES]
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what evenkeel costs.")
    parser.add_argument("--quick", action="store_true", help="shorter runs: coarser figures in under 5 minutes")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--stage", choices=names, help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        stage_named(arguments.stage).load()(Results(arguments.result), arguments.quick)
        return 0
    tree = run_stages([stage for stage in STAGES if stage.name in (arguments.only or names)], arguments.quick)
    print(json.dumps(tree, indent=2))
    return int(has_error(tree))


if __name__ == "__main__":
    sys.exit(main())
