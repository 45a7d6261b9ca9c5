"""The results of a run: the expected pages, and the pages that were sent."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from schemas.facts import Kind
from schemas.identity import MessageQueue
from streaming.simulation.faults import Fault


class ActiveFault(NamedTuple):
    """A fault of an incident, with its beginning and end."""

    fault: Fault
    from_ts: int
    to_ts: int


class KnownFinding(NamedTuple):
    """A finding that is true from ``from_ts`` on because of a perturbation: a page for it is right."""

    kind: Kind
    from_ts: int


class Page(NamedTuple):
    """An alert that began to fire. ``is_true``: the truth confirms it. ``was_so``: it was true for a moment at least.

    ``cause``: the cause when it began to fire; ``later_causes``: later ones, with their times.
    """

    kind: Kind
    topic: str
    cause: str | None
    severity: str
    fired_ts: int
    queues: frozenset[MessageQueue]
    is_true: bool
    was_so: bool = False
    resolved_ts: int = 0
    later_causes: tuple[tuple[int, str | None], ...] = ()


class ExpectedPage(Struct):
    """A fault that lasted long enough to be found by ``due_ts``. ``found`` None: it was missed."""

    kind: Kind
    topic: str
    from_ts: int
    due_ts: int
    faults: tuple[str, ...]
    causes: tuple[str, ...]
    found: Page | None = None

    @property
    def delay_ms(self) -> int | None:
        """The delay of the page; None if a page was open already."""
        late = None if self.found is None else self.found.fired_ts - self.from_ts
        return late if late is not None and late >= 0 else None

    @property
    def is_late(self) -> bool:
        """Whether it was found after ``due_ts``."""
        return self.found is not None and self.found.fired_ts > self.due_ts

    @property
    def cause(self) -> str | None:
        """The cause when the page fires; of a page that was open already, the cause at ``due_ts``."""
        if self.found is None or self.found.fired_ts >= self.from_ts:
            return None if self.found is None else self.found.cause
        known = (cause for since_ts, cause in reversed(self.found.later_causes) if since_ts <= self.due_ts)
        return next(known, self.found.cause)

    @property
    def cause_is_right(self) -> bool | None:
        """Whether the cause is right; None: no cause is expected."""
        return self.cause in self.causes if self.causes and self.cause is not None else None


class Run(Struct):
    """The result of one seed: ``seconds`` of the group's time, ``rebalances`` in it.

    ``lasting``: faults of ten minutes and longer, in runs with perturbations.
    """

    seed: str
    shape: str
    faults: tuple[str, ...]
    seconds: float
    rebalances: int
    expected: list[ExpectedPage]
    pages: list[Page]
    perturbations: tuple[str, ...] = ()
    lasting: list[ExpectedPage] = []
