"""The short form of ``python -m bench.reliability``, and what it counts."""

import math
from pathlib import Path

import pytest

from bench.reliability.faults import FAULTS, HANDED_OVER_WITHIN_S
from bench.reliability.figures import Request, Round, within_others
from bench.reliability.run import chosen, played

ROUNDS = 10
SEED = 1
AWAY_S = 15  # longer than the session of a collector


def test_a_seed_chooses_every_fault_equally_often() -> None:
    faults = chosen(5 * len(FAULTS), SEED)
    assert {fault: faults.count(fault) for fault in FAULTS} == dict.fromkeys(FAULTS, 5)
    assert faults == chosen(5 * len(FAULTS), SEED)
    assert faults != chosen(5 * len(FAULTS), SEED + 1)


def test_a_request_between_those_of_another_collectors_connection_is_counted() -> None:
    """Connection 3 is the first collector's again, when it takes the cluster over a second time."""
    in_turn = [Request(1, 0, 1), Request(2, 0, 1), Request(3, 1, 2), Request(4, 1, 2), Request(5, 0, 3)]
    assert within_others(in_turn) == 0
    assert within_others([*in_turn, Request(6, 1, 2)]) == 1
    assert within_others([*in_turn, Request(3.5, 0, 1)]) == 2  # each is between two of the other's


@pytest.mark.kafka
@pytest.mark.deep("a job of its own, killed or running for minutes")
@pytest.mark.timeout(1500)  # ten faults, and the calm between them
def test_no_fault_makes_two_collectors_ask_at_once_or_loses_a_page(tmp_path: Path) -> None:
    rounds: list[Round] = []
    played(tmp_path, chosen(ROUNDS, SEED), SEED, 3, AWAY_S, math.inf, rounds.append)
    assert [one for one in rounds if not one.is_over] == []
    assert [one for one in rounds if one.overlapping] == []
    assert [one for one in rounds if one.fault == "cut from RocketMQ" and one.silence_s > HANDED_OVER_WITHIN_S] == []
    assert [one for one in rounds if one.markers_lost or one.markers_repeated] == []
    assert [one for one in rounds if one.pages_lost or one.pages_repeated or one.pages_false] == []
    assert sum(one.pages for one in rounds) > 0
