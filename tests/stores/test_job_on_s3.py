"""The job with its tables and checkpoint on S3: run, killed, started again, refused beside itself, rebuilt, read."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from streaming.cli import main
from streaming.lease_file import EXPIRES_S
from streaming.tables.storage import delta_uri
from testing.process_session import kill_all
from testing.stores.jars import hadoop_aws_jars, missing_jars
from testing.stores.servers import LoopbackStore

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow("a Spark of its own"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing_jars()), reason=missing_jars()),
]
ROOT = Path(__file__).parents[2]
PATIENCE_S = 400


@pytest.fixture
def config(server: LoopbackStore, folder: str, tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    sections: Mapping[str, Mapping[str, object]] = {
        "source": {"kind": "files", "folder": str(tmp_path / "events")},
        "tables": {"path": f"{folder}/tables"},
        "job": {"checkpoint": f"{folder}/checkpoint", "shards": 2, "trigger_seconds": 1, "projection_seconds": 1},
        "notify": {"state": str(tmp_path / "notify")},
        "spark": {"master": "local[2]"},
        "spark.settings": {
            "spark.jars": ",".join(map(str, hadoop_aws_jars())),
            "spark.hadoop.fs.s3a.endpoint": server.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.sql.shuffle.partitions": 2,
        },
    }
    path = tmp_path / "evenkeel.toml"
    path.write_text(
        "\n".join(
            "\n".join([f"[{name}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in keys.items())])
            for name, keys in sections.items()
        )
    )
    return path


@contextmanager
def job(config: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (config.parent / "job.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streaming", "run", "--config", str(config)],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=config.parent, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        kill_all(process)


def until(process: subprocess.Popen[bytes], true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert process.poll() is None, f"the job ended with {process.returncode} before {what}"
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.5)


def add_events(config: Path, seed: int) -> None:
    """Another file of the fleet with this seed."""
    made = config.parent / f"{seed}.jsonl"
    words = ["--groups", "3", "--clients", "2", "--queues", "4", "--seconds", "60", "--seed", str(seed)]
    assert main(["simulate", *words, "--to", str(made), "--config", str(config)]) == 0
    made.rename(config.parent / "events" / made.name)


def rows(folder: str, table: str) -> int:
    try:
        return int(DeltaTable(delta_uri(f"{folder}/tables/{table}")).to_pyarrow_table().num_rows)
    except TableNotFoundError:
        return 0


@pytest.mark.deep("an object store, which Go builds first")
def test_job_is_killed_and_goes_on_refuses_others_and_is_rebuilt(
    config: Path, folder: str, capfd: pytest.CaptureFixture[str]
) -> None:
    add_events(config, 1)
    with job(config) as first:
        until(first, lambda: rows(folder, "group_status") > 0, "the first groups are in the tables")
        assert main(["rebuild", "--config", str(config)]) == 4
        assert f"in use by process {first.pid} on" in capfd.readouterr().err
        first.send_signal(signal.SIGKILL)
        first.wait(30)
    before = rows(folder, "facts")
    add_events(config, 2)
    began = time.monotonic()
    with job(config) as second:
        until(second, lambda: rows(folder, "facts") > before, "the next one goes on")
        assert time.monotonic() - began > EXPIRES_S / 2, "it did not wait for the lease"
        second.send_signal(signal.SIGTERM)
        assert second.wait(60) == 0
    known = rows(folder, "group_status")
    assert main(["rebuild", "--config", str(config)]) == 0
    assert rows(folder, "group_status") == known
    group = DeltaTable(delta_uri(f"{folder}/tables/group_status")).to_pyarrow_table()["consumer_group"][0].as_py()
    assert main(["explain", group, "--config", str(config)]) == 0
    assert group in capfd.readouterr().out
