"""The dashboard as a file: what Grafana needs to import it, and which metrics it uses."""

import json
import re

import pytest

from streaming.metrics.catalogue import METRICS
from tests.monitoring.dashboard import ANNOTATIONS, DASHBOARD, QUERIES, names_in, panels

NAMES = {m.name + end for m in METRICS for end in ("", "_bucket", "_count", "_sum")}
# Of single groups there are tables and alerts; the last batch is seen by what it wrote.
NOT_SHOWN = {"evenkeel_group_status", "evenkeel_job_last_batch_timestamp_seconds"}


def test_the_source_of_data_is_a_variable() -> None:
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    source = {"type": "prometheus", "uid": "${datasource}"}
    assert variables["cluster"]["datasource"] == source
    asked = [one["datasource"] for panel in panels() for one in (panel, *panel["targets"])]
    assert all(one == source for one in asked)


def test_the_groups_come_before_evenkeel_itself() -> None:
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert rows[:3] == ["Groups", "RocketMQ's lag", "Is evenkeel well?"]


def test_what_is_shown_of_single_groups_goes_by_the_chosen_groups() -> None:
    of_groups = re.compile(r"evenkeel_(?:group_|rocketmq_lag_)\w+\{([^}]*)\}")
    selections = [one for query in QUERIES for one in of_groups.findall(query)]
    assert len(selections) > 8
    assert all('consumer_group=~"$consumer_group"' in one for one in selections)


def test_a_group_leads_to_its_page() -> None:
    """At the address that the variable names, with the parameters that the pages know."""
    (pages,) = [one for one in DASHBOARD["templating"]["list"] if one["name"] == "pages"]
    assert pages["type"] == "textbox"
    links = re.findall(r"\$\{pages\}/(\w*)\??([^\"]*)", json.dumps(DASHBOARD))
    assert {path for path, _ in links} == {"", "group"}
    assert all(
        re.fullmatch(r"cluster=\$\{\S+\.cluster:percentencode\}&group=\$\{\S+\.consumer_group:percentencode\}", rest)
        for path, rest in links
        if path
    )


def test_alerts_and_rebalances_are_marked_in_every_graph() -> None:
    assert [names_in(one["expr"]) for one in ANNOTATIONS] == [
        {"evenkeel_group_alerts"}, {"evenkeel_group_rebalances_total"},
    ]  # fmt: skip


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
