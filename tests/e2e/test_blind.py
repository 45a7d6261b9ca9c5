"""Silence is not health: whatever stops on the way from RocketMQ to a page, somebody is told within a minute."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaError

from schemas.events import SCHEMA_VERSION, BrokerAnswer, Round, encode_event
from schemas.records import group_key
from streaming.loopback import LoopbackKafka
from streaming.wall_clock import now_ms
from testing.hook import RULES, Told
from testing.http_server import Server
from testing.job import EVENKEEL, PATIENCE_S, Job, child_environment
from testing.waiting import until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(1800),
]

TOPIC = "events"
CLUSTERS = tuple(f"c{number}" for number in range(5))
BLIND_S = 22  # the least that goes with the intervals below, where the default is 35
WITHIN_S = BLIND_S + 25  # so that the default is told of within a minute
QUICK = {"job": {"health_seconds": 3}, "collector": {"interval_seconds": 1, "timeout_seconds": 1}}
STARTING_S = 90  # the notifier accuses nobody before
IMPATIENT = {"delivery_timeout_ms": 1500, "request_timeout_ms": 1000, "max_block_ms": 1000, "linger_ms": 0}


class Collector:
    """Sends a round of each cluster that it is to cover every second; what Kafka does not take is lost."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.covers = set(CLUSTERS)
        self._servers = bootstrap_servers
        self._stop = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Collector":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        producer, number = KafkaProducer(bootstrap_servers=self._servers, **IMPATIENT), 0
        try:
            while not self._stop.wait(1):
                number += 1
                for cluster in sorted(self.covers):
                    with suppress(KafkaError):
                        producer.send(TOPIC, encode_event(_round(cluster, number)), group_key(cluster, "g").encode())
        finally:
            producer.close(timeout=5)


def _round(cluster: str, number: int) -> Round:
    now = now_ms()
    return Round(
        schema=SCHEMA_VERSION, cluster=cluster, group="g", ts=now, round=now, seq=number, source="e2e",
        brokers=(BrokerAnswer(broker_name="b", answered=True),),
    )  # fmt: skip


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[LoopbackKafka]:
    """One that may be stopped and started again, with what it holds."""
    with LoopbackKafka(tmp_path / "kafka") as broker:
        broker.create_topic(TOPIC, 2)
        yield broker


@pytest.fixture
def job(broker: LoopbackKafka, tmp_path: Path) -> Iterator[Job]:
    state = {"alerts": str(tmp_path / "alerts.toml"), "state": str(tmp_path / "state")}
    # Health facts find a free processor while a batch is held up: it has two tasks.
    values = {
        **QUICK,
        "spark": {"master": "local[4,4]"},
        "notify": state,
        "collector.clusters": dict.fromkeys(CLUSTERS, "127.0.0.1:1"),
    }
    job = Job(tmp_path / "job", broker.bootstrap_servers, TOPIC, values)
    yield job
    job.close()


@contextmanager
def starved(job: Job) -> Iterator[None]:
    """Its Python workers get no processor, as on a machine that is busy with something else: the batch takes long."""
    workers = job.workers()
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_whatever_stops_is_told_within_a_minute(broker: LoopbackKafka, job: Job, tmp_path: Path) -> None:
    """The collector pauses while Kafka is down: kafka-python leaves sockets open whenever it fails to connect."""
    with Server() as server:
        (tmp_path / "alerts.toml").write_text(RULES.format(url=server.url, blind_s=BLIND_S, late_s=60))
        told = Told(server)
        notifier = subprocess.Popen(
            [*EVENKEEL, "notify", "--config", str(job.config)], cwd=tmp_path, env=child_environment()
        )
        try:
            job.start()
            with Collector(broker.bootstrap_servers) as collector:
                collector.covers.remove("c3")
                until(lambda: told.blind() == {"c3"}, STARTING_S + WITHIN_S, "one dead cluster of five is told")
                assert told.why("c3")[0] == "none_of_it_sent"
                collector.covers.clear()
                until(lambda: told.blind() == set(CLUSTERS), WITHIN_S, "the collector's end is told")
                assert {told.why(cluster)[0] for cluster in CLUSTERS if cluster != "c3"} == {"nothing_sent"}
                collector.covers.update(CLUSTERS)
                until(lambda: not told.open(), PATIENCE_S, "all is well again")
                with starved(job):
                    until(lambda: told.blind() == set(CLUSTERS), WITHIN_S, "that the job is too slow is told")
                    whys = {told.why(cluster) for cluster in CLUSTERS}
                    assert {why for why, _ in whys} == {"job_slow"}
                    assert all("it had worked on the present batch for" in body for _, body in whys)
                    assert all("waited for it in Kafka" in body for _, body in whys)
                until(lambda: not told.open(), PATIENCE_S, "all is well again")
            broker.stop()
            until(lambda: told.blind() == set(CLUSTERS), WITHIN_S, "Kafka's end is told")
            for cluster in CLUSTERS:
                why, body = told.why(cluster)
                assert why == "kafka_silent", body
                assert "Kafka has not answered it since" in body or "Kafka last answered it at" in body
            broker.start()
            if not job.is_running():
                job.start()
            with Collector(broker.bootstrap_servers):
                until(lambda: not told.open(), PATIENCE_S, "all is well again")
                job.kill()
                until(lambda: told.blind() == set(CLUSTERS), WITHIN_S, "the job's end is told")
                assert {told.why(cluster)[0] for cluster in CLUSTERS} == {"job_silent"}
            broker.stop()
            job.start()
            until(lambda: not job.is_running(), PATIENCE_S, "a job that Kafka does not answer has ended")
            until(lambda: told.newest_why() == {"job_failed"}, PATIENCE_S, "its error is told")
        finally:
            notifier.terminate()
            assert notifier.wait(PATIENCE_S) == 0
    assert "standby: the notifier waits until" in job.log, "that of 'run' waits meanwhile"
