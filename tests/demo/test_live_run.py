"""Parts of the show that need neither Spark nor a watcher."""

import json
import os
import time
from itertools import takewhile
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from streaming.cli.demo import demo_alerts
from streaming.demo.live_run import FINISH_WITHIN_S, StderrToFile, records_read
from streaming.demo.publisher import Publisher
from streaming.demo.recording_schedule import Scheduled, load_scenarios, schedule
from streaming.loopback import LoopbackKafka
from testing.records import accepted, records_of
from testing.waiting import until


def commit(path: Path, note: str | None) -> None:
    said = CommitProperties(custom_metadata={"userMetadata": note}) if note else None
    write_deltalake(path, pa.table({"a": [1]}), mode="append", commit_properties=said)


def test_how_much_was_read_is_said_by_the_newest_commit(tmp_path: Path) -> None:
    path = tmp_path / "facts"
    assert records_read(path) == 0, "there is no table yet"
    commit(path, None)
    assert records_read(path) == 0
    commit(path, json.dumps({"identity": "x", "offsets": {"evenkeel-events": {"0": 3, "1": 4}, "other": {"0": 9}}}))
    assert records_read(path) == 7


def test_what_java_says_goes_to_a_file_and_ours_does_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    java_says = StderrToFile(tmp_path / "log")
    java_says.begin()
    os.write(2, b"WARN nothing of interest\n")
    java_says.end()
    java_says.end()
    os.write(2, b"ours\n")
    assert (tmp_path / "log").read_text() == "WARN nothing of interest\n"
    assert capfd.readouterr().err == "ours\n"
    java_says.show_last()
    assert capfd.readouterr().err == "WARN nothing of interest\n"


def test_the_end_of_the_show_is_no_trouble_of_evenkeel() -> None:
    assert demo_alerts("127.0.0.1:8400").monitor.blind_seconds > FINISH_WITHIN_S


@pytest.mark.kafka
def test_records_reach_kafka_under_their_keys_and_deeds_do_not(kafka: LoopbackKafka) -> None:
    kafka.create_topic("played", 3)
    start_ms = int(time.time() * 1000) - 30_000  # due already
    scenarios = load_scenarios(pytest.fail)
    played = list(takewhile(lambda one: one.due_ms < start_ms + 20_000, schedule(scenarios, start_ms)))
    noted: list[Scheduled] = []
    publisher = Publisher(kafka.bootstrap_servers, "played", iter(played), noted.append)
    publisher.start()
    until(lambda: len(noted) == len(played))
    publisher.stop()
    publisher.check()
    actions = [publisher.actions.get() for _ in range(publisher.actions.qsize())]
    assert actions == [one for one in played if one.action]
    records = records_of(kafka.bootstrap_servers, "played")
    arrived = [(record.key, event) for record in records for event in accepted(record.key, record.value)]
    assert publisher.output.records < len(arrived) == publisher.output.sent, "a round is one record"
    for scenario in scenarios:
        key = f"demo/{scenario.group}".encode()
        assert [event for k, event in arrived if k == key] == [
            event for one in played if one.group == scenario.group for event in one.events
        ]


@pytest.mark.kafka
def test_a_stopped_show_plays_no_more(kafka: LoopbackKafka) -> None:
    kafka.create_topic("stopped", 1)
    publisher = Publisher(kafka.bootstrap_servers, "stopped", schedule(load_scenarios(pytest.fail), 2**50))
    publisher.start()
    publisher.stop()
    assert publisher.output.records == 0
