"""Clusters for tests to share; each test has its own topics and groups."""

from collections.abc import Iterator

import pytest

from tests.real.jars import NEWEST, OLD_LINE
from tests.real.rocketmq import LoopbackRocketMQ


@pytest.fixture(scope="module", params=[NEWEST, OLD_LINE])
def rocketmq(request: pytest.FixtureRequest) -> Iterator[LoopbackRocketMQ]:
    """Two brokers of each line, one line after the other."""
    with LoopbackRocketMQ(request.param) as cluster:
        yield cluster
