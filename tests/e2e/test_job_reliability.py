"""The short form of ``python -m bench.reliability.jobs``, and what it counts."""

import math
from pathlib import Path

import pytest

from bench.reliability.jobs import PairRound, played
from bench.reliability.pair import Write, by_two
from testing.go_programs import missing
from testing.stores.jars import missing_jars
from testing.stores.servers import MINIO

AWAY_S = 40  # longer than a lease lives without being renewed


def test_a_commit_after_that_of_a_later_life_is_counted() -> None:
    in_turn = [Write(1, "facts/0", 0), Write(2, "facts/1", 0), Write(3, "facts/2", 1), Write(4, "facts/3", 1)]
    assert by_two(in_turn) == []
    late = Write(5, "facts/4", 0)
    assert by_two([*in_turn, late, Write(6, "facts/5", 1)]) == [late]


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.deep("a job of its own, killed or running for minutes")
@pytest.mark.timeout(1500)
@pytest.mark.skipif(bool(missing(MINIO) or missing_jars()), reason=missing(MINIO) or missing_jars())
def test_a_standby_takes_over_from_a_job_that_is_cut_from_s3_and_no_two_write(tmp_path: Path) -> None:
    rounds: list[PairRound] = []
    played(tmp_path, ["cut from S3"], AWAY_S, math.inf, rounds.append)
    (one,) = rounds
    assert (one.is_over, one.takeover_s is not None, one.by_two) == (True, True, 0)
    assert (one.facts_missing, one.facts_repeated, one.pages_lost, one.pages_repeated) == (0, 0, 0, 0)
