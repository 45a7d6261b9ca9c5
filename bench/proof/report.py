"""The figures of many runs: recall, delays, causes, and false pages; and these as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from bench.proof.more_faults import ANY_FAULT_NAMED
from bench.proof.pop_faults import POP_FAULT_NAMED
from bench.proof.results import ExpectedPage, Page, Run
from streaming.simulation.fleet import T0


def figures(incidents: int, expected: list[ExpectedPage], pages: list[Page]) -> dict[str, Any]:
    """The figures of these incidents. A figure without any case is None, never 0 or 100 %."""
    causes = [one.cause_is_right for one in expected if one.cause_is_right is not None]
    delays = sorted(one.delay_ms for one in expected if one.delay_ms is not None)
    return {
        "incidents": incidents,
        "wanted": len(expected),
        "recall": _share(sum(one.found is not None for one in expected), len(expected)),
        "precision": _share(sum(page.is_true for page in pages), len(pages)),
        "cause_right": _share(sum(causes), len(causes)),
        "delay_s_p50": _percentile(delays, 50),
        "delay_s_p99": _percentile(delays, 99),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _percentile(delays: list[int], percent: int) -> float | None:
    """The nearest rank, in seconds."""
    return delays[max(0, -(-len(delays) * percent // 100) - 1)] / 1_000 if delays else None


class Report(Struct):
    """All runs of an evaluation. ``missed`` and ``false`` give the seed that repeats each.

    ``operations``: what is counted in healthy groups. ``pop``: of groups of gRPC clients.
    """

    incidents: list[Run] = field(default_factory=list)
    healthy: list[Run] = field(default_factory=list)
    perturbed: Report | None = None
    pop: Report | None = None
    operations: str = "rebalances"

    @property
    def healthy_pages(self) -> list[tuple[Run, Page]]:
        """Pages in healthy operation. Each is a false page, unless it was true for ten minutes."""
        return [(run, page) for run in self.healthy for page in run.pages if not page.is_true]

    @property
    def without_page(self) -> list[tuple[Run, ExpectedPage]]:
        """Faults of ten minutes and longer without a page."""
        runs = [*self.incidents, *self.healthy]
        return [(run, one) for run in runs for one in run.lasting if one.found is None]

    @property
    def is_bad(self) -> bool:
        """Whether a fault was missed or a healthy group paged. With perturbations only lasting faults count."""
        missed = any(one.found is None for run in self.incidents for one in run.expected)
        perturbed = self.perturbed is not None and (self.perturbed.without_page or self.perturbed.healthy_pages)
        return bool(missed or self.healthy_pages or perturbed or (self.pop is not None and self.pop.is_bad))

    def as_json(self) -> dict[str, Any]:
        found = self._as_json()
        if self.perturbed is not None:
            found["perturbed"] = {**self.perturbed._as_json(), **self.perturbed._of_perturbations()}
        if self.pop is not None:
            found["pop"] = self.pop._as_json()
        return found

    def _of_perturbations(self) -> dict[str, Any]:
        names = sorted({name for run in [*self.incidents, *self.healthy] for name in run.perturbations})
        return {
            "all": self._lasting_figures(),
            "perturbations": {name: self._with(name)._lasting_figures() for name in names},
            "lasting_without_page": [_missed(run, one) for run, one in self.without_page],
        }

    def _with(self, name: str) -> Report:
        incidents = [run for run in self.incidents if name in run.perturbations]
        return Report(incidents, [run for run in self.healthy if name in run.perturbations])

    def _lasting_figures(self) -> dict[str, int]:
        return {
            "incidents": len(self.incidents),
            "lasting": sum(len(run.lasting) for run in [*self.incidents, *self.healthy]),
            "lasting_told_late": sum(one.is_late for run in [*self.incidents, *self.healthy] for one in run.lasting),
            "lasting_without_page": len(self.without_page),
            "false_in_incidents": len(self._false_of_incidents()),
            "healthy_runs": len(self.healthy),
            "healthy_rebalances": sum(run.rebalances for run in self.healthy),
            "healthy_pages": len(self.healthy_pages),
            "healthy_true_pages": sum(page.is_true for run in self.healthy for page in run.pages),
        }

    def _as_json(self) -> dict[str, Any]:
        return {
            "total": {
                **_figures_of(self.incidents),
                f"healthy_{self.operations}": sum(run.rebalances for run in self.healthy),
                "healthy_pages": len(self.healthy_pages),
                "simulated_s": round(sum(run.seconds for run in [*self.incidents, *self.healthy])),
            },
            "kinds": {kind: _figures_of(self.incidents, kind) for kind in self._kinds()},
            "causes": {cause: self._of_faults(names) for cause, names in self._causes().items()},
            "faults": {name: self._of_faults({name}) for name in self._faults()},
            "missed": [_missed(run, one) for run in self.incidents for one in run.expected if one.found is None],
            "false": [*self._false_of_incidents(), *(_page(run, page) for run, page in self.healthy_pages)],
        }

    def _kinds(self) -> list[str]:
        found = {one.kind.value for run in self.incidents for one in run.expected}
        return sorted(found | {page.kind.value for run in self.incidents for page in run.pages})

    def _faults(self) -> list[str]:
        return sorted({run.faults[0] for run in self.incidents})

    def _causes(self) -> dict[str, set[str]]:
        """The best cause of each fault, and its pages."""
        found: dict[str, set[str]] = {}
        for name in self._faults():
            for cause in (POP_FAULT_NAMED.get(name) or ANY_FAULT_NAMED[name]).causes[:1]:
                found.setdefault(cause.value, set()).add(name)
        return dict(sorted(found.items()))

    def _of_faults(self, names: set[str]) -> dict[str, Any]:
        """The figures of incidents whose first fault is one of these."""
        return _figures_of([run for run in self.incidents if run.faults[0] in names])

    def _false_of_incidents(self) -> list[dict[str, Any]]:
        return [_page(run, page) for run in self.incidents for page in run.pages if not page.is_true]


def _figures_of(runs: list[Run], kind: str | None = None) -> dict[str, Any]:
    expected = [one for run in runs for one in run.expected if kind in (None, one.kind)]
    return figures(len(runs), expected, [page for run in runs for page in run.pages if kind in (None, page.kind)])


def _of_run(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {"seed": run.seed, "faults": run.faults, "shape": run.shape}
    return {**found, "perturbations": run.perturbations} if run.perturbations else found


def _missed(run: Run, one: ExpectedPage) -> dict[str, Any]:
    return {
        **_of_run(run),
        "kind": one.kind.value,
        "topic": one.topic,
        "from_s": (one.from_ts - T0) / 1_000,
        "due_s": (one.due_ts - T0) / 1_000,
    }


def _page(run: Run, page: Page) -> dict[str, Any]:
    return {
        **_of_run(run),
        **({"was_so": page.was_so} if run.perturbations else {}),
        "kind": page.kind.value,
        "topic": page.topic,
        "cause": page.cause,
        "severity": page.severity,
        "fired_s": (page.fired_ts - T0) / 1_000,
    }


COLUMNS = {
    "incidents": "incidents", "wanted": "faults", "recall": "found", "precision": "true", "cause_right": "cause",
    "delay_s_p50": "p50", "delay_s_p99": "p99",
}  # fmt: skip
PERTURBED = {
    "incidents": "incidents", "lasting": "lasting", "lasting_told_late": "late", "lasting_without_page": "untold",
    "false_in_incidents": "false", "healthy_rebalances": "rebalances", "healthy_pages": "pages",
}  # fmt: skip
SHOWN = 20


def as_text(report: dict[str, Any]) -> Iterator[str]:
    """``report`` as ``Report.as_json`` gives it."""
    yield from _plain_text(report)
    if "perturbed" in report:
        perturbed = report["perturbed"]
        yield from _table("with perturbations", {"all": perturbed["all"], **perturbed["perturbations"]}, PERTURBED)
        yield from _text_list("wrong for ten minutes without a page", perturbed["lasting_without_page"], "due_s")
        yield from _text_list("false", perturbed["false"], "fired_s")
    if "pop" in report:
        yield from ("", "groups of gRPC clients")
        yield from _plain_text(report["pop"])


def _plain_text(report: dict[str, Any]) -> Iterator[str]:
    total = report["total"]
    for title in ("kinds", "causes", "faults"):
        yield from _table(title, report[title], COLUMNS)
    yield from _table("", {"all": total}, COLUMNS)
    for operations in ("rebalances", "operations"):
        if f"healthy_{operations}" in total:
            yield f"{total[f'healthy_{operations}']} healthy {operations}, {total['healthy_pages']} pages"
    yield from _text_list("missed", report["missed"], "due_s")
    yield from _text_list("false", report["false"], "fired_s")


def _table(title: str, rows: dict[str, dict[str, Any]], columns: dict[str, str]) -> Iterator[str]:
    yield ""
    yield f"{title:<26}" + "".join(f"{head:>11}" for head in columns.values())
    for name, figures in rows.items():
        yield f"  {name:<24}" + "".join(f"{_cell(column, figures[column]):>11}" for column in columns)


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if column in ("recall", "precision", "cause_right"):
        return f"{value:.1%}"
    return f"{value:.0f} s" if column.startswith("delay") else str(value)


def _text_list(title: str, found: list[dict[str, Any]], when: str) -> Iterator[str]:
    yield from ("", f"{title}: {len(found)}") if found else ()
    for one in found[:SHOWN]:
        what = f"{one['kind']} {one.get('cause') or ''}".strip()
        among = ", ".join([*one["faults"], *one.get("perturbations", ())])
        yield f"  seed {one['seed']}: {what} at {one[when]:.0f} s; {among}; {one['shape']}"
    if len(found) > SHOWN:
        yield f"  and {len(found) - SHOWN} more: JSON=FILE has all"
