"""Tables and a checkpoint on disk: there, readable, of this version, and written lately."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from schemas.tables import ALERTS, FACTS, MONITOR_HEALTH, TABLES
from streaming.config.sections import Config
from streaming.core.state.packing import STATE_VERSION
from streaming.doctor import tables
from streaming.doctor.checks import Check, Verdict
from streaming.doctor.judgement import tables as judge
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.creation import create_tables
from streaming.tables.storage import mark_replayed
from streaming.tables.version import TABLES_VERSION
from streaming.wall_clock import now_ms
from tests.unprivileged import obey_permissions, permissions_count

ROOT = Path(__file__).parents[2]
RUN = frozenset({"run"})


def config(folder: Path, **source: object) -> Config:
    sections = {"tables": {"path": f"{folder}/t"}, "job": {"checkpoint": f"{folder}/c"}}
    return Config.model_validate({**sections, "source": {"bootstrap_servers": "127.0.0.1:1", **source}})


def looked(folder: Path) -> Mapping[str, Check]:
    """By what was looked at; tables by their name."""
    found = tables.checks(config(folder), RUN, 60, contends=False)
    return {check.where if check.what == "table" else check.what: check for check in found}


def write_checkpoint(folder: Path, **changed: object) -> None:
    """One batch that has ended, and read 5 records of each of two partitions."""
    identity = {"identity": "i", "source": "topic evenkeel-events", "shards": 32, "state_partitions": 32}
    identity |= {"state_version": STATE_VERSION, **changed}
    for name, text in {
        "evenkeel/identity.json": json.dumps(identity),
        "offsets/0": 'v1\n{}\n{"evenkeel-events":{"0":5,"1":5}}',
        "commits/0": "v1\n{}",
    }.items():
        path = folder / "c" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_nothing_is_there_before_the_first_start(tmp_path: Path) -> None:
    found = looked(tmp_path)
    assert {check.verdict for check in found.values()} == {Verdict.UNKNOWN}
    assert list(tmp_path.iterdir()) == [], "nothing is written"


@pytest.mark.slow("a folder of a release is unpacked")
def test_tables_and_checkpoint_of_this_version(tmp_path: Path) -> None:
    create_tables(f"{tmp_path}/t", TABLES)
    row = {field.name: None for field in arrow_schema(MONITOR_HEALTH)}
    now = datetime.fromtimestamp(now_ms() / 1000, UTC)
    write_health(tmp_path, row | {"ts": now, "date": now.date()})
    write_checkpoint(tmp_path)
    found = looked(tmp_path)
    assert {found[one.name].verdict for one in TABLES} == {Verdict.FINE}
    assert found["newest row"].verdict is Verdict.FINE
    assert found["version"].found == str(TABLES_VERSION)
    assert (
        found["checkpoint"].found == f"state of version {STATE_VERSION}, this evenkeel reads {STATE_VERSION}; batch 0"
    )
    assert found["lag of the job"].verdict is Verdict.UNKNOWN, "Kafka is away"

    version = tmp_path / "t" / "_evenkeel.json"
    version.unlink()
    assert looked(tmp_path)["version"].found == f"0; the next start of 'evenkeel run' makes it {TABLES_VERSION}"
    version.write_text(f'{{"tables_version":{TABLES_VERSION + 1}}}')
    newer = looked(tmp_path)["version"]
    assert (newer.verdict, newer.mend.split(";")[0]) == (Verdict.WRONG, "start the evenkeel that wrote them")
    (tmp_path / "t" / "alerts" / "_delta_log" / f"{0:020}.json").write_text("damaged")
    (gone,) = [path for path in (tmp_path / "t" / "monitor_health").rglob("*.parquet") if path.stat().st_size]
    gone.unlink()
    found = looked(tmp_path)
    assert found["alerts"].verdict is Verdict.WRONG
    assert found["alerts"].mend.startswith("reach the storage")
    assert "\n" not in found["alerts"].found
    assert "Json error" in found["alerts"].found
    assert found["monitor_health"].verdict is Verdict.WRONG
    assert found["monitor_health"].mend == "evenkeel rebuild"


def test_store_without_credentials_is_named_by_its_last_cause(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As under sudo, which drops the variables of AWS."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    check = judge.table("s3://bucket/t", tables._seen("s3://bucket/t", FACTS))
    assert check.verdict is Verdict.WRONG
    assert "IMDS disabled" in check.found
    assert check.mend.startswith("reach the storage")


@pytest.mark.slow("a folder of a release is unpacked")
def test_tables_of_another_user_are_reached_and_not_restored(tmp_path: Path) -> None:
    if not permissions_count(tmp_path):
        pytest.skip("permissions keep nobody out here")
    create_tables(f"{tmp_path}/t", (FACTS, ALERTS))
    program = (
        "import sys; from tests.doctor.test_tables import config; from streaming.doctor.tables import checks; "
        "from pathlib import Path\n"
        "for check in checks(config(Path(sys.argv[1])), frozenset(), 60, False): "
        "print(check.verdict.value, check.where, check.found, check.mend, sep='|')"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]

    def said() -> list[list[str]]:
        done = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60, preexec_fn=obey_permissions
        )
        return [line.split("|") for line in done.stdout.splitlines()]

    (tmp_path / "t" / "facts").chmod(0)
    (facts,) = [line for line in said() if line[1] == "facts"]
    assert facts[0] == "wrong"
    assert "Permission denied" in facts[2]
    assert facts[3] == judge.REACH
    (tmp_path / "t" / "facts").chmod(0o700)
    (tmp_path / "t").chmod(0)
    (closed,) = said()
    (tmp_path / "t").chmod(0o700)
    assert closed == ["wrong", f"{tmp_path}/t", "this user cannot look into the folder: Permission denied", judge.REACH]


def write_health(folder: Path, row: Mapping[str, object]) -> None:
    write_deltalake(
        f"{folder}/t/monitor_health", pa.Table.from_pylist([dict(row)], arrow_schema(MONITOR_HEALTH)), mode="append"
    )


@pytest.mark.parametrize(
    ("changed", "found", "mend"),
    [
        ({"shards": 8}, "made with 8 shards", "evenkeel reseed"),
        ({"source": "topic another"}, "made for topic another", "evenkeel reseed"),
        ({"state_version": STATE_VERSION + 1}, f"state of version {STATE_VERSION + 1}", "start the newer evenkeel"),
    ],
)
def test_checkpoint_of_another_configuration_or_version(
    tmp_path: Path, changed: Mapping[str, object], found: str, mend: str
) -> None:
    write_checkpoint(tmp_path, **changed)
    check = looked(tmp_path)["checkpoint"]
    assert check.verdict is Verdict.WRONG
    assert found in check.found
    assert mend in check.mend


@pytest.mark.slow("a folder of a release is unpacked")
def test_facts_without_a_checkpoint(tmp_path: Path) -> None:
    create_tables(f"{tmp_path}/t", (FACTS,))
    assert looked(tmp_path)["checkpoint"].verdict is Verdict.WRONG


def test_tables_of_a_replay(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    mark_replayed(tmp_path / "t", "evenkeel replay")
    (check,) = looked(tmp_path).values()
    assert check.verdict is Verdict.WRONG
    assert "evenkeel replay" in check.found


@pytest.mark.kafka
def test_place_of_the_job_in_kafka(tmp_path: Path, kafka: object) -> None:
    from kafka import KafkaProducer

    servers = kafka.bootstrap_servers  # type: ignore[attr-defined]
    kafka.create_topic("doctor-lag", 2)  # type: ignore[attr-defined]
    producer = KafkaProducer(bootstrap_servers=servers)
    for _ in range(9):
        producer.send("doctor-lag", b"{}", partition=0)
    producer.close()
    write_checkpoint(tmp_path, source="topic doctor-lag")
    (tmp_path / "c" / "offsets" / "0").write_text('v1\n{}\n{"doctor-lag":{"0":5,"1":0}}')
    for batch, verdict in ((4, Verdict.FINE), (3, Verdict.WRONG)):
        given = config(tmp_path, bootstrap_servers=servers, topic="doctor-lag", max_offsets_per_trigger=batch)
        found = {check.what: check for check in tables.checks(given, RUN, 60, contends=False)}
        assert found["partitions read"].verdict is Verdict.FINE
        assert found["lag of the job"].verdict is verdict
        assert found["lag of the job"].found.startswith("4 records")
