"""Why a query failed, in one line: found in what Spark says of it."""

import pytest

from streaming.errors import AwayError, MonitorError, StateVersionError
from streaming.spark.failure import explain

pytestmark = pytest.mark.spark

IN_FOREACH_BATCH = """Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "batches.py", line 59, in write
    found = batch.collect()
py4j.protocol.Py4JJavaError: An error occurred while calling o1499.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 7.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2935)
Caused by: java.net.SocketTimeoutException: Accept timed out
\t... 1 more
"""  # noqa: E501


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (IN_FOREACH_BATCH, "java.net.SocketTimeoutException: Accept timed out"),
        (IN_FOREACH_BATCH.partition("Caused")[0], "org.apache.spark.SparkException: Job aborted due to stage failure"),
        ("PythonException: Traceback\n  File x\nValueError: not so\n", "ValueError: not so"),
        (IN_FOREACH_BATCH + "PythonException: Traceback\nValueError: not so\n", "ValueError: not so"),
        ("Interrupted\nmore", "Interrupted"),
        ("KafkaException: no such topic\nmore", "KafkaException: no such topic"),
    ],
)
def test_the_innermost_cause_is_said(root: str, said: str) -> None:
    error = explain("detection", "whatever", root)
    assert type(error) is MonitorError
    assert str(error).startswith(f"query detection failed: {said}")


@pytest.mark.parametrize(
    ("root", "may_be_damage"),
    [
        ("EOFException: Stream ended prematurely", True),
        ("java.io.EOFException: Stream ended prematurely", True),
        ("ChecksumException: Checksum error: /c/offsets/17 at 0 exp: -56 got: -29", True),
        ("RocksDBException: Corruption: bad block", True),
        ("StateStoreInvalidKeyRowFormat: [STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE]", True),
        ("TimeoutException: no broker", False),
    ],
)
def test_what_may_be_a_damaged_checkpoint_is_said_with_what_to_do(root: str, may_be_damage: bool) -> None:
    said = str(explain("detection", "whatever", root))
    assert said.startswith(f"query detection failed: {root}")
    assert said.endswith(": run 'evenkeel reseed'") is may_be_damage


@pytest.mark.parametrize(
    ("root", "what"),
    [
        ("TimeoutException: Timed out waiting for a node assignment. Call: listNodes", "Kafka does not answer"),
        ("TimeoutException: Timeout expired while fetching topic metadata", "Kafka does not answer"),
        ("TimeoutException: Cannot fetch record for offset 7 in 120000 milliseconds", "Kafka does not answer"),
        ("java.io.IOException: No space left on device", "the disk of the tables, the checkpoint or"),
    ],
)
def test_what_is_away_is_said(root: str, what: str) -> None:
    error = explain("detection", "whatever", root)
    assert type(error) is AwayError
    assert str(error).startswith(f"query detection failed: {what}")
    assert str(error).endswith(f"({root})")


def test_what_is_raised_on_purpose_keeps_its_kind() -> None:
    error = explain("detection", "streaming.errors.StateVersionError: run reseed", "root")
    assert isinstance(error, StateVersionError)
    assert str(error) == "run reseed"
