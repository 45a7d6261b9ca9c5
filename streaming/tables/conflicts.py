"""Commits that conflict: writers and maintenance change the same tables, and either may be first."""

from deltalake.exceptions import CommitFailedError
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_incrementing

# Delta's error classes in Spark, as they stand in the message: its Python package has no types for them.
_OF_SPARK = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")


def _is_conflict(error: BaseException) -> bool:
    return isinstance(error, CommitFailedError) or any(name in str(error) for name in _OF_SPARK)


# Called with a function that commits: after a conflict, it is called again, after the other commit.
retried = Retrying(
    retry=retry_if_exception(_is_conflict),
    wait=wait_incrementing(start=0.5, increment=0.5),
    stop=stop_after_attempt(6),
    reraise=True,
)
