"""The chart, the values with which the tests render it, and what Helm rendered of them, kept in ``rendered``.

After a change of the chart: ``UPDATE_GOLDEN=1 python -m pytest tests/kubernetes``, with Helm (``programs``). Then read
the difference.
"""

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import yaml

from testing.go_programs import path_of
from tests.kubernetes.programs import HELM

HERE = Path(__file__).parent
CHART = HERE.parents[1] / "deploy" / "kubernetes" / "evenkeel"
RULES = CHART / "files" / "evenkeel-rules.yml"
NAMES = ("small", "job-alone", "one-node-volume", "large")
KUBERNETES = "1.33.0"


def values(name: str) -> Path:
    return HERE / "values" / f"{name}.yaml"


def golden(name: str) -> Path:
    return HERE / "rendered" / f"{name}.yaml"


def helm(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([path_of(HELM), *words], capture_output=True, text=True, timeout=60)


def template(*files: Path, chart: Path = CHART) -> "subprocess.CompletedProcess[str]":
    options = [word for file in files for word in ("--values", file)]
    return helm("template", "evenkeel", chart, "--namespace", "monitoring", "--kube-version", KUBERNETES, *options)


def checksum(name: str) -> str:
    """Of all that the golden file rests on. The rules for Prometheus are not in it."""
    read = [path for path in sorted(CHART.rglob("*")) if path.is_file() and path != RULES] + [values(name)]
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in read)).hexdigest()


def kept(name: str, rendered: str) -> str:
    """The text of the golden file."""
    parts = [part for part in rendered.split("---\n") if part and "kind: PrometheusRule\n" not in part]
    return "---\n".join([f"# By Helm, of the chart and values with the checksum {checksum(name)}\n", *parts])


def objects(text: str) -> list[dict[str, Any]]:
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]
