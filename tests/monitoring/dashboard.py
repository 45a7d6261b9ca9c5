"""The dashboard's panels and queries."""

import json
import re
from pathlib import Path
from typing import Any

DASHBOARD: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "conf" / "grafana" / "evenkeel.json").read_text("utf-8")
)


def panels() -> list[dict[str, Any]]:
    """Those that ask; a row only divides."""
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


ANNOTATIONS: list[dict[str, Any]] = DASHBOARD["annotations"]["list"]
OF_PANELS: list[str] = [target["expr"] for panel in panels() for target in panel["targets"]]
QUERIES: list[str] = [*OF_PANELS, *(one["expr"] for one in ANNOTATIONS)]


def names_in(query: str) -> set[str]:
    """evenkeel's metrics in it."""
    return set(re.findall(r"evenkeel_\w+", query))


def as_grafana_asks(query: str) -> str:
    """With the values of variables: all clusters and groups, and an interval that fits a scrape every second."""
    return query.replace("$cluster", ".*").replace("$consumer_group", ".*").replace("$__rate_interval", "30s")
