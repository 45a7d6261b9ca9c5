"""The dashboard as a file: what Grafana needs to import it, and which metrics it uses."""

import pytest

from streaming.metrics.catalogue import METRICS
from tests.monitoring.dashboard import DASHBOARD, QUERIES, names_in, panels

NAMES = {m.name + end for m in METRICS for end in ("", "_bucket", "_count", "_sum")}
# Of single groups there are tables and alerts; the last batch is seen by what it wrote.
NOT_SHOWN = {"evenkeel_group_status", "evenkeel_group_rebalances_total", "evenkeel_job_last_batch_timestamp_seconds"}


def test_the_source_of_data_is_a_variable() -> None:
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    source = {"type": "prometheus", "uid": "${datasource}"}
    assert variables["cluster"]["datasource"] == source
    asked = [one["datasource"] for panel in panels() for one in (panel, *panel["targets"])]
    assert all(one == source for one in asked)


def test_panels_have_names_and_places_of_their_own() -> None:
    everything = DASHBOARD["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    places = {
        (x, y)
        for panel in everything
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    }
    assert len(places) == sum(panel["gridPos"]["w"] * panel["gridPos"]["h"] for panel in everything)
    assert all(x < 24 for x, _ in places)
    assert all(panel["title"] for panel in everything)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_uses_only_metrics_that_there_are(query: str) -> None:
    assert names_in(query) - NAMES == set()


def test_every_metric_is_shown() -> None:
    used = {name for query in QUERIES for name in names_in(query)}
    shown = {metric.name for metric in METRICS if {metric.name, metric.name + "_bucket"} & used}
    assert {metric.name for metric in METRICS} - shown == NOT_SHOWN
