"""What a run comes to: which pages were expected, and which were sent."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from schemas.facts import Kind
from schemas.identity import MessageQueue
from streaming.simulation.faults import Fault


class ActiveFault(NamedTuple):
    """A fault of an incident, from when to when."""

    fault: Fault
    from_ts: int
    to_ts: int


class KnownFinding(NamedTuple):
    """What is true of the group from ``from_ts`` on because of a perturbation: a page that says so is right."""

    kind: Kind
    from_ts: int


class Page(NamedTuple):
    """An alert that began to fire. ``is_true``: the truth confirms it. ``was_so``: it did for a moment at least.

    ``cause`` is the one with which it fired, ``later_causes`` are those that it named since, and when.
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

    def cause_at(self, ts: int) -> str | None:
        """The cause that it names then."""
        return next((cause for since_ts, cause in reversed(self.later_causes) if since_ts <= ts), self.cause)


class ExpectedPage(Struct):
    """Something that was wrong for long enough to be found by ``due_ts``. ``found`` None: it was missed."""

    kind: Kind
    topic: str
    from_ts: int
    due_ts: int
    faults: tuple[str, ...]
    causes: tuple[str, ...]
    found: Page | None = None

    @property
    def delay_ms(self) -> int | None:
        """Not of what a page was open for already."""
        late = None if self.found is None else self.found.fired_ts - self.from_ts
        return late if late is not None and late >= 0 else None

    @property
    def is_late(self) -> bool:
        """Whether it was found, but not by ``due_ts``."""
        return self.found is not None and self.found.fired_ts > self.due_ts

    @property
    def cause(self) -> str | None:
        """The one named when it fires; of a page that was open already, the one named when this had to be found."""
        if self.found is None or self.found.fired_ts >= self.from_ts:
            return None if self.found is None else self.found.cause
        return self.found.cause_at(self.due_ts)

    @property
    def cause_is_right(self) -> bool | None:
        """None: there is nothing to be named."""
        return self.cause in self.causes if self.causes and self.cause is not None else None


class Run(Struct):
    """What came of one seed: ``seconds`` of the group's time, ``rebalances`` in it.

    ``lasting``: what was wrong for ten minutes, where there were perturbations.
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
