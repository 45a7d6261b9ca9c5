"""Clusters for tests to share; each test has its own topics and groups."""

from collections.abc import Iterator

import pytest

from testing.rocketmq.jars import NEWEST, OLD_LINE
from testing.rocketmq.loopback import LoopbackRocketMQ


@pytest.fixture(scope="module", params=[NEWEST, OLD_LINE])
def rocketmq(request: pytest.FixtureRequest) -> Iterator[LoopbackRocketMQ]:
    """Two brokers of each line, one line after the other."""
    with LoopbackRocketMQ(request.param) as cluster:
        yield cluster
