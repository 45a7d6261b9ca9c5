"""The cause of a query's failure in one message: the error of our code on a worker, else Java's root cause."""

import logging
import re
from typing import Any

from pyspark.sql.streaming import StreamingQuery

from streaming import errors
from streaming.errors import AwayError, MonitorError

log = logging.getLogger(__name__)
_OURS = re.compile(r"streaming\.errors\.(\w+): (.+)")
# Python's and Java's, one inside the other; not the lines that only say that another follows.
_CAUSE = re.compile(r"^(?:Caused by: |: )?((?!py4j\.)[\w.$]+(?:Error|Exception): .+(?<!last\):))$", re.MULTILINE)

# What Java says of a file that lost its end, or whose content is another: offsets, changelogs, snapshots of the state.
_MAY_BE_DAMAGE = re.compile(r"\b(EOF|Checksum|RocksDB)Exception\b|StateStore|UnsafeRow")
_OF_DAMAGE = "; if it fails so at each start, a file of the checkpoint is damaged: run 'evenkeel reseed'"
# What Java says if something else is away: Kafka's clients in the driver, Spark's reader in a task, any writer.
_AWAY = (
    (re.compile("a node assignment|fetching topic metadata|Cannot fetch record for offset"), "Kafka does not answer"),
    (re.compile("No space left on device"), "the disk of the tables, the checkpoint or spark.local.dir is full"),
)


def explained(query: StreamingQuery) -> MonitorError:
    """The error to raise for a query that failed. Java's whole stack trace goes to the debug log."""
    failure: Any = query._jsq.exception()
    if failure.isEmpty():
        return MonitorError(f"query {query.name} ended, though nobody stopped it")
    log.debug("query %s failed: %s", query.name, failure.get())
    return explain(query.name or "", str(failure.get().getMessage()), root_of(failure.get()))


def explain(name: str, message: str, root: str) -> MonitorError:
    """``message`` is the whole failure's, ``root`` its innermost cause's."""
    ours = _OURS.findall(message) or _OURS.findall(root)
    if ours:
        kind, text = ours[-1]
        return getattr(errors, kind, MonitorError)(text.strip())
    said = (_CAUSE.findall(root) or root.splitlines()[:1])[-1]
    for pattern, what in _AWAY:
        if pattern.search(said):
            return AwayError(f"query {name} failed: {what} ({said})")
    return MonitorError(f"query {name} failed: {said}{_OF_DAMAGE if _MAY_BE_DAMAGE.search(said) else ''}")


def root_of(failure: Any) -> str:
    """The innermost cause of a Java exception, in its own words."""
    while failure.getCause() is not None:
        failure = failure.getCause()
    return f"{failure.getClass().getSimpleName()}: {failure.getMessage()}"
