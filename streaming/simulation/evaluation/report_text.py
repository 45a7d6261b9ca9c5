"""The figures of an evaluation as people read them."""

from collections.abc import Iterator
from typing import Any

COLUMNS = ("incidents", "wanted", "recall", "precision", "cause_right", "delay_s_p50", "delay_s_p99")
HEADS = ("incidents", "faults", "found", "true", "cause", "p50", "p99")
SHOWN = 20


PERTURBED = (
    ("incidents", "incidents"),
    ("lasting", "lasting"),
    ("lasting_told_late", "late"),
    ("lasting_without_page", "untold"),
    ("false_in_incidents", "false"),
    ("healthy_rebalances", "rebalances"),
    ("healthy_pages", "pages"),
)


def lines(report: dict[str, Any]) -> Iterator[str]:
    """``report`` as ``Report.as_json`` gives it."""
    yield from _plain(report)
    if "perturbed" in report:
        yield ""
        yield "with perturbations"
        yield from _perturbed(report["perturbed"])


def _perturbed(report: dict[str, Any]) -> Iterator[str]:
    yield f"{'':<26}" + "".join(f"{head:>11}" for _, head in PERTURBED)
    for name, figures in {"all": report["all"], **report["perturbations"]}.items():
        yield f"  {name:<24}" + "".join(f"{figures[key]:>11}" for key, _ in PERTURBED)
    yield from _list("wrong for ten minutes without a page", report["lasting_without_page"], "due_s")
    yield from _list("false", report["false"], "fired_s")


def _plain(report: dict[str, Any]) -> Iterator[str]:
    total = report["total"]
    yield f"{'':<26}" + "".join(f"{head:>11}" for head in HEADS)
    yield _row("all", total)
    for title in ("kinds", "causes", "faults"):
        yield ""
        yield title
        for name, figures in report[title].items():
            yield _row(f"  {name}", figures)
    yield ""
    yield f"{total['healthy_rebalances']} healthy rebalances, {total['healthy_pages']} pages"
    yield from _list("missed", report["missed"], "due_s")
    yield from _list("false", report["false"], "fired_s")


def _row(name: str, figures: dict[str, Any]) -> str:
    return f"{name:<26}" + "".join(f"{_shown(column, figures[column]):>11}" for column in COLUMNS)


def _shown(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if column in ("recall", "precision", "cause_right"):
        return f"{value:.1%}"
    return f"{value:.0f} s" if column.startswith("delay") else str(value)


def _list(title: str, found: list[dict[str, Any]], when: str) -> Iterator[str]:
    if not found:
        return
    yield ""
    yield f"{title}: {len(found)}"
    for one in found[:SHOWN]:
        what = f"{one['kind']} {one.get('cause') or ''}".strip()
        among = ", ".join([*one["faults"], *one.get("perturbations", ())])
        yield f"  seed {one['seed']}: {what} at {one[when]:.0f} s; {among}; {one['shape']}"
    if len(found) > SHOWN:
        yield f"  and {len(found) - SHOWN} more: --json has all"
