"""Commits that lose a race: projections and maintenance change the same tables, and either may come first."""

import time
from collections.abc import Callable
from typing import TypeVar

from deltalake.exceptions import CommitFailedError

T = TypeVar("T")

TRIES = 6


def retried(commit: Callable[[], T], tries: int = TRIES) -> T:
    """What ``commit`` returns; after a conflict it is computed again, on what the other commit has left."""
    for tried in range(1, tries):
        try:
            return commit()
        except CommitFailedError:
            time.sleep(0.5 * tried)
    return commit()
