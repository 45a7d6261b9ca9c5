"""docs/metrics.md has every metric of the catalogue as it is, and no other."""

import re
from pathlib import Path

import pytest

from streaming.collector.probing.client_schedule import BROKER_FAILED, LABELS
from streaming.collector.wire.requests import Outcome
from streaming.config.sections import Metrics
from streaming.metrics.catalogue import METRICS, Metric
from streaming.metrics.endpoints import ENDPOINTS
from tests.metrics.scraping import kind_of, unit_of

TEXT = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
ROWS = {row.split("`")[1]: row for row in re.findall(r"(?m)^\| `evenkeel_.*\|$", TEXT)}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_documented_as_it_is(metric: Metric) -> None:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "–"
    processes = ", ".join(metric.processes)
    cells = (f"`{metric.name}`", kind_of(metric), labels, unit_of(metric) or "–", processes, metric.help)
    assert ROWS[metric.name] == f"| {' | '.join(cells)} |"


def test_nothing_else_is_documented() -> None:
    assert ROWS.keys() == {metric.name for metric in METRICS}
    ends = ("_bucket", "_sum", "_count")
    known = {metric.name for metric in METRICS} | {metric.name + end for metric in METRICS for end in ends}
    assert set(re.findall(r"evenkeel_\w+", TEXT)) - known == set()


def test_the_words_of_labels_are_explained() -> None:
    assert [
        one for one in (*LABELS.values(), BROKER_FAILED, *(o.value for o in Outcome)) if f"`{one}`" not in TEXT
    ] == []


def test_the_addresses_and_the_limit_are_those() -> None:
    assert re.findall(r"(?m)^\| `(/\w+)` \|", TEXT) == list(ENDPOINTS)
    assert f"{Metrics().series_limit:,} by default" in TEXT
