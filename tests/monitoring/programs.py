"""Prometheus and Alertmanager as Debian has them, started for a test."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from streaming.loopback.ports import free_port

INSTALL = "apt-get install -y --no-install-recommends prometheus prometheus-alertmanager"
PROMTOOL = shutil.which("promtool")
PROMETHEUS = shutil.which("prometheus")
ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


def needs(program: str | None, name: str) -> Any:
    """Skips where the program is not here."""
    return pytest.mark.skipif(program is None, reason=f"no {name}: {INSTALL}")


class Prometheus:
    """Asks one over its API."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get(self, path: str, **parameters: str) -> Any:
        answer = requests.get(f"{self.address}/api/v1/{path}", parameters, timeout=30)
        assert answer.ok, answer.text
        return answer.json()["data"]

    def values(self, query: str) -> list[float]:
        """Of an instant query; what is not a number is left out."""
        found = [float(one["value"][1]) for one in self.get("query", query=query)["result"]]
        return [value for value in found if value == value]

    def alerts(self) -> dict[str, str]:
        """The state of each alert that is pending or firing."""
        return {one["labels"]["alertname"]: one["state"] for one in self.get("alerts")["alerts"]}


@contextmanager
def prometheus(folder: Path, targets: Sequence[str], rules: Path) -> Iterator[Prometheus]:
    """It scrapes every second, and evaluates the rules as often."""
    assert PROMETHEUS is not None
    folder.mkdir()
    (folder / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\nrule_files: [{rules}]\n"
        f"scrape_configs: [{{job_name: evenkeel, static_configs: [{{targets: {list(targets)}}}]}}]\n"
    )
    address = f"127.0.0.1:{free_port()}"
    command = [PROMETHEUS, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
               f"--web.listen-address={address}"]  # fmt: skip
    with started(command, f"http://{address}", folder / "log"):
        yield Prometheus(f"http://{address}")


@contextmanager
def started(command: Sequence[str], address: str, log: Path, folder: Path | None = None) -> Iterator[None]:
    """Ready in the block; ended, as systemd would end it, afterwards."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    try:
        until(lambda: is_ready(address), f"{command[0]} is ready", lambda: log.read_text()[-2000:])
        yield
    finally:
        process.terminate()
        process.wait(60)


def is_ready(address: str) -> bool:
    try:
        return requests.get(f"{address}/-/ready", timeout=5).ok
    except requests.ConnectionError:
        return False


def until(
    happens: Callable[[], Any], what: str, otherwise: Callable[[], object] = lambda: "", seconds: float = 90
) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}\n{otherwise()}"
        time.sleep(0.1)
