"""Whether a measure grows: its slope with its confidence, and its last part beside its second one. Pure."""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

HOUR_S, DAY_S = 3600.0, 86_400.0
QUARTERS = 4  # a shorter run is compared by its quarters; its first part is the warming
WITHIN = 0.05  # of the second part
LEAST_IN_A_PART = 4
TOOTH_S = 1800.0  # Spark has the whole heap collected every half hour (spark.cleaner.periodicGC.interval)
LEAST_INDEPENDENT = 4
Z_95 = 1.959964  # of a normal distribution


class Point(NamedTuple):
    """A value at a time of the run."""

    at_s: float
    value: float


class Slope(NamedTuple):
    """The change a day, and half the width of its 95 % confidence interval. None: too few points to know."""

    a_day: float
    half_width: float | None


class Verdict(Enum):
    PASS = "pass"
    GROWS = "GROWS"
    FALLS = "falls"
    UNKNOWN = "UNKNOWN"


class Finding(NamedTuple):
    """The result of one measure. ``second`` and ``last``: the means, or lowest values, of these parts."""

    verdict: Verdict
    second: float | None = None
    last: float | None = None
    slope: Slope | None = None


def judged(points: Sequence[Point], ended_s: float, slack: float, by_lowest: bool = False) -> Finding:
    """The verdict about a measure of a run that took ``ended_s``. ``slack``: a difference that says nothing.

    ``by_lowest``: what it comes down to counts, not its mean.
    """
    part_s = min(HOUR_S, ended_s / QUARTERS)
    second = _values(points, part_s, 2 * part_s)
    last = _values(points, ended_s - part_s, ended_s)
    if min(len(second), len(last)) < LEAST_IN_A_PART:
        return Finding(Verdict.UNKNOWN)
    before, after = (min(second), min(last)) if by_lowest else (fmean(second), fmean(last))
    later = [point for point in points if point.at_s >= part_s]
    slope = slope_of(floors(later, min(TOOTH_S, part_s)) if by_lowest else later)
    return Finding(_verdict(before, after, slack), before, after, slope)


def floors(points: Sequence[Point], tooth_s: float) -> list[Point]:
    """The lowest point of each ``tooth_s`` of which there is more than half: of a heap, what collections leave."""
    teeth: dict[int, list[Point]] = {}
    for point in points:
        teeth.setdefault(int(point.at_s // tooth_s), []).append(point)
    whole = (tooth for tooth in teeth.values() if tooth[-1].at_s - tooth[0].at_s > tooth_s / 2)
    return [min(tooth, key=lambda point: point.value) for tooth in whole]


def rates(points: Sequence[Point]) -> list[Point]:
    """A counter's rate a second. A counter that has become less began again at 0."""
    found = []
    for (before_s, before), (at_s, value) in pairwise(points):
        if at_s > before_s and value >= before:
            found.append(Point(at_s, (value - before) / (at_s - before_s)))
    return found


def slope_of(points: Sequence[Point]) -> Slope | None:
    """The line of least squares. Neighbours resemble each other, so they count as fewer independent points."""
    count = len(points)
    if count < 3:
        return None
    mean_s, mean = fmean(at_s for at_s, _ in points), fmean(value for _, value in points)
    spread = sum((at_s - mean_s) ** 2 for at_s, _ in points)
    if not spread:
        return None
    a_second = sum((at_s - mean_s) * (value - mean) for at_s, value in points) / spread
    rests = [value - mean - a_second * (at_s - mean_s) for at_s, value in points]
    independent = count * (1 - (alike := _alike(rests))) / (1 + alike)
    if independent <= LEAST_INDEPENDENT:
        return Slope(a_second * DAY_S, None)
    error = (sum(rest**2 for rest in rests) / (independent - 2) / spread) ** 0.5
    return Slope(a_second * DAY_S, _student_95(independent - 2) * error * DAY_S)


def _values(points: Sequence[Point], from_s: float, to_s: float) -> list[float]:
    return [value for at_s, value in points if from_s <= at_s <= to_s]


def _verdict(before: float, after: float, slack: float) -> Verdict:
    if abs(after - before) <= max(slack, WITHIN * abs(before)):
        return Verdict.PASS
    return Verdict.GROWS if after > before else Verdict.FALLS


def _alike(rests: Sequence[float]) -> float:
    """The correlation of each rest with the next, 0 to 0.99."""
    total = sum(rest**2 for rest in rests)
    if not total:
        return 0.0
    return min(0.99, max(0.0, sum(one * other for one, other in pairwise(rests)) / total))


def _student_95(freedom: float) -> float:
    """Student's t for 95 %, by its expansion: 3 % too low at 2 degrees of freedom, and closer above."""
    z, v = Z_95, freedom
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / v**2 + third / v**3
