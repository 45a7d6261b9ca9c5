"""Settings and fixtures that several folders of tests share."""

from collections.abc import Iterator

import hypothesis
import pytest

from streaming.loopback import LoopbackKafka

# A busy machine is not a fault of the code; and all fast tests together are to take less than a minute.
hypothesis.settings.register_profile("evenkeel", deadline=None, max_examples=50)
hypothesis.settings.load_profile("evenkeel")


@pytest.fixture(scope="session")
def kafka() -> Iterator[LoopbackKafka]:
    """One real broker for the whole run; give each test a topic of its own."""
    with LoopbackKafka() as broker:
        yield broker
