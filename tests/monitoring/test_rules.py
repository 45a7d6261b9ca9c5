"""The rules for Prometheus, by promtool, and what is said of them."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from streaming.cli import demo
from streaming.metrics.catalogue import METRICS
from tests.monitoring.programs import PROMTOOL, needs

ROOT = Path(__file__).parents[2]
RULES = ROOT / "conf" / "prometheus" / "evenkeel-rules.yml"
SCRAPES = RULES.with_name("prometheus.yml")
TIMELINES = Path(__file__).parent / "rules_test.yml"
NAMES = {m.name + end for m in METRICS for end in ("", "_bucket", "_count", "_sum")}


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


ALERTS = [rule for rule in rules() if "alert" in rule]


@pytest.mark.deep_rows("promtool plays hours of series")
@pytest.mark.slow("promtool plays hours")
@needs(PROMTOOL, "promtool")
@pytest.mark.parametrize("words", [["check", "config", str(SCRAPES)], ["test", "rules", str(TIMELINES)]], ids=str)
def test_promtool_accepts_them(words: list[str]) -> None:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_scraped_is_where_the_demo_serves_it() -> None:
    scrapes = yaml.safe_load(SCRAPES.read_text())
    (job,) = scrapes["scrape_configs"]
    (targets,) = [one["targets"] for one in job["static_configs"]]
    assert targets == [f"{demo.HOST}:{port}" for port in (demo.METRICS, demo.COLLECTOR, demo.PAGES)]
    assert scrapes["rule_files"] == [RULES.name]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_every_alert_fires_in_a_timeline(alert: dict[str, Any]) -> None:
    assert f'alertname="{alert["alert"]}"' in TIMELINES.read_text()
    assert alert["labels"]["severity"] in ("critical", "warning", "info", "none")
    assert alert["annotations"]["summary"]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_every_alert_leads_to_what_to_do(alert: dict[str, Any]) -> None:
    assert alert["annotations"]["runbook_url"] == f"EVENKEEL_DOCS/metrics.md#{alert['alert'].lower()}"
    assert re.search(rf"(?m)^#### {alert['alert']}\n\n\S", (ROOT / "docs" / "metrics.md").read_text("utf-8"))


def test_they_use_only_metrics_that_there_are() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for rule in rules():
        used = set(re.findall(r"[\w:]*evenkeel_[\w:]+", rule["expr"]))
        assert used - NAMES - recorded == set()


def test_the_docs_name_every_alert() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    named = re.findall(r"(?m)^\| `(Evenkeel\w+)` \| (\w+) \|", text)
    assert named == [(rule["alert"], rule["labels"]["severity"]) for rule in ALERTS]
