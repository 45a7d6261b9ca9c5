"""Counts what became of mutants: ``mutmut results --all true | python -m bench.mutants``, as ``make mutants`` does.

A mutant is the code with one place broken on purpose: another operator, number, text or argument. It is killed if a
test fails then. One JSON object on standard output, by package; each mutant that survived is named.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

NOT_TRIED = "not checked"


def summary(lines: Iterable[str]) -> dict[str, Any]:
    """``lines``: a mutant and its status in each, as in ``streaming.core.causes.table.x_pick__mutmut_7: killed``."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survived = []
    for line in lines:
        name, _, status = line.strip().rpartition(": ")
        if not name or status == NOT_TRIED:
            continue
        counts[_package(name)][status] += 1
        if status == "survived":
            survived.append(name)
    return {"mutants": {package: dict(one) for package, one in sorted(counts.items())}, "survived": sorted(survived)}


def _package(mutant: str) -> str:
    """``core.findings`` of ``streaming.core.findings.queue_rules.x_...``; ``notifier.pages``."""
    return ".".join(mutant.split(".")[1:3])


if __name__ == "__main__":
    print(json.dumps(summary(sys.stdin), indent=2))
