"""A series of figures is judged: made-up ones that grow, stay, step, and rise and fall like a heap."""

import random

import pytest

from bench.endure.figures import DAY_S, Point, Verdict, judged, rates, slope_of
from tests.bench.endure.lines import HOURS_S

EVERY_S = 30


def points(value, ended_s=HOURS_S):
    return [Point(at_s, value(at_s)) for at_s in range(EVERY_S, int(ended_s) + 1, EVERY_S)]


def noisy(value, by, seed=1):
    chance = random.Random(seed)
    return lambda at_s: value(at_s) + chance.gauss(0, by)


def saw(at_s, low=300.0, high=900.0, tooth_s=140):
    """A heap that is collected every 140 s."""
    return low + (high - low) * (at_s % tooth_s) / tooth_s


def test_what_stays_level_passes():
    found = judged(points(noisy(lambda _: 500.0, 10)), HOURS_S, slack=5)
    assert found.verdict is Verdict.PASS
    assert abs(found.slope.a_day) <= found.slope.half_width * 2


def test_what_grows_by_a_tenth_an_hour_is_found():
    found = judged(points(noisy(lambda at_s: 500 + at_s / 3600 * 50, 10)), HOURS_S, slack=5)
    assert found.verdict is Verdict.GROWS
    assert found.slope.a_day == pytest.approx(1200, rel=0.1)
    assert abs(found.slope.a_day - 1200) < 2 * found.slope.half_width


def test_growth_in_the_first_quarter_is_warming():
    assert judged(points(lambda at_s: min(at_s, 2000)), HOURS_S, slack=0).verdict is Verdict.PASS


def test_a_step_after_the_second_quarter_grows():
    assert judged(points(lambda at_s: 40 + 10 * (at_s > 5000)), HOURS_S, slack=3).verdict is Verdict.GROWS


def test_a_step_within_the_slack_passes():
    assert judged(points(lambda at_s: 40 + 3 * (at_s > 5000)), HOURS_S, slack=3).verdict is Verdict.PASS


def test_what_becomes_less_does_not_grow():
    assert judged(points(lambda at_s: 1000 - at_s / 20), HOURS_S, slack=5).verdict is Verdict.FALLS


def test_a_run_of_a_day_is_compared_by_its_hours():
    """Level but for the last hour: a quarter of a day would hide it."""
    one = points(lambda at_s: 100 + 10 * (at_s > 23 * 3600), DAY_S)
    assert judged(one, DAY_S, slack=1).verdict is Verdict.GROWS
    assert judged(one, DAY_S, slack=1).last == pytest.approx(110, abs=0.2)


def test_too_few_points_are_no_verdict():
    assert judged(points(lambda _: 1.0)[:3], HOURS_S, slack=1).verdict is Verdict.UNKNOWN
    assert judged([], HOURS_S, slack=1).verdict is Verdict.UNKNOWN
    assert slope_of(points(lambda _: 1.0)[:2]) is None


def test_a_heap_is_judged_by_what_collections_leave():
    level = judged(points(saw), HOURS_S, slack=20, by_lowest=True)
    assert (level.verdict, level.second < 330, level.last < 330) == (Verdict.PASS, True, True)
    growing = judged(points(lambda at_s: saw(at_s) + at_s / 100), HOURS_S, slack=20, by_lowest=True)
    assert growing.verdict is Verdict.GROWS
    assert growing.slope.a_day == pytest.approx(864, rel=0.2)
    higher_only = points(lambda at_s: saw(at_s, high=900 + at_s / 10, tooth_s=90))
    assert judged(higher_only, HOURS_S, slack=20, by_lowest=True).verdict is Verdict.PASS, "the peaks say nothing"


def test_neighbours_that_resemble_each_other_widen_the_confidence():
    chance, value, walk = random.Random(3), 0.0, []
    for at_s in range(0, 9000, EVERY_S):
        value = 0.95 * value + chance.gauss(0, 1)
        walk.append(Point(at_s, value))
    values = chance.sample([point.value for point in walk], len(walk))
    shuffled = [Point(point.at_s, one) for point, one in zip(walk, values, strict=True)]
    assert slope_of(walk).half_width > 2 * slope_of(shuffled).half_width


def test_a_line_without_noise_has_its_slope():
    assert slope_of(points(lambda at_s: 7 + at_s / DAY_S)).a_day == pytest.approx(1)


def test_a_rate_goes_on_after_a_counter_began_again():
    found = rates([Point(0, 100), Point(10, 120), Point(20, 5), Point(30, 25)])
    assert found == [Point(10, 2.0), Point(30, 2.0)]
