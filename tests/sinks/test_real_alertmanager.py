"""A real Alertmanager, where Debian's package can be had: unpacked into a temporary folder, nothing is installed."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from schemas.facts import Severity
from streaming.sinks.alertmanager import AlertmanagerSink
from tests.monitoring.programs import INSTALL
from tests.sinks.messages import blind, message

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PACKAGE = "prometheus-alertmanager"
SHARE = b"/usr/share/prometheus/alertmanager"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    installed = shutil.which(PACKAGE) or shutil.which("alertmanager")
    if installed:
        return Path(installed)
    folder = tmp_path_factory.mktemp("package")
    for command in (["apt-get", "download", PACKAGE], ["dpkg", "-x"]):
        if shutil.which(command[0]) is None:
            pytest.skip(f"neither {PACKAGE} nor {command[0]} is here: {INSTALL}")
        debs = [str(deb) for deb in folder.glob("*.deb")]
        words = command if command[0] == "apt-get" else [*command, *debs, str(folder)]
        if subprocess.run(words, cwd=folder, capture_output=True, timeout=200).returncode:
            pytest.skip(f"{PACKAGE} cannot be had, {' '.join(command)} failed: {INSTALL}")
    program = folder / "usr" / "bin" / PACKAGE
    _moved(program)
    return program


def _moved(program: Path) -> None:
    """Debian's build reads its templates from where it would be installed: let it read them from where it runs."""
    here = b"./" * (len(SHARE) // 2)
    assert len(here) == len(SHARE)
    program.write_bytes(program.read_bytes().replace(SHARE, here))


@pytest.fixture(scope="module")
def alertmanager(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("alertmanager")
    (folder / "am.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [program, f"--config.file={folder}/am.yml", f"--storage.path={folder}/data", f"--web.listen-address={address}",
         "--cluster.listen-address="],
        cwd=program.parents[2] / "usr/share/prometheus/alertmanager", stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _until(lambda: _is_ready(f"http://{address}"))
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(30)


def _is_ready(url: str) -> bool:
    try:
        return requests.get(f"{url}/-/ready", timeout=5).ok
    except requests.ConnectionError:
        return False


def _until(happens: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def standing(url: str) -> list[dict[str, Any]]:
    """What Alertmanager says fires now."""
    answer = requests.get(f"{url}/api/v2/alerts", timeout=10)
    answer.raise_for_status()
    return sorted(answer.json(), key=lambda one: one["labels"]["alertname"])


def test_it_takes_what_fires_again_and_again_and_its_end(alertmanager: str) -> None:
    sink = AlertmanagerSink("am", alertmanager, "", 10)
    now = time.time_ns() // 1_000_000
    sink.send(message(now=now, severity=Severity.WARNING))
    (first,) = standing(alertmanager)
    assert first["labels"]["consumer_group"] == "orders"
    assert first["annotations"]["summary"] == "A title"
    assert first["status"]["state"] == "active"

    sink.send(message(now=now + 1000, severity=Severity.WARNING))
    (again,) = standing(alertmanager)
    assert again["fingerprint"] == first["fingerprint"]
    assert again["endsAt"] > first["endsAt"]

    sink.send(message(now=now))  # critical now: other labels
    _until(lambda: [one["labels"]["severity"] for one in standing(alertmanager)] == ["critical"])
    sink.send(blind()._replace(now=now))
    sink.send(message("resolved", now=now))
    _until(lambda: [one["labels"]["alertname"] for one in standing(alertmanager)] == ["monitor_blind"])
    sink.send(blind("resolved")._replace(now=now))
    _until(lambda: standing(alertmanager) == [])
