"""Rounds of faults, one after another, chosen by a seed."""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.reliability.faults import FAULTS
from bench.reliability.figures import Round, count_events, count_requests, illnesses
from bench.reliability.stage import CHANGING, CLUSTERS, Stage, give_queue_back, take_queue
from streaming.wall_clock import now_ms

OVER_WITHIN_S = 120
TURNS_EVERY = 5  # rounds: a group loses the consumer of a queue, and has it again as much later
CALM_S = 75  # without a fault: clients are asked twice, so an alert fires or is resolved


def chosen(rounds: int, seed: int) -> list[str]:
    """The faults. Each is chosen as often as the others, in an order that depends on the seed."""
    of_each = -(-rounds // len(FAULTS))
    shuffled = random.Random(seed)
    found: list[str] = []
    for _ in range(of_each):
        found += shuffled.sample(sorted(FAULTS), len(FAULTS))
    return found[:rounds]


def played(
    folder: Path,
    faults: Sequence[str],
    seed: int,
    collectors: int,
    away_s: float,
    ends_s: float,
    on_round: Callable[[Round], None],
) -> None:
    """Rounds with these faults, until all are done or ``ends_s`` (monotonic) is over.

    ``on_round`` gets each round. Its events and pages are counted at the end, also if a fault cannot be played.
    """
    victims = random.Random(seed)
    with Stage(folder, collectors) as stage:
        for asker in stage.askers:
            stage.start(asker)
        began_ts = now_ms()
        assert stage.wait_until_settled(OVER_WITHIN_S), "the collectors did not start"
        time.sleep(CALM_S)
        rounds: list[Round] = []
        turns: list[int] = []
        try:
            for number, fault in enumerate(faults):
                if time.monotonic() > ends_s:
                    break
                if number % TURNS_EVERY == 0:
                    turns.append(_turn(stage, is_ill=len(turns) % 2 == 1))
                one = Round(number, fault, time.monotonic(), now_ms())
                FAULTS[fault](stage, stage.asker_of(victims.choice(CLUSTERS)), away_s)
                one.is_over = stage.wait_until_settled(OVER_WITHIN_S)
                one.ended_s = time.monotonic()
                count_requests(stage, one, rounds[-1].ended_s if rounds else one.began_s)
                rounds.append(one)
                on_round(one)
                if number % TURNS_EVERY == TURNS_EVERY - 1:
                    time.sleep(CALM_S)
        finally:
            count_events(stage, rounds, illnesses(began_ts, turns))


def _turn(stage: Stage, is_ill: bool) -> int:
    for cluster in CLUSTERS:
        (give_queue_back if is_ill else take_queue)(stage.groups[cluster][CHANGING])
    return now_ms()
