"""One incident of a group of gRPC clients, and what the detector made of it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from bench.proof.detector import Detector
from bench.proof.judge import judge_pop_run
from bench.proof.operations import clients_move, restart, scale_in, scale_out
from bench.proof.pop_faults import POP_FAULTS, PopFault
from bench.proof.pop_group import PopGroup, random_shape
from bench.proof.results import ActiveFault, Run
from streaming.core.settings import Settings

AFTERWARDS_S = 60
SHORT_S = (5, 60)  # how long a short fault lasts
LONGER_S = (10, 60)  # than until its page is due
IS_SHORT, HAS_CHURN = 0.2, 0.3
POLLS_END_S = 25  # polls of clients that are gone wait on for 20 s, and may take the next message to nobody
AT_REST_S = 125  # offsets are read every 60 s where few messages come, and twice before anything is found
LISTED_S = 130  # connections that are gone are listed for so long
CHURN = (scale_out, scale_in, restart, clients_move)  # shortly before


def play_pop_numbered(seed: str, number: int, settings: Settings) -> Run:
    """The faults take turns."""
    return play_pop_incident(f"{seed}/{number}", POP_FAULTS[number % len(POP_FAULTS)], settings)


def play_pop_incident(seed: str, fault: PopFault, settings: Settings) -> Run:
    random = Random(f"{seed}/incident")
    shape = random_shape(random, **fault.needs)
    group = PopGroup(replace(shape, brokers=max(shape.brokers, fault.least_brokers)), seed)
    detector = Detector(group.fleet, settings)
    group.warm_up()
    due_s = fault.due_s(group.shape) + (0 if shape.rate else AT_REST_S)
    if random.random() < HAS_CHURN:
        random.choice(CHURN)(group)
        due_s += settings.timing.deploy_wait_ms // 1_000 if fault.may_be_a_deploy else LISTED_S
    group.fleet.run(random.randrange(1, 40))
    lasts_s = random.randrange(*SHORT_S) if random.random() < IS_SHORT else due_s + random.randrange(*LONGER_S)
    began_ts = group.fleet.now
    undo = fault.inject(group)
    if not shape.rate:
        group.fleet.run(POLLS_END_S)
        group.write_to_all()
    from_ts = group.fleet.now
    group.fleet.run(lasts_s)
    active = ActiveFault(fault, began_ts, group.fleet.now)
    undo()
    group.fleet.run(AFTERWARDS_S)
    due = (from_ts, from_ts + due_s * 1_000) if lasts_s >= due_s else None
    return judge_pop_run(seed, group, detector, (fault.name,), active, due)
