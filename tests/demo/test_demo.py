"""The demo as a user sees it: from the command to its end, and nothing left running."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
import requests

from streaming.projections.progress import read_progress
from streaming.tables.facts_log import FactsLog
from streaming.tables.storage import replayed_by
from tests.metrics.scraping import of_process, scrape

MARK = "EVENKEEL_TEST_MARK"
GONE_WITHIN_S = 120
SHOWN_WITHIN_S = 300
ONLY_IN_TROUBLE = {"evenkeel_monitor_troubles"}

# It shares neither Spark nor Kafka, and mostly waits: so it is in no lane of theirs.
pytestmark = [pytest.mark.slow("a Spark and a Kafka of its own"), pytest.mark.timeout(1800)]


@pytest.fixture
def mark() -> Iterator[str]:
    """Every process that the test starts inherits this in its environment; those still there are a failure."""
    mark = uuid4().hex
    yield mark
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.5)
    for process in left:
        process.kill()
    assert [process.info["cmdline"] for process in left] == []


def marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["environ", "cmdline", "status"]):
        if (process.info["environ"] or {}).get(MARK) == mark and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def demo(mark: str, folder: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "streaming", "demo", "--keep", str(folder), *options]
    environ = {**os.environ, MARK: mark, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def shows(address: str, text: str) -> bool:
    """Whether the page there comes to show it."""
    deadline = time.monotonic() + SHOWN_WITHIN_S
    while time.monotonic() < deadline:
        if text in requests.get(address, timeout=30).text:
            return True
        time.sleep(1)
    return False


@pytest.mark.deep("the demo is played to its end, which .ci/run does, too")
def test_it_tells_of_healthy_groups_and_of_alerts_with_their_cause_and_ends(tmp_path: Path, mark: str) -> None:
    process = demo(mark, tmp_path / "kept", "--seconds", "60")
    said, _ = process.communicate(timeout=1700)
    assert process.returncode == 0, said
    firing = re.search(r"FIRING +critical +DUPLICATED +demo/G_d_sameid_50573 .*\n(.*\n)(.*\n)", said)
    assert firing is not None, said
    assert "broker-a 0-3: owned by 127.0.0.1@same (2 instances)" in firing[1]
    assert "SAME_CLIENT_ID" in firing[2]
    assert re.search(r"^ +http://127\.0\.0\.1:\d+/alert\?id=\w+$", said, re.MULTILINE)
    assert re.search(r"healthy +G_a_scaleout_50402", said)
    assert re.search(r"^G_b_kill9_50499 .* healthy +- *$", said, re.MULTILINE), "the summary"
    assert re.search(r"^shipping .* healthy +- *$", said, re.MULTILINE), "the simulated fleet"
    assert re.search(r"\(done\) +billing: ", said)
    assert "Traceback" not in said
    progress = read_progress(str(tmp_path / "kept" / "tables"))
    assert progress is not None
    assert progress.pending is None
    assert progress.done.version > FactsLog(str(tmp_path / "kept" / "tables" / "facts")).table().version()
    assert replayed_by(str(tmp_path / "kept" / "tables")) == "evenkeel demo"


def test_it_is_scraped_and_silenced_while_it_plays_and_ctrl_c_ends_it_without_complaint(
    tmp_path: Path, mark: str
) -> None:
    process = demo(mark, tmp_path / "kept")
    assert process.stdout is not None
    lines = iter(process.stdout)
    said = read_until(lines, "Pages to people on call go to ")
    (address,) = re.findall(r"In a browser: (\S+)", said)
    (targets,) = re.findall(r"For Prometheus: (.+)", said)
    assert shows(address, "G_b_kill9_50499")
    said += read_until(lines, "(page) ")
    if "/alert?id=" not in said:  # it is printed by another thread
        said += read_until(lines, "/alert?id=")
    all_are_exposed(targets.split(", "))
    (title,) = re.findall(r"\(page\) +(.+)", said)
    assert title in (tmp_path / "kept" / "pages.log").read_text("utf-8")
    (alert, *_) = re.findall(r"(http://\S+/alert\?id=\w+)", said)
    silenced = requests.post(f"{address}silence", form_of(alert) | {"minutes": "60", "why": "a test"}, timeout=30)
    assert silenced.ok, silenced.text
    assert "a test" in requests.get(f"{address}silences", timeout=30).text
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process in the foreground
    rest, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said + rest
    assert "Stopping ..." in rest
    assert "Tables: " in rest
    assert "Traceback" not in said + rest
    (query,) = re.findall(r"^(\S+ - <<'EOF'\nimport duckdb\n.*?^EOF)$", rest, re.MULTILINE | re.DOTALL)
    answer = subprocess.run(["bash", "-c", query], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "billing" in answer.stdout


def read_until(lines: Iterator[str], words: str) -> str:
    """What is printed up to the line that has these words."""
    said = ""
    for line in lines:
        said += line
        if words in line:
            return said
    raise AssertionError(f"it ended without {words!r}: {said}")


def all_are_exposed(addresses: list[str]) -> None:
    """Every metric that the dashboard and the rules ask for, by the three parts that each stands for a process."""
    exposed = dict(zip(addresses, ("run", "collect", "web"), strict=True))
    wanted = {(address, name) for address, process in exposed.items() for name in of_process(process) - ONLY_IN_TROUBLE}
    deadline = time.monotonic() + SHOWN_WITHIN_S
    while missing := wanted - {(one, name) for one in addresses for name in scrape(one.removesuffix("/metrics")).names}:
        assert time.monotonic() < deadline, missing
        time.sleep(1)


def form_of(alert: str) -> dict[str, str]:
    """The hidden fields of the form that silences, and its first choice of what."""
    page = requests.get(alert, timeout=30).text
    form = page.partition('action="/silence"')[2].partition("</form>")[0]
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    return hidden | {"scope": re.findall(r'name="scope" value="(\w+)"', form)[0]}
