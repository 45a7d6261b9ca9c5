"""Commits that conflict: writers and maintenance change the same tables, and either may be first."""

import time
from collections.abc import Callable
from typing import TypeVar

from deltalake.exceptions import CommitFailedError

T = TypeVar("T")

TRIES = 6
# Delta's error classes in Spark, as they stand in the message: its Python package has no types for them.
_OF_SPARK = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")


def retried(commit: Callable[[], T], tries: int = TRIES) -> T:
    """The result of ``commit``; after a conflict it is computed again, after the other commit."""
    for tried in range(1, tries):
        try:
            return commit()
        except Exception as error:
            if not _is_conflict(error):
                raise
            time.sleep(0.5 * tried)
    return commit()


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, CommitFailedError) or any(name in str(error) for name in _OF_SPARK)
