"""What one look at a run reads: tables, processes, the machine, and what Spark writes."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from bench.endure.figures import DAY_S
from bench.endure.samples import (
    Commits,
    Spent,
    mean_of_spark,
    of_folder,
    of_machine,
    of_process,
    of_spark,
    of_tables,
    series,
    total,
)


def test_files_of_a_table_are_counted_apart_from_its_log(tmp_path: Path):
    log = tmp_path / "facts" / "_delta_log"
    log.mkdir(parents=True)
    (log / "0.json").write_bytes(b"x" * 1024)
    (tmp_path / "facts" / "date=2026-11-26").mkdir()
    (tmp_path / "facts" / "date=2026-11-26" / "one.parquet").write_bytes(b"x" * 4096)
    (tmp_path / "_lease").write_text("")
    assert of_tables(tmp_path) == {
        "tables.facts.files": 1,
        "tables.facts.mb": 4096 / 2**20,
        "tables.facts.log_files": 1,
        "tables.facts.log_mb": 1024 / 2**20,
    }
    assert of_folder("logs", tmp_path / "none") == {"logs.files": 0, "logs.mb": 0}


def test_latency_is_from_the_oldest_fact_of_a_commit(tmp_path: Path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    looks = Commits(tmp_path)
    for version, is_change in enumerate((True, True, False)):
        stats = json.dumps({"minValues": {"ts": "2020-01-01T00:00:00.000Z"}})
        (log / f"{version:020}.json").write_text(json.dumps({"add": {"dataChange": is_change, "stats": stats}}) + "\n")
    found = looks.look()
    assert found["facts.commits"] == 3
    assert found["facts.latency_p50_s"] > 5 * 365 * DAY_S
    assert looks.look() == {"facts.commits": 3}, "each commit counts once"


@pytest.mark.deep("a short measurement")
def test_processor_time_is_that_of_a_process_and_its_children_since_the_last_look():
    spent = Spent(os.getpid())
    began_s = sum(os.times()[:2])
    with subprocess.Popen([sys.executable, "-c", "sum(range(10**7))\ninput()"], stdin=subprocess.PIPE) as child:
        taken, deadline_s = 0.0, time.monotonic() + 60
        while taken < 0.1 and time.monotonic() < deadline_s:
            time.sleep(0.05)
            taken += spent.look()
        child.communicate(b"\n")
    assert taken >= 0.1
    assert taken > sum(os.times()[:2]) - began_s


def test_threads_of_deltalake_are_counted_apart(tmp_path: Path):
    write_deltalake(str(tmp_path / "table"), pa.table({"a": [1]}))
    assert DeltaTable(str(tmp_path / "table")).count() == 1
    ours = of_process("one", os.getpid())
    assert ours["one.pool_threads"] >= 1
    assert ours["one.threads"] >= threading.active_count()
    with subprocess.Popen(["sleep", "60"]) as other:
        found = of_process("one", other.pid)
        other.kill()
    assert found["one.threads"] == 1
    assert "one.pool_threads" not in found


@pytest.mark.deep("a short measurement")
def test_processor_time_has_that_of_ended_children():
    before_s = of_process("one", os.getpid())["one.cpu_s"]
    busy = "import time\nwhile time.process_time() < 0.3: pass"  # 0.2 and more, as the system counts ticks of 10 ms
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert of_process("one", os.getpid())["one.cpu_s"] >= before_s + 0.2


@pytest.mark.deep("a short measurement")
def test_the_speed_of_the_machine_and_its_other_work_are_measured_apart():
    of_machine()
    began_s = time.process_time()
    while time.process_time() - began_s < 0.2:
        pass
    found = of_machine()
    assert found["machine.busy_percent"] > 100 / (os.cpu_count() or 1) / 4, "this test alone took much of one core"
    assert 0 < found["machine.loop_ms"] < 1_000


def test_prometheus_text_is_summed_by_name():
    text = '# HELP a b\na{x="1"} 2\na{x="2"} 3.5\na_count 9\n'
    assert (total(text, "a"), total(text, "a_count"), total(text, "b")) == (5.5, 9, None)
    assert total(text, 'a{x="2"}') == 3.5
    assert series(text) == 3


def test_only_what_spark_wrote_a_moment_ago_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.endure.samples.time.time", lambda: 1_000_100.0)
    (tmp_path / "evenkeel.driver.jvm.direct.used.csv").write_text("t,value\n1000000,7\n1000090,8\n")
    (tmp_path / "evenkeel.driver.jvm.mapped.used.csv").write_text("t,value\n999000,7\n")
    assert of_spark(tmp_path, "*.jvm.direct.used.csv") == 8
    assert of_spark(tmp_path, "*.jvm.mapped.used.csv") is None
    assert of_spark(tmp_path, "*.none.csv") is None


def test_all_triggers_since_the_line_before_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.endure.samples.time.time", lambda: 1_000_100.0)
    written = "t,value\n1000060,9000\n1000075,800\n1000085,900\n1000095,1300\n10001"
    (tmp_path / "evenkeel.driver.spark.streaming.detection.latency.csv").write_text(written)
    assert mean_of_spark(tmp_path, "*.spark.streaming.*.latency.csv") == 1_000
    assert mean_of_spark(tmp_path, "*.none.csv") is None
