"""The job as it runs for months: its pulse, its end by a signal, and what it leaves for the next start."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest
from kafka import KafkaProducer

from schemas.events import encode_event
from schemas.facts import HealthFact
from streaming.config.sections import Source
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.spark.facts import FactsTable
from streaming.spark.job import prepare_to_take_over, run
from streaming.spark.kafka_offsets import Brokers
from testing.waiting import until
from tests.spark.pipeline import Pipeline, fleet, folded

pytestmark = [
    pytest.mark.deep("tables of their own, written by Spark for a minute and more"),
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.timeout(600),
]
ROOT = Path(__file__).parents[2]
SERVE = """
import sys
from pathlib import Path
from streaming.config.load import load_config
from streaming.spark.service import serve
serve(load_config(Path(sys.argv[1])), started=lambda: print("started", flush=True))
"""


@contextmanager
def running(pipeline, **fields):
    """The job in a thread, until the block ends."""
    stop, started = Event(), Event()
    plan = pipeline.plan(trigger_seconds=0.2, **fields)
    thread = Thread(target=run, args=(pipeline.spark, plan, stop, started.set))
    thread.start()
    try:
        assert started.wait(60)
        yield
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def producer(source):
    return KafkaProducer(bootstrap_servers=source.bootstrap_servers)


def send(source, events):
    sender = producer(source)
    for event in events:
        sender.send(source.topic, key=f"{event.cluster}/{event.group}".encode(), value=encode_event(event))
    sender.close()


@pytest.fixture
def topic(kafka, request):
    kafka.create_topic(request.node.name)
    return request.node.name


def test_the_pulse_is_seen_while_nothing_arrives_and_while_events_do(spark, kafka, topic, tmp_path):
    pipeline = Pipeline(spark, tmp_path, Source(topic=topic, bootstrap_servers=kafka.bootstrap_servers))
    events = fleet().events
    with running(pipeline, health_seconds=2):
        until(lambda: pipeline.commits() > 0 and pipeline.health(), 90)
        send(pipeline.source, events)
        until(lambda: any(one.events for one in pipeline.health()), 90)
        until(lambda: pulse(pipeline)[-1].payload.status == "idle", 90)
    health = pulse(pipeline)
    assert next(fact.payload.status for fact in health if fact.cluster == "") == "idle"
    assert sum(fact.payload.events for fact in health if fact.cluster == "c") == len(events)
    assert [fact for fact in pipeline.facts() if fact.payload.fact != "health"] == folded((events, DEFAULT_SETTINGS))


def test_a_signal_ends_it_within_30_s_and_the_next_start_goes_on(spark, kafka, topic, tmp_path):
    pipeline = Pipeline(spark, tmp_path, Source(topic=topic, bootstrap_servers=kafka.bootstrap_servers))
    events = fleet().events
    half = len(events) // 2
    for part in (events[:half], events[half:]):
        process = serve(pipeline)
        try:
            send(pipeline.source, part)
            newest = part[-1].ts
            until(lambda newest=newest: any(note_of(fact, newest) for fact in pipeline.facts()), 120)
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            status, said = process.wait(60), process.stderr.read()
            assert status == 0, said
            assert time.monotonic() - began < 30
            assert "\tat " not in said, f"a story of Java's, though it was asked to stop:\n{said}"
        finally:
            process.kill()
            process.communicate()
    assert [fact for fact in pipeline.facts() if fact.payload.fact != "health"] == folded((events, DEFAULT_SETTINGS))


def pulse(pipeline):
    """The health facts in the order of their times."""
    return sorted((f for f in pipeline.facts() if isinstance(f.payload, HealthFact)), key=lambda fact: fact.ts)


def note_of(fact, newest):
    """A health fact that has seen the round of that time."""
    return isinstance(fact.payload, HealthFact) and fact.payload.lag_ms and fact.ts - fact.payload.lag_ms >= newest


def serve(pipeline):
    config = pipeline.folder / "evenkeel.toml"
    config.write_text(
        f"""
[source]
topic = "{pipeline.source.topic}"
bootstrap_servers = "{pipeline.source.bootstrap_servers}"
[tables]
path = "{pipeline.folder}/tables"
[job]
checkpoint = "{pipeline.checkpoint}"
shards = 4
trigger_seconds = 0.5
health_seconds = 1
[spark]
master = "local[2]"
"""
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SERVE, str(config)]
    process = subprocess.Popen(
        command, env=environment, cwd=pipeline.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "started\n", process.communicate()[1]
    return process


def test_a_standby_reads_the_facts_ahead_and_needs_no_kafka(spark, tmp_path, monkeypatch):
    """Before it has the lease, so it writes nothing."""
    pipeline = Pipeline(spark, tmp_path)
    pipeline.drop([encode_event(event) for event in fleet().events])
    pipeline.run()
    version, read, asked, notes = pipeline.commits(), [], [], FactsTable.notes
    monkeypatch.setattr(FactsTable, "notes", lambda table, *of: read.append(table.path) or notes(table, *of))
    monkeypatch.setattr("streaming.spark.job.AHEAD_WITHIN_S", 0.5)
    ends = Brokers.ends
    monkeypatch.setattr(Brokers, "ends", lambda brokers, within_s: asked.append(within_s) or ends(brokers, within_s))
    source = Source(bootstrap_servers="127.0.0.1:1", topic="events")
    prepare_to_take_over(spark, replace(pipeline.plan(checkpoint=str(tmp_path / "new")), source=source), Event())
    assert (f"{tmp_path}/tables/facts" in read, asked) == (True, [0.5])
    assert pipeline.commits() == version
    assert not (tmp_path / "new").exists()
