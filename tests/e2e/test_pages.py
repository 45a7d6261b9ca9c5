"""`evenkeel run` with its own notifier, over a real Kafka: what fires is told once, and that nothing is seen, too."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streaming.demo.publisher import Publisher
from streaming.demo.recording_schedule import CLUSTER, Scenario, load_scenarios, schedule
from streaming.loopback import LoopbackKafka
from streaming.wall_clock import now_ms
from testing.hook import RULES, Told
from testing.http_server import Server
from testing.job import PATIENCE_S, Job
from testing.waiting import until
from tests.e2e.conftest import MakeJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(900),
]

BLIND_S, LATE_S = 35, 20
FIRES_AFTER_MS = 55_000  # by the recording
LATE, BLIND = ("monitor_late", CLUSTER), ("monitor_blind", CLUSTER)


@contextmanager
def played(kafka: LoopbackKafka, topic: str, scenario: Scenario, ago_ms: int = 0) -> Iterator[None]:
    """As if it had begun ``ago_ms`` ago: what is due by now comes at once, the rest in time."""
    publisher = Publisher(kafka.bootstrap_servers, topic, schedule([scenario], now_ms() - ago_ms - scenario.delay_ms))
    publisher.start()
    try:
        yield
        publisher.check()
    finally:
        publisher.stop()


@contextmanager
def held_up(job: Job) -> Iterator[None]:
    """Its Java stands still, as while a machine swaps."""
    java = job.java()
    os.kill(java, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(java, signal.SIGCONT)


def test_a_page_is_told_once_and_so_is_that_the_job_lags_behind_or_tells_nothing(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob, tmp_path: Path
) -> None:
    scenarios = {scenario.plan.name: scenario for scenario in load_scenarios(print)}
    healthy, broken = scenarios["a_scaleout"], scenarios["d_sameid"]
    with Server() as server:
        (tmp_path / "alerts.toml").write_text(RULES.format(url=server.url, blind_s=BLIND_S, late_s=LATE_S))
        notify = {"alerts": str(tmp_path / "alerts.toml"), "state": str(tmp_path / "state")}
        job, told = make_job(values={"job": {"health_seconds": 3}, "notify": notify}), Told(server)
        job.start()
        job.wait_until(lambda: "watching" in job.log, "it had started")
        with played(kafka, topic, healthy):
            with played(kafka, topic, broken, FIRES_AFTER_MS):
                until(lambda: bool(told.of_group(broken.group)), PATIENCE_S, "the page is told")
            assert job.command("forget", broken.group, "--cluster", CLUSTER).returncode == 0
            until(lambda: len(told.of_group(broken.group)) > 1, PATIENCE_S, "its end is told")
            with held_up(job):
                until(lambda: told.open() == {LATE}, PATIENCE_S, "that it lags behind is told")
                until(lambda: told.open() == {BLIND}, PATIENCE_S, "that it tells nothing is told")
            until(lambda: not told.open(), PATIENCE_S, "all is well again")
        assert job.stop()[0] == 0, job.last_words()
    (begun, ended) = [said for said in told.notices() if said["groups"] == [broken.group]]
    assert (begun["status"], begun["cause"], begun["severity"]) == ("firing", "SAME_CLIENT_ID", "critical")
    assert (ended["status"], ended["key"]) == ("resolved", begun["key"])
    assert {alert["alert"]["reason"] for alert in ended["alerts"]} == {"forgotten"}
