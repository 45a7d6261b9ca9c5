"""Doubts about a group: its known state may be out of date, or incomplete."""

from enum import Enum

from streaming.core.group_status import REPEAT_STATUS_MS
from streaming.explain.snapshot import ExplainedGroup

LONG_QUIET_MS = 120_000  # a round comes every 5 s; far longer than a restart of the job takes
SILENT_AFTER_MS = REPEAT_STATUS_MS + 300_000  # the status of an idle group is written again by then


class Doubt(Enum):
    """The reason for a doubt."""

    QUIET = "quiet"  # no fact is newer, and it is not known if evenkeel has seen the cluster since
    BLIND = "blind"  # evenkeel has seen nothing of the cluster since
    SILENT = "silent"  # the cluster was seen, but nothing of the group
    EVENTS_LOST = "events_lost"  # events were lost shortly before


def is_unseen(seen_ts: int | None, now: int) -> bool:
    """True if evenkeel has not seen a cluster for long. ``seen_ts`` None: it is not known when it last saw it."""
    return seen_ts is not None and now - seen_ts > LONG_QUIET_MS


def doubt_of(group: ExplainedGroup, now: int) -> Doubt | None:
    """The doubt at ``now``, epoch milliseconds; None: the known state is up to date."""
    monitor, quiet_ms = group.monitor, now - group.newest_ts
    if monitor is None:
        return Doubt.QUIET if quiet_ms > LONG_QUIET_MS else None
    if min(quiet_ms, now - monitor.seen_ts) > LONG_QUIET_MS:
        return Doubt.BLIND
    if quiet_ms > SILENT_AFTER_MS:
        return Doubt.SILENT
    return Doubt.EVENTS_LOST if monitor.status == "data_lost" else None
