#!/usr/bin/env python3
"""Keep what a release writes as files in tests/releases, for the tests of every later release.

    scripts/keep_release.py VERSION [COMMIT]     # COMMIT: by default the working tree's own

The code of COMMIT does the work, in a worktree that is deleted at the end. It runs in the Python of this script, whose
packages must suit it. It needs Java, and the jars of COMMIT (EVENKEEL_CACHE says where they are kept).

The files: a simulated fleet's events as its collector sends them to Kafka; what ``run``, its notifier and ``collect``
leave behind when the first part of them was read; packed states of the core; and the configuration with every key.
"""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
RELEASES = ROOT / "tests" / "releases"
FLEET = "--groups 5 --clients 3 --queues 6 --seconds 1200 --faults all --faulty 0.4 --seed 3"
READ_S = 930  # of the fleet's time: alerts are open then, and others are over
PARTS = 6  # in which these are sent, so that there are several batches
PATIENCE_S = 1200  # with a busy machine
SILENCE = "--config evenkeel.toml --group retired-* --for 30d --by keeper --why kept"
# The fleet's last minutes are read by a later version only. Until then nobody is to be paged for their absence.
ALERT_RULES = "[monitor]\nblind_seconds = 3600\nlate_seconds = 3600\n"
CONFIGURATION = """\
[source]
topic = "{topic}"
bootstrap_servers = "{kafka}"

[tables]
path = "tables"

[job]
checkpoint = "checkpoint"
shards = 4
trigger_seconds = 1
projection_seconds = 1

[spark.settings]
"spark.sql.shuffle.partitions" = 2

[notify]
alerts = "alerts.toml"
state = "notifier"

[collector]
output = "file"
file = "collected.jsonl"
state = "collector"
interval_seconds = 1
timeout_seconds = 1

[collector.clusters]
simulated = "{name_server}"
"""


def main() -> None:
    version, *commit = sys.argv[1:]
    kept = RELEASES / version
    with tempfile.TemporaryDirectory(prefix="evenkeel-release-") as scratch:
        tree = Path(scratch, "tree")
        git("worktree", "add", "--detach", str(tree), *(commit or ["HEAD"]))
        try:
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
            words = [sys.executable, __file__, "--in-tree", version, str(kept), str(Path(scratch, "job"))]
            subprocess.run(words, cwd=tree, env=environment, check=True)
        finally:
            git("worktree", "remove", "--force", str(tree))
    print(f"{kept}: {sum(file.stat().st_size for file in kept.iterdir()):,} bytes")


def git(*words: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *words], check=True)


def write_all(version: str, kept: Path, job: Path) -> None:
    """By the code of the tree that is the current folder."""
    from streaming.loopback import LoopbackKafka

    keep_packed_states(kept)
    for file in ("evenkeel.toml", "alerts.toml"):
        shutil.copy(Path("conf", file), kept / file)
    topic = f"evenkeel-{version}"
    job.mkdir()
    with LoopbackKafka() as kafka, name_server() as address:
        records = simulated(kafka, f"{topic}-whole")
        with gzip.GzipFile(kept / "events.jsonl.gz", "wb", mtime=0) as file:
            file.writelines(value + b"\n" for _, value in records)
        read = first_part(records)
        kafka.create_topic(topic)
        (job / "alerts.toml").write_text(ALERT_RULES)
        values = {"topic": topic, "kafka": kafka.bootstrap_servers, "name_server": address}
        (job / "evenkeel.toml").write_text(CONFIGURATION.format(**values))
        run_command(job, "collect", lambda: any((job / "collector").glob("*.json")))
        run_job(job, kafka, topic, records[:read])
    made = {"version": version, "topic": topic, "records": len(records), "read": read}
    (kept / "release.json").write_text(json.dumps(made, indent=1) + "\n")
    with tarfile.open(kept / "job.tar.xz", "w:xz") as archive:
        for path in sorted(job.iterdir()):
            if path.name not in ("collected.jsonl", "log"):
                archive.add(path, path.name)


def keep_packed_states(kept: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.core.packed_states", str(kept / "packed.jsonl")], check=True)


@contextmanager
def name_server():
    """The address of a small cluster that answers."""
    from testing.fake_rocketmq import served, two_clients

    with served(two_clients()) as cluster:
        yield cluster.namesrv[0]


def simulated(kafka, topic: str) -> list[tuple[bytes, bytes]]:
    """The records of the fleet, each with its key, as they come out of Kafka."""
    from kafka import KafkaConsumer

    kafka.create_topic(topic)
    evenkeel("simulate", *FLEET.split(), "--kafka", kafka.bootstrap_servers, "--topic", topic)
    consumer = KafkaConsumer(
        topic, bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest", consumer_timeout_ms=5_000
    )
    try:
        return [(record.key, record.value) for record in consumer]
    finally:
        consumer.close()


def first_part(records: list[tuple[bytes, bytes]]) -> int:
    """How many records are from the first ``READ_S`` of the fleet."""
    times = [newest_time(value) for _, value in records]
    return next(number for number, ts in enumerate(times) if ts > times[0] + READ_S * 1000)


def newest_time(value: bytes) -> int:
    events = json.loads(value)
    return max(event["ts"] for event in (events if isinstance(events, list) else [events]))


def run_job(job: Path, kafka, topic: str, records: list[tuple[bytes, bytes]]) -> None:
    """Run it until it has read the records, its tables have the facts, and open alerts were sent."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
    rest, silences = list(records), job / "notifier" / "silences"

    def is_done() -> bool:
        if rest and read_upto(job) == len(records) - len(rest):
            part = [rest.pop(0) for _ in range(min(len(rest), len(records) // PARTS + 1))]
            for key, value in part:
                producer.send(topic, value, key).get(timeout=30)
        if rest or read_upto(job) < len(records) or not is_told(job):
            return False
        if not silences.exists():
            evenkeel("silence", *SILENCE.split(), cwd=job)
        return True

    try:
        run_command(job, "run", is_done)
    finally:
        producer.close()


def read_upto(job: Path) -> int:
    """The offset up to which the newest committed batch has read."""
    commits = [int(path.name) for path in (job / "checkpoint" / "commits").glob("*") if path.name.isdecimal()]
    if not commits:
        return 0
    (offsets,) = json.loads((job / "checkpoint" / "offsets" / str(max(commits))).read_text().splitlines()[2]).values()
    return int(offsets["0"])


def is_told(job: Path) -> bool:
    """Whether the tables have every alert that facts have, and each that fires was sent."""
    from deltalake import DeltaTable

    tables = job / "tables"
    if not all(DeltaTable.is_deltatable(str(tables / name)) for name in ("alerts", "notifications")):
        return False
    facts = DeltaTable(tables / "facts").to_pyarrow_table(columns=["fact", "seq", "group"]).to_pylist()
    alerts = DeltaTable(tables / "alerts").to_pyarrow_table(columns=["fingerprint", "seq", "state"]).to_pylist()
    if len(alerts) != sum(row["fact"] == "alert" for row in facts):
        return False
    newest = {row["fingerprint"]: row["state"] for row in sorted(alerts, key=lambda row: row["seq"])}
    sent = DeltaTable(tables / "notifications").to_pyarrow_table().to_pylist()
    delivered = sum(row["outcome"] == "delivered" for row in sent)
    state = job / "notifier" / "sinks" / "log.json"
    return (
        state.exists() and delivered >= len(json.loads(state.read_text())["pages"]) > 0 and "firing" in newest.values()
    )


def run_command(job: Path, command: str, is_done: Callable[[], bool]) -> None:
    """Run it until that is so, then end it by SIGTERM, in order."""
    words = [sys.executable, "-m", "streaming", command, "--config", "evenkeel.toml"]
    with (job / "log").open("ab") as log:
        process = subprocess.Popen(words, cwd=job, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not is_done():
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"evenkeel {command} has not done its work: {(job / 'log').read_text()[-3000:]}")
                time.sleep(0.5)
            time.sleep(3)  # what is written after what was waited for
            process.send_signal(signal.SIGTERM)
            if process.wait(60) != 0:
                sys.exit(f"evenkeel {command} ended with {process.returncode}")
        finally:
            process.kill()


def evenkeel(*words: str, cwd: Path | None = None) -> None:
    subprocess.run([sys.executable, "-m", "streaming", *words], cwd=cwd, check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--in-tree":
        sys.path.insert(0, str(Path.cwd()))
        write_all(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
