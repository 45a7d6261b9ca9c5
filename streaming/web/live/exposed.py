"""The metrics of the follower of the facts for Prometheus."""

import time
from collections.abc import Iterator

from streaming.metrics.catalogue import FACTS_READ_TIME
from streaming.metrics.exposition import Reader
from streaming.metrics.series import Series, seconds
from streaming.web.live.watch import Watch
from streaming.web.views.group_series import group_series

STALE_AFTER_S = 60


def facts_reader(watch: Watch, limit: int) -> Reader:
    def read() -> Iterator[Series]:
        if watch.read_ts is not None:
            yield Series(FACTS_READ_TIME, (), seconds(watch.read_ts))
        yield from group_series(watch.known, limit)

    return read


def facts_troubles(watch: Watch) -> list[str]:
    """The reasons why the pages are out of date. A silent job is not one of them: the pages show it."""
    if watch.read_ts is None:
        return [f"the tables have not been read yet{f': {watch.error}' if watch.error else ''}"]
    old_s = time.time() - seconds(watch.read_ts)
    if old_s > STALE_AFTER_S:
        return [f"the tables have not been read for {old_s:.0f} s{f': {watch.error}' if watch.error else ''}"]
    return []
