"""Every cell of docs/charts.ipynb runs, and its five charts show what the tables hold."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from streaming.projections.projector import run_projections
from streaming.wall_clock import now_ms
from testing.written import commit
from tests.tables.telling import HOUR, SECOND, Teller, health

matplotlib = pytest.importorskip("matplotlib")
NOTEBOOK = Path(__file__).parents[2] / "docs" / "charts.ipynb"
NOW = now_ms()


def story() -> list[object]:
    orders = Teller()
    return [
        orders.queue(NOW - 2 * HOUR, 0, "ORPHANED", severity="critical", owners=()),
        orders.queue(NOW - HOUR, 0, "MATCH", ("ORPHANED", NOW - 2 * HOUR)),
        orders.rebalance(NOW - HOUR, 20 * SECOND, 5, 2),
        orders.alert(NOW - HOUR, "firing"),
        health("prod", NOW - 5 * SECOND),
    ]


@pytest.mark.slow("a shell is started")
def test_the_charts_show_what_the_tables_hold(tmp_path: Path) -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    commit(tmp_path / "tables" / "facts", story())
    run_projections(str(tmp_path / "tables"))
    shown: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"]).replace('"data/tables"', repr(str(tmp_path / "tables")))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of matplotlib, about a single bar
                exec(source.replace('"data/notifier"', repr(str(tmp_path / "state"))), shown)

    assert len(pyplot.get_fignums()) == 5
    assert shown["harm"]["finding"] == ["ORPHANED"]
    assert [float(value) for value in shown["harm"]["queue_minutes"]] == [60]
    assert [float(value) for value in shown["rebalances"]["seconds"]] == [20]
    assert (shown["moves"]["needed"], shown["moves"]["for_nothing"]) == ([2], [3])
    assert (shown["alerts"]["kind"], shown["alerts"]["fired"]) == (["ORPHANED"], [1])
    assert [float(value) for value in shown["lag"]["seconds"]] == [0.9]
    pyplot.close("all")
