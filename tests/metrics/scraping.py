"""What Prometheus would read."""

from collections.abc import Mapping
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from prometheus_client.parser import text_string_to_metric_families

from streaming.metrics.catalogue import METRICS, Metric

_opener = build_opener(ProxyHandler({}))
Labels = frozenset[tuple[str, str]]


class Scrape:
    """The samples of a text, by name and labels. Whatever the catalogue does not say of them is an error."""

    def __init__(self, text: str) -> None:
        self.values: dict[tuple[str, Labels], float] = {}
        for family in text_string_to_metric_families(text):
            if family.name.startswith("evenkeel_"):
                self._check(family.name, family.type, {name for s in family.samples for name in s.labels})
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                assert key not in self.values, f"{key} stands twice"
                self.values[key] = sample.value

    def _check(self, name: str, kind: str, labels: set[str]) -> None:
        full = f"{name}_total" if kind == "counter" else name
        (metric,) = [metric for metric in METRICS if metric.name == full]
        assert kind_of(metric) == kind
        assert labels - ({"le"} if kind == "histogram" else set()) <= set(metric.labels)

    def __getitem__(self, name: str) -> float:
        """Of a metric that has one series."""
        (value,) = self.of(name).values()
        return value

    def of(self, name: str, **labels: str) -> dict[Labels, float]:
        """The series of a name that have these labels."""
        wanted = set(labels.items())
        return {those: value for (one, those), value in self.values.items() if one == name and wanted <= those}

    def one(self, name: str, **labels: str) -> float:
        (value,) = self.of(name, **labels).values()
        return value

    @property
    def names(self) -> set[str]:
        """Metrics of the catalogue."""
        found = {name for name, _ in self.values}
        ends = ("", "_bucket")
        return {metric.name for metric in METRICS if any(metric.name + end in found for end in ends)}


def get(url: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> tuple[int, str, Mapping[str, str]]:
    """Status, text and headers."""
    request = Request(url, method=method, headers=dict(headers or {}))
    try:
        with _opener.open(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


def scrape(address: str) -> Scrape:
    status, text, headers = get(f"{address}/metrics")
    assert status == 200, text
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape(text)


def unit_of(metric: Metric) -> str:
    """The base unit in the name; empty for counts of things."""
    last = metric.name.removesuffix("_total").rpartition("_")[2]
    return last if last in ("seconds", "bytes") else ""


def kind_of(metric: Metric) -> str:
    """Prometheus's word for it: counter, gauge or histogram."""
    return metric.type(metric.name, metric.help).type


def of_process(process: str) -> set[str]:
    """What a process may expose, by the catalogue."""
    return {metric.name for metric in METRICS if process in metric.processes}
