"""The documented example of a consumer that reports by itself compiles as it stands, and says what is true."""

import re
from pathlib import Path

import pytest

from schemas.events import AnyEvent, AssignmentReport
from schemas.records import Rejected, decode_record
from testing.job import ROOT
from testing.rocketmq.jars import NEWEST, rocketmq_jars
from testing.rocketmq.jvm import JAVA_SOURCES, compile_java
from testing.rocketmq.loopback import LoopbackRocketMQ

pytestmark = [pytest.mark.deep("a real RocketMQ, for minutes"), pytest.mark.rocketmq, pytest.mark.timeout(600)]

CODE = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)


def test_report_of_the_documented_example_is_an_event_that_names_every_queue(tmp_path: Path) -> None:
    example = tmp_path / "OwnQueues.java"
    example.write_text(documented())
    compile_java([example, JAVA_SOURCES / "example" / "Reporter.java"], rocketmq_jars(NEWEST), tmp_path / "classes")
    with LoopbackRocketMQ(NEWEST) as cluster:
        cluster.create_topic("T", {"broker-a": 2, "broker-b": 1})
        reporter = cluster.java("reporter", ["Reporter", cluster.namesrv, "reporting", "T"], [tmp_path / "classes"])
        everything = {("T", "broker-a", 0), ("T", "broker-a", 1), ("T", "broker-b", 0)}
        everything |= {("%RETRY%reporting", broker, 0) for broker in cluster.brokers}
        cluster.wait_until(lambda: everything <= owned_last(reporter.log), "it has reported all queues")
        report = reports(reporter.log)[-1]
        assert report.group == "reporting"
        assert cluster.members("reporting", "broker-a") == (report.client_id,)
        assert {subscription.topic for subscription in report.subscriptions or ()} == {"T", "%RETRY%reporting"}


def documented() -> str:
    """The class in ``docs/collector.md``."""
    text = (ROOT / "docs" / "collector.md").read_text()
    (code,) = [block for block in CODE.findall(text) if "import java" in block]
    return str(code)


def reports(log: str) -> list[AssignmentReport]:
    """Raises AssertionError for a report that evenkeel would not take."""
    found = [taken(*line.split("\t")[1:]) for line in log.splitlines() if line.startswith("report\t")]
    return [event for event in found if isinstance(event, AssignmentReport)]


def taken(key: str, value: str) -> AnyEvent:
    (event,) = decode_record(key.encode(), value.encode(), len(value), None)
    assert not isinstance(event, Rejected), event
    return event


def owned_last(log: str) -> set[tuple[str, str, int]]:
    found = reports(log)
    last = found[-1].owned if found else ()
    return {(owned.topic, owned.broker_name, queue.queue_id) for owned in last or () for queue in owned.queues}
