"""Jobs that end with their test, and topics of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from streaming.loopback import LoopbackKafka
from testing.job import Job, Values
from testing.workload import PARTITIONS

MakeJob = Callable[..., Job]


@pytest.fixture
def topic(kafka: LoopbackKafka) -> str:
    name = f"events-{uuid4().hex[:8]}"
    kafka.create_topic(name, PARTITIONS)
    return name


@pytest.fixture
def make_job(kafka: LoopbackKafka, topic: str, tmp_path: Path) -> Iterator[MakeJob]:
    """Jobs on the test's topic, each in the folder of its name."""
    made: list[Job] = []

    def make(name: str = "job", values: Values | None = None) -> Job:
        made.append(Job(tmp_path / name, kafka.bootstrap_servers, topic, values))
        return made[-1]

    yield make
    for job in made:
        job.close()
