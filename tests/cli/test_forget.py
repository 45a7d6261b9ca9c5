"""``evenkeel forget``: one event, under the group's key, in a file of its own or in Kafka."""

from pathlib import Path

import pytest

from schemas.events import Forget
from schemas.records import decode_record
from streaming.cli import main
from streaming.loopback import LoopbackKafka
from testing.records import records_of


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    path = tmp_path / "evenkeel.toml"
    text = f"""
[source]
kind = "files"
folder = "{tmp_path}/events"
[collector]
clusters = {{ prod = "127.0.0.1:9876" }}
"""
    path.write_text(text)
    return path


def written(config: Path) -> Forget:
    (path,) = (config.parent / "events").iterdir()
    line = path.read_bytes()
    assert path.suffix == ".jsonl"
    (event,) = decode_record(None, line, len(line), None)
    assert isinstance(event, Forget)
    return event


def test_a_job_on_files_finds_it_in_a_file_of_its_own(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", "orders", "--config", str(config)]) == 0
    event = written(config)
    assert (event.cluster, event.group) == ("prod", "orders")
    assert "@" in event.who
    assert event.source.startswith("forget ")
    assert capsys.readouterr().out.startswith("orders of prod is to be forgotten: sent to ")


def test_another_cluster_can_be_named(config: Path) -> None:
    assert main(["forget", "orders", "--cluster", "west", "--config", str(config)]) == 0
    assert written(config).cluster == "west"


def test_without_a_cluster_it_asks_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", "orders"]) == 2
    assert "collector.clusters is empty: name it with --cluster" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["", "--cluster", "prod"], ["orders", "--cluster", "a/b"], ["o" * 2000]])
def test_what_cannot_be_a_group_is_refused(config: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", *words, "--config", str(config)]) == 2
    assert "is no group that can be watched" in capsys.readouterr().err
    assert list((config.parent / "events").iterdir()) == []


def test_kafka_that_is_away_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evenkeel.toml"
    path.write_text('[source]\nbootstrap_servers = "127.0.0.1:1"\n')
    assert main(["forget", "orders", "--cluster", "prod", "--config", str(path)]) == 3
    assert "topic evenkeel-events at 127.0.0.1:1: not taken: 127.0.0.1:1: Connection refused" in capsys.readouterr().err


@pytest.mark.kafka
def test_kafka_has_it_under_the_groups_key(tmp_path: Path, kafka: LoopbackKafka) -> None:
    kafka.create_topic("forgotten", partitions=2)
    path = tmp_path / "evenkeel.toml"
    path.write_text(f'[source]\nbootstrap_servers = "{kafka.bootstrap_servers}"\ntopic = "forgotten"\n')
    assert main(["forget", "orders", "--cluster", "prod", "--config", str(path)]) == 0
    (record,) = records_of(kafka.bootstrap_servers, "forgotten")
    (event,) = decode_record(record.key, record.value, len(record.value), record.timestamp)
    assert isinstance(event, Forget)
    assert (record.key, event.group) == (b"prod/orders", "orders")
