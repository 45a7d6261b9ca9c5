"""A run that is over, judged: which pages were expected, which were sent, and which of these are true."""

from collections.abc import Sequence

from streaming.core.settings import Timing
from streaming.simulation.evaluation.deadlines import Deadlines
from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.evaluation.expected_pages import ExpectedPages
from streaming.simulation.evaluation.lasting_faults import LastingFaults
from streaming.simulation.evaluation.pages import read_pages, waited_unread
from streaming.simulation.evaluation.perturbations.catalog import Perturbation
from streaming.simulation.evaluation.results import ActiveFault, KnownFinding, Run
from streaming.simulation.simulated_group import SimulatedGroup


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
    return Run(
        seed,
        str(group.shape),
        names,
        (fleet.now - group.began_ts) / 1_000,
        len(fleet.truth.changes),
        ExpectedPages(group, active, deadlines, pages).all(),
        [
            page._replace(
                is_true=bool(
                    (active and page.is_true) or (drawn and lasting.confirms(page)) or waited_unread(fleet, page)
                ),
                was_so=page.is_true,
            )
            for page in pages
        ],
        tuple(one.name for one in drawn),
        lasting.expected(pages) if drawn else [],
    )
