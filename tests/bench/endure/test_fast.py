"""A month is played: each of its days is maintained, little waits, and it goes on where it ended."""

import os
from pathlib import Path

import pytest

from bench.endure.fast import A_BATCH, A_SHARE, AHEAD, MONTH_DAYS, ROUND_S, _Month
from bench.endure.fast_job import Work

START_TS = 1_790_035_200_000  # midnight
GROUPS = 200


class StillFleet:
    """A fleet of 200 groups that makes no event: only its time goes on."""

    def __init__(self):
        self.sent = 0

    def send(self, rounds):
        self.sent += rounds
        return START_TS + self.sent * ROUND_S * 1000 // GROUPS

    skip = send


class StillJob:
    """A job that reads half of what waits at each look."""

    def __init__(self, fleet):
        self.fleet, self.before, self.most_waiting, self.maintained, self.read = fleet, fleet.sent, 0, [], 0
        self.pid = os.getpid()

    def work(self):
        waiting = self.fleet.sent - self.before - self.read
        self.most_waiting = max(self.most_waiting, waiting)
        self.read += -(-waiting // 2)
        return Work(self.read)

    def maintain(self, virtual_now):
        self.maintained.append(virtual_now.date())


def played_month(tmp_path, sent=0):
    fleet = StillFleet()
    month = _Month(tmp_path, job := StillJob(fleet), fleet, GROUPS, sent, START_TS)
    job.before = fleet.sent
    while not month.is_over:
        month.go_on()
    return fleet, job


def test_a_month_is_maintained_after_each_of_its_days_and_little_waits(tmp_path: Path):
    fleet, job = played_month(tmp_path)
    assert len(job.maintained) == len(set(job.maintained)) == MONTH_DAYS
    assert fleet.sent == pytest.approx(MONTH_DAYS * 86_400 // ROUND_S * GROUPS, abs=A_SHARE * GROUPS)
    assert A_BATCH * GROUPS <= job.most_waiting <= AHEAD * GROUPS
    assert job.read == fleet.sent, "the month is over once the job has read all of it"


def test_what_was_sent_is_read_before_the_job_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.endure.fast.LOOK_S", 0)
    fleet = StillFleet()
    month = _Month(tmp_path, job := StillJob(fleet), fleet, GROUPS, 0, START_TS)
    month.go_on()
    assert job.read < fleet.sent
    month.wait_until_read()
    assert job.read == fleet.sent
    assert month.in_words(10.0) == "25.0 virtual days an hour, 4,000 rounds a second, 0.00 facts a round"


def test_a_month_goes_on_after_the_rounds_that_were_sent(tmp_path: Path):
    of_a_day = 86_400 // ROUND_S * GROUPS
    fleet, job = played_month(tmp_path, sent=20 * of_a_day)
    assert len(job.maintained) == MONTH_DAYS - 20
    assert fleet.sent == pytest.approx(MONTH_DAYS * of_a_day, abs=A_SHARE * GROUPS)
