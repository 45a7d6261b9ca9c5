"""Whether what is known of a group may be out of date, or incomplete."""

from enum import Enum

from streaming.core.group_status import REPEAT_STATUS_MS
from streaming.explain.snapshot import ExplainedGroup

LONG_QUIET_MS = 120_000  # a round comes each 5 s; far longer than a restart of the job takes
SILENT_AFTER_MS = REPEAT_STATUS_MS + 300_000  # a group at rest is written again by then


class Doubt(Enum):
    """Why."""

    QUIET = "quiet"  # nothing is newer, and nothing says whether evenkeel has seen the cluster since
    BLIND = "blind"  # evenkeel has seen nothing of the cluster since
    SILENT = "silent"  # the cluster was seen, but nothing of the group
    EVENTS_LOST = "events_lost"  # events were lost shortly before


def is_unseen(seen_ts: int | None, now: int) -> bool:
    """Whether evenkeel has seen nothing of a cluster for long. ``seen_ts`` None: nothing says when it saw it last."""
    return seen_ts is not None and now - seen_ts > LONG_QUIET_MS


def doubt_of(group: ExplainedGroup, now: int) -> Doubt | None:
    """None: what is known holds at ``now``, epoch milliseconds."""
    monitor, quiet_ms = group.monitor, now - group.newest_ts
    if monitor is None:
        return Doubt.QUIET if quiet_ms > LONG_QUIET_MS else None
    if min(quiet_ms, now - monitor.seen_ts) > LONG_QUIET_MS:
        return Doubt.BLIND
    if quiet_ms > SILENT_AFTER_MS:
        return Doubt.SILENT
    return Doubt.EVENTS_LOST if monitor.status == "data_lost" else None
