"""``python -m bench.endure.shifted_clock FILE WORDS``: evenkeel with these words, on a machine whose clock is wrong.

The first line of FILE says by how many seconds it is ahead; a running process follows it. Only Python's clock of the
day is shifted, which gives events their times. Schedules go by the monotonic clock, as on a machine that is set.
"""

import sys
import time
from pathlib import Path

_time_ns = time.time_ns


def _shift(file: Path) -> None:
    def time_ns() -> int:
        return _time_ns() + round(float(file.read_text()) * 1e9)

    time.time_ns = time_ns
    time.time = lambda: time_ns() / 1e9


if __name__ == "__main__":
    _shift(Path(sys.argv[1]))
    from streaming.cli import main

    sys.argv = ["evenkeel", *sys.argv[2:]]
    sys.exit(main())
