"""The chart by Helm itself: it renders what is kept, and refuses values that cannot work."""

import shutil
from pathlib import Path

import pytest
import yaml

from testing.go_programs import missing
from testing.golden import compare
from tests.kubernetes.chart import CHART, HERE, NAMES, RULES, golden, helm, kept, objects, template, values
from tests.kubernetes.programs import HELM
from tests.kubernetes.schema_faults import faults

REFUSED = sorted((HERE / "refused").iterdir())

pytestmark = pytest.mark.slow("Helm is started")
needs_helm = pytest.mark.skipif(bool(missing(HELM)), reason=missing(HELM))


@needs_helm
@pytest.mark.parametrize("name", NAMES)
def test_helm_renders_what_is_kept_and_finds_no_fault(name: str) -> None:
    linted = helm("lint", "--strict", CHART, "--values", values(name))
    assert linted.returncode == 0, linted.stdout
    rendered = template(values(name))
    assert rendered.returncode == 0, rendered.stderr
    compare(kept(name, rendered.stdout), golden(name))


@needs_helm
def test_the_rules_are_those_of_prometheus() -> None:
    text = template(values("large")).stdout
    assert faults(objects(text)) == []
    (rule,) = [one["spec"] for one in objects(text) if one["kind"] == "PrometheusRule"]
    ours = RULES.read_text(encoding="utf-8").replace("EVENKEEL_DOCS", "https://git.example.com/evenkeel/docs")
    assert rule == yaml.safe_load(ours)


@needs_helm
def test_a_chart_without_its_rules_is_refused(tmp_path: Path) -> None:
    copy = shutil.copytree(CHART, tmp_path / "evenkeel", ignore=shutil.ignore_patterns(RULES.name))
    done = template(values("large"), chart=copy)
    assert done.returncode == 1
    assert "the chart lacks files/evenkeel-rules.yml" in done.stderr


@needs_helm
@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_values_that_cannot_work_are_refused(path: Path) -> None:
    wanted = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    done = template(values("small"), path)
    assert done.returncode == 1
    assert wanted in done.stderr
    assert done.stdout == ""
