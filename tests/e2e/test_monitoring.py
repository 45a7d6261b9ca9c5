"""A real Prometheus scrapes a real collector and a real job: every panel of the dashboard shows something."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from streaming.demo.recording_schedule import CLUSTER, load_scenarios
from streaming.loopback import LoopbackKafka
from streaming.loopback.ports import free_port
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, served, two_clients
from testing.job import PATIENCE_S, Job, child_environment
from tests.collector.test_broker_metrics import ANSWER, GRPC, RECORDED
from tests.e2e.conftest import MakeJob
from tests.e2e.test_pages import FIRES_AFTER_MS, played
from tests.monitoring.dashboard import ANNOTATIONS, OF_PANELS, as_grafana_asks
from tests.monitoring.programs import PROMETHEUS, needs, prometheus, until
from tests.monitoring.test_rules import RULES

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(900),
    needs(PROMETHEUS, "prometheus"),
]


def two_clients_and_a_group_that_pops() -> FakeCluster:
    """The popping group of the recorded page, with polls that wait."""
    fake = two_clients()
    fake.queues["Tnoack"] = 1
    fake.groups["noack"] = FakeGroup([FakeClient(GRPC)], topics=("Tnoack",))
    fake.polls["Tnoack", "broker-a"] = 3
    return fake


class Page(BaseHTTPRequestHandler):
    """The recorded metrics of broker-a, and the same of broker-b: both brokers have one address here."""

    def do_GET(self) -> None:
        self.wfile.write(ANSWER + RECORDED + RECORDED.replace(b"broker-a", b"broker-b"))

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def pages() -> Iterator[int]:
    """The port where they are."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def collecting(job: Job, address: str) -> Iterator[None]:
    command = [sys.executable, "-m", "streaming", "collect", "--config", str(job.config), "--metrics", address]
    with (job.folder / "collect.log").open("ab") as log:
        process = subprocess.Popen(command, env=child_environment(), stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_every_panel_shows_something_and_the_rules_say_when_the_job_has_ended(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob, tmp_path: Path
) -> None:
    ports = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    (broken,) = [scenario for scenario in load_scenarios(print) if scenario.plan.name == "d_sameid"]
    with served(two_clients_and_a_group_that_pops()) as cluster, pages() as page_port:
        job = make_job(
            values={
                "job": {"health_seconds": 3},
                "metrics": {"listen": ports[0]},
                "collector": {
                    "interval_seconds": 1,
                    "timeout_seconds": 1,
                    "offsets_seconds": 5,
                    "broker_metrics_port": page_port,
                },
                "collector.clusters": {"prod": cluster.namesrv[0]},
            }
        )
        job.start()
        job.wait_until(lambda: "watching" in job.log, "it had started")
        with (
            collecting(job, ports[1]),
            prometheus(tmp_path / "prometheus", ports, RULES) as server,
            played(kafka, topic, broken, FIRES_AFTER_MS),
        ):
            left = dict.fromkeys(map(as_grafana_asks, OF_PANELS))

            def all_show() -> bool:
                for query in list(left):
                    if server.values(query):
                        del left[query]
                return not left

            until(all_show, "every panel shows something", lambda: "\n".join(left), PATIENCE_S)
            for one in ANNOTATIONS:
                server.values(as_grafana_asks(one["expr"]))  # raises where Prometheus refuses it
            assert {one["health"] for one in server.get("targets")["activeTargets"]} == {"up"}
            asked = {"match[]": "evenkeel_cluster_health_timestamp_seconds"}
            until(lambda: server.get("label/cluster/values", **asked) == [CLUSTER, "prod"], "both clusters are seen")
            groups = server.get("rules")["groups"]
            assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}
            alerts = server.alerts()
            assert alerts["EvenkeelDeadMansSwitch"] == "firing"
            assert alerts.keys() & {"EvenkeelJobAbsent", "EvenkeelCollectorAbsent", "EvenkeelNotifierAbsent"} == set()
            assert job.stop()[0] == 0, job.last_words()
            until(lambda: "EvenkeelJobAbsent" in server.alerts(), "it is said that the job has ended")
            until(lambda: "EvenkeelNotifierAbsent" in server.alerts(), "it is said that nobody delivers")
            assert "EvenkeelCollectorAbsent" not in server.alerts()
