"""What a real job exposes over HTTP while a recording of a real RocketMQ is played, and when it ends."""

import time
from contextlib import suppress

import pytest

from streaming.demo.recording_schedule import CLUSTER, load_scenarios
from streaming.loopback import LoopbackKafka
from streaming.loopback.ports import free_port
from testing.job import PATIENCE_S
from testing.waiting import until
from tests.e2e.conftest import MakeJob
from tests.e2e.test_pages import FIRES_AFTER_MS, played
from tests.metrics.scraping import Scrape, get, of_process, scrape

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(900),
]

# What is exposed only in trouble, or only of groups that do something.
SOMETIMES = {"evenkeel_monitor_troubles", "evenkeel_group_alerts", "evenkeel_alerts"}


class Seen:
    """Scrapes until something shows; a job that starts does not answer yet."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.found = Scrape("")

    def shows(self, name: str, least: float = 1, **labels: str) -> bool:
        with suppress(OSError):
            self.found = scrape(self.address)
        return sum(self.found.of(name, **labels).values()) >= least


def test_a_job_tells_prometheus_what_it_does_and_what_it_finds(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob
) -> None:
    port = free_port()
    seen = Seen(f"http://127.0.0.1:{port}")
    (broken,) = [scenario for scenario in load_scenarios(print) if scenario.plan.name == "d_sameid"]
    job = make_job(values={"job": {"health_seconds": 3}, "metrics": {"listen": f"127.0.0.1:{port}"}})
    job.start()
    until(lambda: seen.shows("evenkeel_build_info", process="run"), PATIENCE_S, "it answers, also while Spark starts")
    assert get(f"{seen.address}/healthz")[0] == 200
    assert get(f"{seen.address}/readyz")[0] == 503
    job.wait_until(lambda: "watching" in job.log, "it had started")
    with played(kafka, topic, broken, FIRES_AFTER_MS):
        labels = {"cluster": CLUSTER, "consumer_group": broken.group, "kind": "DUPLICATED", "state": "firing"}
        until(lambda: seen.shows("evenkeel_group_alerts", **labels), PATIENCE_S, "the alert shows")
        until(lambda: get(f"{seen.address}/readyz")[:2] == (200, "ok\n"), PATIENCE_S, "it is ready")
        until(lambda: seen.shows("evenkeel_notices_total", outcome="delivered"), PATIENCE_S, "the log was told")
        until(lambda: seen.shows("evenkeel_sink_last_delivery_timestamp_seconds"), PATIENCE_S, "and when")
        until(lambda: seen.shows("evenkeel_cluster_seen_timestamp_seconds"), PATIENCE_S, "a health fact was read")
    found = seen.found
    assert found.one("evenkeel_group_queues", consumer_group=broken.group, finding="DUPLICATED") > 0
    assert found.one("evenkeel_groups", cluster=CLUSTER, status="findings") == 1
    assert found["evenkeel_job_batch_duration_seconds_count"] > 0
    assert found.one("evenkeel_job_rounds_total", cluster=CLUSTER) > 0
    assert found["evenkeel_job_state_bytes"] > 0
    assert time.time() - found["evenkeel_job_last_append_timestamp_seconds"] < 60
    assert found.names - SOMETIMES == of_process("run") - SOMETIMES
    said = "no round has come for"
    until(lambda: said in get(f"{seen.address}/readyz")[1], PATIENCE_S, "it is said that no rounds come")
    assert job.stop()[0] == 0, job.last_words()
