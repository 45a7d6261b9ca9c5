"""A run that is over, judged: which pages were expected, which were sent, and which of these are true."""

from collections.abc import Sequence

from bench.proof.deadlines import Deadlines
from bench.proof.detector import Detector
from bench.proof.expected_pages import ExpectedPages
from bench.proof.lasting_faults import LASTING_MS, LastingFaults
from bench.proof.pages import LOOKS_BACK_MS, read_pages, sent_pages, waited_unread, was_confirmed, went_back
from bench.proof.perturbations.catalog import Perturbation
from bench.proof.pop_faults import PopFault
from bench.proof.pop_group import TOPIC, PopGroup
from bench.proof.results import ActiveFault, ExpectedPage, KnownFinding, Page, Run
from schemas.facts import Cause, Kind
from streaming.core.settings import Timing
from streaming.simulation.simulated_group import SimulatedGroup

STOOD_MS = 60_000  # of messages that nobody takes: the shortest time that a page may be about
BLOCKED_MS = 300_000  # of a FIFO queue whose first message is not acknowledged
OF_WAITING = frozenset({Kind.UNPOLLED, Kind.STALLED, Kind.NO_MEMBERS})


def judge_run(
    seed: str,
    group: SimulatedGroup,
    detector: Detector,
    timing: Timing,
    names: tuple[str, ...],
    active: Sequence[ActiveFault] = (),
    drawn: Sequence[Perturbation] = (),
    known_findings: Sequence[KnownFinding] = (),
) -> Run:
    """``names`` are those of the faults or of the healthy operations.

    Without a fault a page is false, unless messages waited unread for three minutes in a queue that nobody held. With
    perturbations a page is also true if what it says lasted for ten minutes.
    """
    fleet, deadlines = group.fleet, Deadlines(group, detector, active, timing)
    pages = read_pages(detector, fleet, active, deadlines)
    lasting = LastingFaults(group, active, known_findings)

    def is_true(page: Page) -> bool:
        is_of_a_fault = bool(active) and page.is_true
        return is_of_a_fault or (bool(drawn) and lasting.confirms(page)) or waited_unread(fleet, page)

    return Run(
        seed,
        str(group.shape),
        names,
        (fleet.now - group.began_ts) / 1_000,
        len(fleet.truth.changes),
        ExpectedPages(group, active, deadlines, pages).all(),
        [page._replace(is_true=is_true(page), was_so=page.is_true) for page in pages],
        tuple(one.name for one in drawn),
        lasting.expected(pages) if drawn else [],
    )


def judge_pop_run(
    seed: str,
    group: PopGroup,
    detector: Detector,
    names: tuple[str, ...],
    active: ActiveFault | None = None,
    due: tuple[int, int] | None = None,
) -> Run:
    """The same of a group of gRPC clients. ``due``: from when the fault was there, and by when its page is expected."""
    fleet = group.fleet
    pages = [page._replace(is_true=_is_true(group, detector, page, active)) for page in sent_pages(detector, fleet.now)]
    expected = [_expected(active.fault, *due, pages)] if active and due and isinstance(active.fault, PopFault) else []
    return Run(seed, str(group.shape), names, (fleet.now - group.began_ts) / 1_000, 0, expected, pages)


def _expected(fault: PopFault, from_ts: int, due_ts: int, pages: Sequence[Page]) -> ExpectedPage:
    found = (page for page in pages if page.kind in fault.kinds and page.resolved_ts >= from_ts)
    told = next((page for page in found if page.fired_ts <= due_ts), None)
    if told is None:
        return ExpectedPage(fault.kinds[0], "", from_ts, due_ts, (fault.name,), ())
    of_stall = (Cause.UNEXPLAINED,) if told.kind is Kind.STALLED else ()
    causes = tuple(cause.value for cause in (fault.causes if told.kind is fault.kinds[0] else of_stall))
    return ExpectedPage(fault.kinds[0], told.topic, from_ts, due_ts, (fault.name,), causes, told)


def _is_true(group: PopGroup, detector: Detector, page: Page, active: ActiveFault | None) -> bool:
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
        return was_confirmed(detector, page)
    if page.kind is Kind.OFFSETS_WENT_BACK:
        return went_back(fleet, page)
    is_active = active.from_ts <= ts <= active.to_ts + LOOKS_BACK_MS
    is_of_it = isinstance(active.fault, PopFault) and page.kind in active.fault.kinds
    return is_active and is_of_it and page.topic in ("", TOPIC)


def _stood_ms(group: PopGroup, page: Page) -> int:
    """For how long messages had waited in its queues and nobody had taken any; of a group in any of its queues."""
    queues = [queue for popping in group.fleet.poppings.values() for queue in popping.queues]
    stood = {queue.log.queue: queue.stood_ms(page.fired_ts, group.fleet.now) for queue in queues}
    return min(stood[queue] for queue in page.queues) if page.queues else max(stood.values())
