"""The result of one check, and the report of all. Pure."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

AREAS = (
    "machine",
    "java",
    "kafka",
    "rocketmq",
    "tables",
    "upgrade",
    "sinks",
    "processes",
)  # in the order of the report
PROCESSES = ("run", "collect", "notify", "web")
Processes = frozenset[str]  # those of evenkeel that are to run on this machine


class Verdict(StrEnum):
    """``FINE`` only by evidence. ``UNKNOWN``: it was not or could not be looked at."""

    FINE = "fine"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class Check(Struct, frozen=True):
    """``what`` was looked at, ``where``, and what was ``found`` there. ``mend``: the command or the step that mends
    it, empty for what is fine.
    """

    area: str
    what: str
    verdict: Verdict
    found: str
    where: str = ""
    mend: str = ""


def fine(area: str, what: str, found: str, where: str = "") -> Check:
    return Check(area, what, Verdict.FINE, found, where)


def wrong(area: str, what: str, found: str, mend: str, where: str = "") -> Check:
    return Check(area, what, Verdict.WRONG, found, where, mend)


def unknown(area: str, what: str, why: str, mend: str = "", where: str = "") -> Check:
    return Check(area, what, Verdict.UNKNOWN, why, where, mend)


class Report(Struct, frozen=True):
    """All checks. ``ts``: when they began, epoch ms; ``took_s``: how long they took."""

    evenkeel: str
    ts: int
    took_s: float
    checks: tuple[Check, ...]

    def count(self, verdict: Verdict) -> int:
        return sum(check.verdict is verdict for check in self.checks)

    @property
    def is_wrong(self) -> bool:
        return self.count(Verdict.WRONG) > 0


def in_order(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The checks by area, and within an area as they came."""
    return tuple(sorted(checks, key=lambda check: AREAS.index(check.area)))
