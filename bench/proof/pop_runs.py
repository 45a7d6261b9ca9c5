"""Runs of groups of gRPC clients: an incident or healthy operation, and what the detector made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from schemas.facts import Cause, Kind
from streaming.core.settings import Settings
from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.evaluation.pages import LOOKS_BACK_MS, sent_pages, went_back
from streaming.simulation.evaluation.perturbations.collectors import DISTURBANCES
from streaming.simulation.evaluation.perturbations.context import WatchContext
from streaming.simulation.evaluation.pop_faults import POP_FAULTS, PopFault
from streaming.simulation.evaluation.pop_operations import (
    POP_OPERATIONS,
    clients_move,
    restart,
    scale_in,
    scale_out,
)
from streaming.simulation.evaluation.results import ExpectedPage, Page, Run
from streaming.simulation.pop_group import TOPIC, PopGroup, random_shape

AFTERWARDS_S = 60
SHORT_S = (5, 60)  # how long a short fault lasts
LONGER_S = (10, 60)  # than until its page is due
IS_SHORT, HAS_CHURN, IS_DISTURBED = 0.2, 0.3, 0.4
POLLS_END_S = 25  # polls of clients that are gone wait on for 20 s, and may take the next message to nobody
AT_REST_S = 125  # offsets are read every 60 s where few messages come, and twice before anything is found
LISTED_S = 130  # connections that are gone are listed for so long
CHURN = (scale_out, scale_in, restart, clients_move)  # shortly before
OPERATIONS_A_RUN = 6
PAUSE_S = (40, 240)  # between two
STOOD_MS = 60_000  # of messages that nobody takes: the shortest time that a page may be about
BLOCKED_MS = 300_000  # of a FIFO queue whose first message is not acknowledged
LASTING_MS = 600_000  # in healthy operation
OF_WAITING = frozenset({Kind.UNPOLLED, Kind.STALLED, Kind.NO_MEMBERS})


class ActivePopFault(NamedTuple):
    fault: PopFault
    from_ts: int
    to_ts: int


def play_pop_numbered(seed: str, settings: Settings, number: int) -> Run:
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
    active = ActivePopFault(fault, began_ts, group.fleet.now)
    undo()
    group.fleet.run(AFTERWARDS_S)
    pages = _judged(group, detector, active)
    expected = [_expected(fault, from_ts, from_ts + due_s * 1_000, pages)] if lasts_s >= due_s else []
    return _run(seed, group, (fault.name,), 0, expected, pages)


def play_pop_healthy(seed: str, settings: Settings) -> Run:
    """A page is false unless messages had waited for ten minutes, and nobody had taken any at their broker."""
    random = Random(f"{seed}/healthy")
    group = PopGroup(random_shape(random), seed)
    detector = Detector(group.fleet, settings)
    disturbed = _disturb(seed, group, detector)
    group.warm_up()
    actions, weights = zip(*POP_OPERATIONS, strict=True)
    done = random.choices(actions, weights, k=OPERATIONS_A_RUN)
    for action in done:
        action(group)
        group.fleet.run(random.randrange(*PAUSE_S))
    group.fleet.run(PAUSE_S[1])
    names = tuple(dict.fromkeys(action.__name__ for action in done))
    run = _run(seed, group, names, len(done), [], _judged(group, detector, None))
    run.perturbations = disturbed
    return run


def _disturb(seed: str, group: PopGroup, detector: Detector) -> tuple[str, ...]:
    """In some runs collectors restart, their clock is set back, or events are lost or late."""
    random = Random(f"{seed}/disturbed")
    if random.random() >= IS_DISTURBED:
        return ()
    begin = random.choice(DISTURBANCES)
    begin(WatchContext(group.fleet.clock, detector, random))
    return (begin.__name__,)


def _run(
    seed: str, group: PopGroup, names: tuple[str, ...], done: int, expected: list[ExpectedPage], pages: list[Page]
) -> Run:
    seconds = (group.fleet.now - group.began_ts) / 1_000
    return Run(seed, str(group.shape), names, seconds, done, expected, pages)


def _expected(fault: PopFault, from_ts: int, due_ts: int, pages: Sequence[Page]) -> ExpectedPage:
    found = (page for page in pages if page.kind in fault.kinds and page.resolved_ts >= from_ts)
    told = next((page for page in found if page.fired_ts <= due_ts), None)
    if told is None:
        return ExpectedPage(fault.kinds[0], "", from_ts, due_ts, (fault.name,), ())
    of_stall = (Cause.UNEXPLAINED,) if told.kind is Kind.STALLED else ()
    causes = tuple(cause.value for cause in (fault.causes if told.kind is fault.kinds[0] else of_stall))
    return ExpectedPage(fault.kinds[0], told.topic, from_ts, due_ts, (fault.name,), causes, told)


def _judged(group: PopGroup, detector: Detector, active: ActivePopFault | None) -> list[Page]:
    pages = sent_pages(detector, group.fleet.now)
    return [page._replace(is_true=_is_true(group, detector, page, active)) for page in pages]


def _is_true(group: PopGroup, detector: Detector, page: Page, active: ActivePopFault | None) -> bool:
    """By the truth of its queues and their brokers, and what else a fault makes true while it lasts."""
    ts, fleet = page.fired_ts, group.fleet
    if active is None:
        return page.kind in OF_WAITING and _stood_ms(group, page) >= LASTING_MS
    if page.kind is Kind.UNPOLLED:
        return all(fleet.poppings[queue.broker_name].was_silent(ts) for queue in page.queues)
    if page.kind in (Kind.STALLED, Kind.SLOW_CONSUMER):
        return _stood_ms(group, page) >= STOOD_MS
    if page.kind is Kind.HEAD_BLOCKED:
        return _stood_ms(group, page) >= BLOCKED_MS
    if page.kind is Kind.NO_MEMBERS:
        return any(ts - LOOKS_BACK_MS <= confirmed_ts <= ts for _, confirmed_ts in detector.confirmed)
    if page.kind is Kind.OFFSETS_WENT_BACK:
        return went_back(fleet, page)
    is_active = active.from_ts <= ts <= active.to_ts + LOOKS_BACK_MS
    return is_active and page.kind in active.fault.kinds and page.topic in ("", TOPIC)


def _stood_ms(group: PopGroup, page: Page) -> int:
    """For how long messages had waited in its queues and nobody had taken any; of a group in any of its queues."""
    queues = [queue for popping in group.fleet.poppings.values() for queue in popping.queues]
    stood = {queue.log.queue: queue.stood_ms(page.fired_ts, group.fleet.now) for queue in queues}
    return min(stood[queue] for queue in page.queues) if page.queues else max(stood.values())
