"""Short forms of the runs that show what grows, where each program is measured and a report is made, and of faults."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.endure.fast import CACHE_MB, SENT
from bench.endure.faults import COUNTED, read_played
from bench.endure.figures import Verdict
from bench.endure.measures import AT, FAST, LIFE, LIVE, rows_of
from bench.endure.report import LINES, PAGE, read_lines
from testing.job import ROOT, child_environment

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(900),
]

PROCESSES = ("run", "run.java", "run.workers", "projections", "web", "collect", "feed", "kafka")
OTHERS = {
    *("run.java.heap_after_gc_mb", "run.java.metaspace_mb", "run.java.direct_mb", "run.java.native_mb"),
    *("run.java.code_mb", "run.java.classes", "run.java.listener_queue", "run.trigger_s", "run.batches", "run.rounds"),
    *("run.state_mb", "run.lag_s", "run.series", "web.series", "collect.series", "web.page_ms", "facts.latency_p99_s"),
    *("notifier.waiting", "notifier.open_pages", "browsers.requests", "hook.pages", "facts.commits"),
    *("notifier.alerts", "notifier.pages_without_alert"),
    *("tables.facts.files", "tables.facts.log_files", "tables.queue_assignments.files", "checkpoint.files"),
    *("scratch.mb", "state.mb", "logs.mb", "machine.loop_ms", "machine.busy_percent"),
}
MAY_REST = {"web.page_ms"}  # for the seconds of a quarter
WITH_LOG = {"facts.latency_p50_s", "facts.latency_p99_s", "run.batch_s", "run.trigger_s", "run.batches"}


def test_a_run_measures_every_process_and_reports_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.endure", "live", "--minutes", "1", "--groups", "20"]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path)], cwd=ROOT, env=child_environment(), capture_output=True, text=True
    )
    folder = tmp_path / LIVE
    assert (folder / PAGE).exists(), done.stderr
    assert "ended by itself" not in done.stderr
    lines = read_lines(folder / LINES)
    assert len(lines) >= 20, done.stderr
    found = {row.key: row for row in rows_of(lines, LIVE)}
    assert {f"{name}.rss_mb" for name in PROCESSES} | OTHERS <= set(found)
    unknown = {key for key, row in found.items() if row.finding.verdict is Verdict.UNKNOWN}
    assert WITH_LOG <= unknown <= WITH_LOG | MAY_REST, "the log of facts never had its full length"
    assert [key for key in WITH_LOG if not any(line.get(key) for line in lines)] == []
    page = (folder / PAGE).read_text()
    assert [key for key in found if f"| {key} |" not in page] == []
    assert lines[-1]["run.rounds"] > 0
    assert [lines[-1][f"{name}.errors"] for name in ("run", "web", "browsers")] == [0, 0, 0]


def test_a_month_goes_on_where_it_was_ended(tmp_path: Path) -> None:
    folder = tmp_path / FAST
    command = [sys.executable, "-m", "bench.endure", "fast", "--groups", "10", "--folder", str(tmp_path)]
    log = tmp_path / "first.log"
    with log.open("wb") as err, subprocess.Popen(
        [*command, "--minutes", "0.4"], cwd=ROOT, env=child_environment(), stderr=err, start_new_session=True
    ) as first:  # fmt: skip
        while first.poll() is None and len(read_lines(folder / LINES)) < 5:
            time.sleep(0.2)
        os.killpg(first.pid, signal.SIGINT)  # Ctrl-C goes to all processes
    ended_s = read_lines(folder / LINES)[-1][AT]
    done = subprocess.run(
        [*command, "--minutes", str((ended_s + 6) / 60)], cwd=ROOT, env=child_environment(), capture_output=True
    )
    said = log.read_text() + done.stderr.decode()
    lines = read_lines(folder / LINES)
    last = {line[LIFE]: line for line in lines}
    assert last.keys() == {1, 2}, said
    assert "virtual days an hour" in said
    assert last[2][AT] >= ended_s + 6
    assert 0 < last[1][SENT] < last[2][SENT]
    assert last[1]["run.rounds"] + last[2]["run.rounds"] == last[2][SENT], "a round is missing, or was read twice"
    assert {"run.java.rss_mb", "tables.facts.files", "run.round_cpu_us"} <= {row.key for row in rows_of(lines, FAST)}
    assert 0 < lines[-1]["run.java.rocksdb_mb"] < 2 * int(CACHE_MB)
    assert (folder / PAGE).exists()


def test_a_fault_in_the_midst_of_a_run_loses_and_repeats_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.endure", "faults", "--minutes", "0.1", "--groups", "10", "--seed", "1"]
    done = subprocess.run(
        [*command, "--only", "kill -9 of collect", "--away-s", "5", "--folder", str(tmp_path)],
        cwd=ROOT, env=child_environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (one,) = read_played(tmp_path / "faults")
    assert [one.wrong, *(getattr(one, name) for name in COUNTED)] == [[], *(0 for _ in COUNTED)], done.stderr
    assert one.starts == {"collect": 1}
    assert None not in (one.facts_s, one.well_s)
    assert one.pages > 0
