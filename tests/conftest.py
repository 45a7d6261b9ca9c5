"""Settings and fixtures that several folders of tests share."""

import logging
import os
from collections.abc import Iterator

import hypothesis
import pytest

from streaming import secret_mask
from streaming.loopback import LoopbackKafka

# A busy machine is not a fault of the code; and all fast tests together are to take less than a minute.
# Where CI judges a commit (CI=true), each run tries the same examples: the commit decides, not chance. All other runs
# look for new examples.
hypothesis.settings.register_profile(
    "evenkeel", deadline=None, max_examples=50, derandomize=os.environ.get("CI") == "true"
)
hypothesis.settings.load_profile("evenkeel")


@pytest.fixture(scope="session")
def kafka() -> Iterator[LoopbackKafka]:
    """One real broker for the whole run; give each test a topic of its own."""
    with LoopbackKafka() as broker:
        yield broker


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> Iterator[None]:
    """Who reads a configuration has its secrets masked for the life of the process."""
    yield
    secret_mask.forget()


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    """A command of evenkeel logs to the standard error of its test, which is closed when the test ends.

    Its handler would stay at the root logger, and print an error into the output of whatever test logs next.
    """
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    for handler in set(root.handlers).difference(handlers):
        root.removeHandler(handler)
