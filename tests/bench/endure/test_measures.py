"""Each measure of a run has its rule: from when on it is judged, by what, and over which lives."""

import pytest

from bench.endure.figures import Verdict
from bench.endure.measures import DAYS, FAST, LIVE, LOG_FULL_AFTER_S, failing, measure_of, rows_of
from tests.bench.endure.lines import HOURS_S, line


def test_a_table_that_is_kept_for_longer_than_the_run_is_judged_where_days_are_virtual():
    keys = ("tables.facts.files", "tables.queue_assignments.files")
    lines = [line(at_s, **dict.fromkeys(keys, at_s)) for at_s in range(0, 9000, 30)]
    assert failing(rows_of(lines, LIVE)) == ["tables.queue_assignments.files"]
    assert failing(rows_of([one | {DAYS: one["at_s"] / 300} for one in lines], FAST)) == list(keys)


@pytest.mark.parametrize(
    ("days_an_hour", "files", "verdict"),
    [
        (12, lambda day: 20 * min(day, 8), Verdict.PASS),
        (6, lambda day: 20 * min(day, 8), Verdict.PASS),
        (6, lambda day: 20 * day, Verdict.GROWS),
        (3, lambda day: 20 * day, Verdict.UNKNOWN),
    ],
)
def test_what_expires_is_judged_from_when_the_first_days_have(days_an_hour, files, verdict):
    days = [(at_s, at_s / 3600 * days_an_hour) for at_s in range(0, 9000, 30)]
    lines = [line(at_s, **{DAYS: day, "tables.facts.files": files(day)}) for at_s, day in days]
    (row,) = (one for one in rows_of(lines, FAST) if one.key == "tables.facts.files")
    assert row.finding.verdict is verdict


@pytest.mark.parametrize(
    ("part", "ended_s", "batch_s", "verdict"),
    [
        (LIVE, HOURS_S, lambda at_s: 1 + min(at_s, LOG_FULL_AFTER_S) / LOG_FULL_AFTER_S, Verdict.PASS),
        (LIVE, HOURS_S, lambda at_s: 1 + at_s / LOG_FULL_AFTER_S, Verdict.GROWS),
        (LIVE, HOURS_S, lambda at_s: 2 + (at_s > 7200), Verdict.GROWS),
        (LIVE, 24 * 3600, lambda at_s: 2 + (at_s > 23 * 3600), Verdict.GROWS),
        (LIVE, LOG_FULL_AFTER_S, lambda at_s: 1 + at_s / LOG_FULL_AFTER_S, Verdict.UNKNOWN),
        (FAST, HOURS_S, lambda at_s: 1 + min(at_s, LOG_FULL_AFTER_S) / LOG_FULL_AFTER_S, Verdict.GROWS),
    ],
)
def test_times_of_the_job_are_judged_from_when_the_log_of_facts_has_its_full_length(part, ended_s, batch_s, verdict):
    lines = [line(at_s, **{DAYS: 0, "run.batch_s": batch_s(at_s)}) for at_s in range(30, int(ended_s) + 1, 30)]
    (row,) = (one for one in rows_of(lines, part) if one.key == "run.batch_s")
    assert row.finding.verdict is verdict


def test_batches_are_counted_from_when_the_log_of_facts_has_its_full_length():
    def batches(at_s: int, slows_s: float) -> float:
        return at_s if at_s <= slows_s else slows_s + (at_s - slows_s) / 2

    for slows_s, fails in ((3600.0, []), (7200.0, ["run.batches"])):
        lines = [line(at_s, **{"run.batches": batches(at_s, slows_s)}) for at_s in range(30, 9001, 30)]
        assert failing(rows_of(lines, LIVE)) == fails


def test_files_of_a_history_are_judged_by_what_their_deletion_leaves():
    def files(at_s: int, day: int) -> float:
        """60 files a virtual day of five minutes. In the first half two days are kept at most, and then three."""
        return 160 + 60 * (at_s // 300 % (2 if at_s < HOURS_S / 2 else 3)) + day

    for a_day, fails in ((0, []), (2, ["tables.facts.files"])):
        lines = [
            line(at_s, **{DAYS: at_s / 300, "tables.facts.files": files(at_s, a_day * at_s // 300)})
            for at_s in range(0, 9001, 30)
        ]
        assert failing(rows_of(lines, FAST)) == fails


def test_work_that_slows_down_fails_and_work_that_speeds_up_does_not():
    slower = [line(at_s, **{"run.rounds": 200 * at_s - at_s**2 / 100}) for at_s in range(0, 9001, 30)]
    assert failing(rows_of(slower, LIVE)) == ["run.rounds"]
    assert failing(rows_of([line(at_s, **{"run.rounds": at_s**2}) for at_s in range(0, 9001, 30)], LIVE)) == []


def test_a_process_is_judged_by_its_longest_life_and_a_folder_by_all():
    first = [line(at_s, 1, **{"run.rss_mb": 900.0, "checkpoint.mb": 10.0}) for at_s in range(30, 3000, 30)]
    second = [line(at_s, 2, **{"run.rss_mb": 500.0, "checkpoint.mb": 30.0}) for at_s in range(3000, 9001, 30)]
    rows = {row.key: row for row in rows_of([*first, *second], LIVE)}
    assert (rows["run.rss_mb"].finding.verdict, rows["run.rss_mb"].finding.second) == (Verdict.PASS, 500)
    assert rows["checkpoint.mb"].finding.verdict is Verdict.GROWS


def test_a_key_without_a_measure_is_an_error():
    with pytest.raises(KeyError, match="new thing"):
        measure_of("new thing")
