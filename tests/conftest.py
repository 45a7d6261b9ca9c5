"""Settings and fixtures that several folders of tests share."""

import logging
from collections.abc import Iterator
from itertools import groupby
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import hypothesis
import pytest

import testing
from streaming import secret_mask
from streaming.loopback import LoopbackKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A commit is judged by the same examples each time: it decides, not chance. ``new`` looks for others, and keeps those
# that fail: ``--hypothesis-profile new``.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=20, derandomize=True)
hypothesis.settings.register_profile("deep", deadline=None, max_examples=300, derandomize=True)
hypothesis.settings.register_profile("new", deadline=None, max_examples=300)
hypothesis.settings.load_profile("quick")

pytest.register_assert_rewrite(
    *(f"testing.{one.name}" for one in iter_modules(testing.__path__) if one.name != "test_times")
)
WITH_A_REASON = ("slow", "deep", "deep_rows")
# What takes long to start, once for all tests that need it: these share a lane. They are the first to begin.
SHARED = ("spark", "rocketmq", "kafka", "chromium", "stores")


def pytest_configure(config: pytest.Config) -> None:
    # pyspark leaves the socket of each collect() to the garbage collector, which may come in a later test
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the rows that ``deep_rows`` moves, and refuse marks that have no reason."""
    for _, rows in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        _, *others = rows
        for row in others:
            if mark := row.get_closest_marker("deep_rows"):
                row.add_marker(pytest.mark.deep(*mark.args))
    without = {
        item.nodeid
        for item in items
        for mark in item.iter_markers()
        if mark.name in WITH_A_REASON and not (mark.args and isinstance(mark.args[0], str))
    }
    if without:
        raise pytest.UsageError(
            f"why slow, or deep? The marker takes the reason in words: {', '.join(sorted(without))}"
        )
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_lane(item)))
    items.sort(key=lambda item: _lane(item) not in SHARED)


def _lane(item: pytest.Item) -> str:
    """The name of the tests that run one after the other, in one process: those of a file, or of what they share. Deep
    ones share less: each starts its own job, or a cluster for its file.
    """
    shared = () if item.get_closest_marker("deep") else SHARED
    return next((name for name in shared if item.get_closest_marker(name)), str(item.path))


@pytest.fixture(scope="session")
def spark() -> "SparkSession":
    """One session for the whole run. Its short life is mostly compilation, of Java and of queries."""
    from streaming.spark.session import build_session

    interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    with pytest.MonkeyPatch.context() as for_this_java:
        for_this_java.setenv("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        return build_session("tests", {"spark.master": "local[2]", **interpreted})


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
