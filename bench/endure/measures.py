"""The measures of a run: which keys of a line they are, their units, and what their verdict goes by. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from bench.endure.figures import Finding, Point, Verdict, judged, rates
from schemas.tables import CURRENT

Line = Mapping[str, Any]
AT, LIFE, TS, DAYS = "at_s", "life", "ts", "feed.days"  # days: virtual ones of the fast part
KEPT_DAYS = 7  # what the fast part keeps: virtual days
EXPIRED_AFTER_DAYS = KEPT_DAYS + 2  # a group is forgotten after 7 days, and its queues a day later
# An hour of a log is kept (MaintainOptions.log_hours). Older files go in the next round after a checkpoint. Rounds come
# every ten minutes.
LOG_FULL_AFTER_S = 75 * 60.0


class Shape(Enum):
    """What the verdict goes by."""

    VALUE = "mean"
    FLOOR = "lowest"
    RATE = "rate a second"


class Since(NamedTuple):
    """The lines of a part in which a figure has reached a value. All lines of the other part count."""

    part: str
    key: str
    least: float


LIVE, FAST = PARTS = ("live", "fast")
OLDEST_EXPIRED = Since(FAST, DAYS, EXPIRED_AFTER_DAYS)  # tables grow until then
LOG_FULL = Since(LIVE, AT, LOG_FULL_AFTER_S)  # each batch lists the log of ``facts``


class Measure(NamedTuple):
    """``slack``: a difference that says nothing, in the unit. ``of_process``: it starts again with each life.

    ``open_in``: runs in which it is not judged, and ``why``. ``bad``: the verdict that fails the run. ``since``: from
    when on it is judged; None: from the start.
    """

    keys: str
    unit: str
    slack: float
    shape: Shape = Shape.VALUE
    of_process: bool = True
    open_in: tuple[str, ...] = ()
    why: str = ""
    bad: Verdict = Verdict.GROWS
    since: Since | None = None


_current = "|".join(table.name for table in CURRENT)
# The first whose pattern fits a key counts. Slack: the noise of a count or size that is as good as level.
MEASURES = (
    Measure(r"run\.java\.heap_after_gc_mb", "MB", 20, Shape.FLOOR),
    Measure(r"run\.java\.code_mb", "MB", 0, open_in=PARTS, why="of Java: at most ReservedCodeCacheSize, 240 MB"),
    Measure(r"run\.java\.\w+_mb", "MB", 10),
    Measure(r"run\.java\.classes", "", 200),
    Measure(r"run\.java\.listener_queue", "", 50),
    Measure(r"run\.workers\.number", "", 0.5),
    Measure(r"(kafka|feed)\..*", "", 0, open_in=PARTS, why="of the load, not of evenkeel"),
    Measure(r"machine\.loop_ms", "ms", 0, open_in=PARTS, why="of the machine: a plain loop"),
    Measure(r"machine\.busy_percent", "%", 0, open_in=PARTS, why="of the machine"),
    Measure(r"[\w.]+\.rss_mb", "MB", 5),
    Measure(r"[\w.]+\.pool_threads", "", 0, open_in=PARTS, why="of deltalake: the most that it needed at once"),
    Measure(r"[\w.]+\.threads", "", 3),
    Measure(r"[\w.]+\.fds", "", 5),
    Measure(r"[\w.]+\.cpu_s", "s", 0.02, Shape.RATE, open_in=(FAST,), why="the job takes all that it gets"),
    Measure(rf"tables\.({_current})\.(files|mb)", "", 10, of_process=False, since=OLDEST_EXPIRED),
    # Files that were replaced are deleted some minutes later, so after two or three virtual days.
    Measure(
        r"tables\.\w+\.files",
        "",
        10,
        Shape.FLOOR,
        of_process=False,
        open_in=(LIVE,),
        why="kept for days",
        since=OLDEST_EXPIRED,
    ),
    Measure(r"tables\.\w+\.mb", "MB", 10, of_process=False, open_in=(LIVE,), why="kept for days", since=OLDEST_EXPIRED),
    Measure(r"tables\.\w+\.log_(files|mb)", "", 10, of_process=False, open_in=(LIVE,), why="kept for hours"),
    Measure(r"checkpoint\.files", "", 100, of_process=False),
    Measure(r"scratch\.files", "", 20, Shape.FLOOR),  # a shuffle's go once its objects in the heap are collected
    Measure(r"scratch\.mb", "MB", 5, Shape.FLOOR, of_process=False),
    Measure(r"checkpoint\.mb", "MB", 5, of_process=False, open_in=(FAST,), why="it has a number of each group ever"),
    Measure(r"state\.\w+", "", 5, of_process=False),
    Measure(r"logs\.\w+", "", 0.1, of_process=False),
    Measure(r"\w+\.(trigger|batch|latency_p50|latency_p99)_s", "s", 0.1, since=LOG_FULL),
    Measure(r"\w+\.scrape_s", "s", 0.1),
    Measure(r"web\.page_ms", "ms", 20),
    Measure(r"run\.round_cpu_us", "µs", 5),
    Measure(r"run\.batches", "", 0.05, Shape.RATE, bad=Verdict.FALLS, since=LOG_FULL),
    Measure(r"run\.rounds", "", 0.05, Shape.RATE, bad=Verdict.FALLS),
    Measure(
        r"\w+\.(commits|requests|pages|facts)", "", 0.05, Shape.RATE, open_in=PARTS, why="as many as the faults make"
    ),
    Measure(r"\w+\.lag_s", "s", 2),
    Measure(r"\w+\.state_mb", "MB", 0.5, since=OLDEST_EXPIRED),
    Measure(r"notifier\.(alerts|open_pages)", "", 0, open_in=(LIVE,), why="as many as the faults make"),
    Measure(r"notifier\.pages_without_alert", "", 1),
    Measure(r"notifier\.\w+", "", 5),
    Measure(r"\w+\.(series|scrape_kb)", "", 20),
    Measure(r"\w+\.errors", "", 0.5),
)


class Row(NamedTuple):
    """One row of the report. ``points``: what the verdict goes by. ``open``: why it is not judged; empty: it is."""

    key: str
    measure: Measure
    finding: Finding
    points: Sequence[Point]
    open: str = ""


def rows_of(lines: Sequence[Line], part: str) -> list[Row]:
    """A row for each key. Raises KeyError for a key that is no measure."""
    keys = sorted({key for line in lines for key in line} - {AT, LIFE, TS})
    longest = _longest_life(lines)
    return [_row(key, measure_of(key), lines, longest, part) for key in keys]


def measure_of(key: str) -> Measure:
    for measure in MEASURES:
        if re.fullmatch(measure.keys, key):
            return measure
    raise KeyError(f"{key} fits no measure of bench/endure/measures.py")


def failing(rows: Iterable[Row]) -> list[str]:
    """The keys of rows that grow though they should not, or fall though they should not."""
    return [row.key for row in rows if row.finding.verdict is row.measure.bad and not row.open]


def _row(key: str, measure: Measure, lines: Sequence[Line], longest: Sequence[Line], part: str) -> Row:
    counted = longest if measure.of_process or measure.shape is Shape.RATE else lines
    if measure.since is not None and measure.since.part == part:
        counted = [line for line in counted if line[measure.since.key] >= measure.since.least] or counted[-1:]
    began_s = counted[0][AT]
    ended_s = counted[-1][AT] - began_s
    found = [Point(line[AT] - began_s, float(line[key])) for line in counted if line.get(key) is not None]
    if measure.shape is Shape.RATE:
        found = rates(found)
    why = measure.why if part in measure.open_in else ""
    finding = judged(found, ended_s, measure.slack, by_lowest=measure.shape is Shape.FLOOR)
    return Row(key, measure, finding, found, why)


def _longest_life(lines: Sequence[Line]) -> list[Line]:
    lives: dict[int, list[Line]] = {}
    for line in lines:
        lives.setdefault(line[LIFE], []).append(line)
    return max(lives.values(), key=lambda life: life[-1][AT] - life[0][AT])
