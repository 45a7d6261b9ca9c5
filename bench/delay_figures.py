"""The results of faults: the delay until each reached the webhook, and if its cause was right."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from bench.results import Tree

S = 1000


class Page(NamedTuple):
    """A notice that reached the webhook at ``ts``. ``fired_ts``: the newest round marker at which its alerts fired."""

    ts: int
    status: str
    severity: str
    cause: str | None
    kinds: tuple[str, ...]
    fired_ts: int


class Trial(NamedTuple):
    """One fault of one group at ``fault_ts``, and the group's pages until ``until_ts``. Times are epoch milliseconds.

    ``causes``: the right ones; empty: no page is right. ``error``: why the fault could not be caused.
    """

    group: str
    causes: frozenset[str]
    fault_ts: int = 0
    until_ts: int = 0
    pages: tuple[Page, ...] = ()
    error: str = ""

    @property
    def first(self) -> Page | None:
        return next(iter(self._firing()), None)

    @property
    def right(self) -> Page | None:
        """The first page with a right cause."""
        return next((page for page in self._firing() if page.cause in self.causes), None)

    @property
    def critical(self) -> Page | None:
        """The first critical page with a right cause."""
        right = (page for page in self._firing() if page.cause in self.causes)
        return next((page for page in right if page.severity == "critical"), None)

    @property
    def early(self) -> int:
        """The number of pages before the fault."""
        return sum(page.status == "firing" and page.ts < self.fault_ts for page in self.pages)

    def _firing(self) -> list[Page]:
        return [page for page in self.pages if page.status == "firing" and page.ts >= self.fault_ts]


def page_of(notice: Mapping[str, Any], arrived_ts: int) -> Page:
    """The page of a notice that the webhook received."""
    alerts = notice["alerts"]
    kinds = sorted({alert["alert"]["kind"] for alert in alerts})
    fired_ts = max((alert["ts"] for alert in alerts), default=0)
    return Page(arrived_ts, notice["status"], notice["severity"], notice["cause"], tuple(kinds), fired_ts)


def figures(trials: Sequence[Trial]) -> Tree:
    """The figures of one fault at one version."""
    done = [trial for trial in trials if not trial.error]
    common: Tree = {
        "times": len(done),
        "pages_before_the_fault": sum(trial.early for trial in done),
        "errors": [f"{trial.group}: {trial.error}" for trial in trials if trial.error],
    }
    return common | (_delays(done) if any(trial.causes for trial in done) else _quiet(done))


def _delays(trials: Sequence[Trial]) -> Tree:
    first = [(trial, trial.first) for trial in trials]
    found = [(trial, page) for trial, page in first if page is not None]
    return {
        "found": len(found),
        "missed": len(trials) - len(found),
        "cause_right": sum(page.cause in trial.causes for trial, page in found),
        "causes": sorted({str(page.cause) for _, page in found}),
        "kinds": sorted({kind for _, page in found for kind in page.kinds}),
        **_seconds("page", [page.ts - trial.fault_ts for trial, page in found]),
        **_seconds("right_cause", [page.ts - trial.fault_ts for trial in trials if (page := trial.right)]),
        **_seconds("critical", [page.ts - trial.fault_ts for trial in trials if (page := trial.critical)]),
        **_seconds("page_after_round", [page.ts - page.fired_ts for _, page in found]),
    }


def _quiet(trials: Sequence[Trial]) -> Tree:
    """The figures of faults for which no page is right: the time without a page."""
    return {
        "paged": sum(trial.first is not None for trial in trials),
        "watched_s": min((_s(trial.until_ts - trial.fault_ts) for trial in trials), default=None),
    }


def _seconds(name: str, delays_ms: Sequence[int]) -> Tree:
    seconds = sorted(map(_s, delays_ms))
    if not seconds:
        return {f"{name}_s": []}
    return {f"{name}_s": seconds, f"{name}_median_s": round(median(seconds), 1), f"{name}_worst_s": seconds[-1]}


def _s(ms: int) -> float:
    return round(ms / S, 1)
