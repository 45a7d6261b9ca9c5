"""``python -m bench.endure live --hours 2.5``: a run whose lines, data and report stay in one folder.

The same command with the same folder goes on where the run was ended, until the hours are full. ``--report`` only
writes the report again. The exit status is 1 if something grows, or if a program ended by itself. Of ``faults`` each
run is a session of its own, and several may play at the same time. The exit status is 1 if something was lost or
repeated in any session of the folder.
"""

import argparse
import json
import signal
import sys
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Any

from bench.endure.fast import MONTH_DAYS, ROUND_S, run_fast
from bench.endure.fault_kinds import FAULTS
from bench.endure.faults import run_faults, write_faults_report
from bench.endure.live import run_live
from bench.endure.measures import FAST, LIVE, PARTS
from bench.endure.programs import Recording
from bench.endure.report import ABOUT, LINES, PAGE, keep_results, read_lines, write_report
from bench.machine import machine
from bench.results import say
from streaming import __version__
from streaming.errors import MonitorError
from streaming.file_lock import HeldElsewhere, held
from streaming.wall_clock import now_ms

LOSSES = "faults"
LOCK = "_lock"
GROUPS = {LIVE: 1_000, FAST: 200, LOSSES: 100}
AWAY_S = 600.0
HOURS = 2.5
FOLDER = Path("data/endure")
START_TS = "month began"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.endure", description="Find what grows in a run of hours.")
    parser.add_argument("part", choices=(*PARTS, LOSSES), help="live: at real time; fast: a simulated month; faults")
    parser.add_argument("--hours", type=float, default=HOURS, metavar="N", help=f"of the run in all (default: {HOURS})")
    parser.add_argument("--minutes", type=float, metavar="N", help="instead of --hours")
    parser.add_argument("--groups", type=int, metavar="N", help=f"of the load (default: {GROUPS})")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"of all data of the runs (default: {FOLDER})")
    parser.add_argument("--only", nargs="+", choices=list(FAULTS), default=[], metavar="FAULT", help="these faults")
    parser.add_argument("--away-s", type=float, default=AWAY_S, metavar="N", help=f"of a fault (default: {AWAY_S:g})")
    parser.add_argument("--seed", type=int, default=now_ms() % 1_000_000, metavar="N", help="of the faults")
    parser.add_argument("--report", action="store_true", help="write the report of what was measured, and end")
    parser.add_argument("--keep", type=Path, metavar="NAME", help="copy the results to NAME.md and NAME.tar.xz")
    arguments = parser.parse_args()
    folder = (arguments.folder / arguments.part).resolve()
    failed = not arguments.report and not _ends_well(folder, arguments)
    if not read_lines(folder / LINES):
        say(f"{folder / LINES} has no line: nothing was measured")
        return 1
    failing = _report(folder, arguments.part)
    if arguments.keep:
        keep_results(folder, arguments.keep)
    say(f"{folder / PAGE}: {'fails: ' + ', '.join(failing) if failing else 'all is well'}")
    return int(failed or bool(failing))


def _ends_well(folder: Path, arguments: argparse.Namespace) -> bool:
    """Run to the end. A run that fails has lines too, and they are reported."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _run(folder, arguments)
    except HeldElsewhere as error:
        raise SystemExit(f"{folder} is in use by {error}: wait for its end, or name another folder") from None
    except (MonitorError, KeyboardInterrupt) as error:
        say(str(error) or "ended by a signal")
        return False
    return True


def _report(folder: Path, part: str) -> list[str]:
    return (
        write_faults_report(folder, json.loads((folder / ABOUT).read_text()))
        if part == LOSSES
        else write_report(folder)
    )


def _run(folder: Path, arguments: argparse.Namespace) -> None:
    part, groups = arguments.part, arguments.groups or GROUPS[arguments.part]
    lasts_s = 60 * (arguments.minutes or 60 * arguments.hours)
    signal.signal(signal.SIGTERM, _end)
    if part == LOSSES:
        _say_about(folder, part, groups)
        run_faults(folder, lasts_s, groups, arguments.away_s, arguments.only, arguments.seed)
        return
    with held(folder / LOCK):
        about = _say_about(folder, part, groups)
        recording, stop = Recording(folder, lasts_s), Event()
        if part == LIVE:
            run_live(folder, recording, groups, stop)
        else:
            run_fast(folder, recording, groups, about[START_TS], stop)


def _end(number: int, _: FrameType | None) -> None:
    """End in order, as Ctrl-C does. A second signal must not interrupt that: programs would be left."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say_about(folder: Path, part: str, groups: int) -> dict[str, Any]:
    """Write what the report says of the run. The month of a run that goes on began when it began."""
    file = folder / ABOUT
    before = json.loads(file.read_text()) if file.exists() else {}
    if before and before["groups"] != groups:
        raise MonitorError(f"{folder} has a run of {before['groups']} groups: name another folder, or delete it")
    about = {"title": f"evenkeel {__version__}: {groups} groups, {part}", "part": part, "groups": groups, **machine()}
    if part == FAST:
        about |= {"seconds between rounds": ROUND_S, START_TS: before.get(START_TS, now_ms() - MONTH_DAYS * 86_400_000)}
    file.write_text(json.dumps(about, indent=2))
    return about


if __name__ == "__main__":
    sys.exit(main())
