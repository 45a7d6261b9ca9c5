"""The page of a run: a row and a plot for each measure, and whether anything grows. Pure, but for the files."""

import json
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from bench.endure.figures import DAY_S, HOUR_S, Finding, Point, Slope
from bench.endure.measures import (
    AT,
    EXPIRED_AFTER_DAYS,
    FAST,
    LIFE,
    LIVE,
    LOG_FULL_AFTER_S,
    Line,
    Row,
    Shape,
    failing,
    rows_of,
)

LINES, ABOUT, PAGE, PLOTS = "lines.jsonl", "run.json", "README.md", "plots.svg"
WIDTH, HEIGHT, LEFT, EDGE = 480, 140, 60, 20  # of a plot
COLUMNS = 3
FONT = 'font-family="sans-serif" font-size="11"'
POINTS_SHOWN = 200
LATER = {
    LIVE: f"Times of triggers, batches and facts are judged from minute {LOG_FULL_AFTER_S / 60:.0f} on.\n"
    "Then the log of `facts`, which is listed for each batch, has its full length.",
    FAST: f"Tables and state are judged from virtual day {EXPIRED_AFTER_DAYS} on.",
}


def read_lines(file: Path) -> list[Line]:
    """The lines. The last one may be half written, if the run was killed."""
    found: list[Line] = []
    for text in file.read_text().splitlines() if file.exists() else ():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def write_report(folder: Path) -> list[str]:
    """Write the page and a picture of all plots beside the lines. Return what fails."""
    lines = read_lines(folder / LINES)
    about = json.loads((folder / ABOUT).read_text())
    rows = rows_of(lines, about["part"])
    (folder / PLOTS).write_text(plots(rows))
    (folder / PAGE).write_text(page(lines, rows, about))
    return failing(rows)


def keep_results(folder: Path, name: Path) -> None:
    """Copy the page to ``name.md``, and what ``--report`` makes page and plots of to ``name.tar.xz``. Neither has the
    path of the run's folder.
    """
    name.parent.mkdir(parents=True, exist_ok=True)
    texts = {file: (folder / file).read_text().replace(str(folder), "FOLDER") for file in (PAGE, LINES, ABOUT)}
    name.with_name(f"{name.name}.md").write_text(texts[PAGE])
    with tarfile.open(name.with_name(f"{name.name}.tar.xz"), "w:xz", preset=9) as archive:
        for file in (LINES, ABOUT):
            content = texts[file].encode()
            member = tarfile.TarInfo(file)  # its time is 0: the same run is the same archive
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


def page(lines: Sequence[Line], rows: Sequence[Row], about: Mapping[str, Any]) -> str:
    lives = len({line[LIFE] for line in lines})
    lasted = f"{lines[-1][AT] / HOUR_S:.2f} hours, {len(lines)} lines, {lives} {'life' if lives == 1 else 'lives'}"
    verdicts = Counter(row.finding.verdict.value for row in rows if not row.open)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
    bad = failing(rows)
    return "\n".join(
        [
            f"# {about.get('title', 'Endurance')}",
            "",
            f"{lasted}. {counts}.",
            "",
            f"**Fails: {', '.join(f'`{key}`' for key in bad)}.**"
            if bad
            else "Nothing grows that should not, and the work goes on as fast.",
            "",
            *about_table(about),
            "",
            "The last hour is compared with the second one; in a run of less than four hours, the last quarter with",
            "the second one. *Slope*: from the end of the first hour or quarter, by least squares, with its 95 %",
            "confidence. Figures of processes are those of the longest life.",
            f"`{PLOTS}` has a plot of each row, in the same order.",
            LATER[about["part"]],
            "",
            "| measure | unit | goes by | second | last | slope a day | verdict |",
            "| --- | --- | --- | ---: | ---: | ---: | --- |",
            *(_row(row) for row in rows),
            "",
        ]
    )


def about_table(about: Mapping[str, Any]) -> list[str]:
    """The lines of what is known of a run, but for its title."""
    return ["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in about.items() if key != "title")]


def _row(row: Row) -> str:
    finding, measure = row.finding, row.measure
    verdict = f"not judged: {row.open}" if row.open else finding.verdict.value
    values = [_number(finding.second), _number(finding.last), _slope(finding)]
    unit = f"{measure.unit}/s" if measure.shape is Shape.RATE else measure.unit
    return f"| {' | '.join([row.key, unit, measure.shape.value, *values, verdict])} |"


def _slope(finding: Finding) -> str:
    slope: Slope | None = finding.slope
    if slope is None:
        return ""
    return f"{_number(slope.a_day)} ± {'?' if slope.half_width is None else _number(slope.half_width)}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def plots(rows: Sequence[Row]) -> str:
    """A picture with a plot of each row."""
    width, height = COLUMNS * WIDTH, -(-len(rows) // COLUMNS) * HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *(line for number, row in enumerate(rows) for line in _plot(row, number)),
            "</svg>",
            "",
        ]
    )


def _plot(row: Row, number: int) -> Iterator[str]:
    """A line over time, from the lowest to the highest value; a level line lies in the middle."""
    y, x = divmod(number, COLUMNS)
    yield f'<g transform="translate({x * WIDTH},{y * HEIGHT})">'
    yield f'<text x="{LEFT}" y="13">{escape(f"{row.key} {row.measure.unit}: {row.measure.shape.value}")}</text>'
    if points := _thinned(row.points):
        low, high = min(p.value for p in points), max(p.value for p in points)
        ended_s = max(points[-1].at_s, 1.0)
        at = " ".join(f"{_x(p.at_s, ended_s):.0f},{_y(p.value, low, high):.1f}" for p in points)
        yield f'<text x="2" y="{EDGE + 8}">{_number(high)}</text>'
        yield f'<text x="2" y="{HEIGHT - EDGE}">{_number(low)}</text>'
        yield f'<text x="{WIDTH - 60}" y="{HEIGHT - 5}">{_duration(ended_s)}</text>'
        yield f'<polyline fill="none" stroke="#06c" points="{at}"/>'
    yield "</g>"


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    return points[:: -(-len(points) // POINTS_SHOWN) or 1]


def _x(at_s: float, ended_s: float) -> float:
    return LEFT + at_s / ended_s * (WIDTH - LEFT - EDGE)


def _y(value: float, low: float, high: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE)


def _duration(seconds: float) -> str:
    return f"{seconds / HOUR_S:.2f} h" if seconds < DAY_S else f"{seconds / DAY_S:.1f} days"
