"""The age of the newest round that evenkeel has seen. A browser's connection does not show it."""

from typing import NamedTuple

from streaming.explain.snapshot import LONG_QUIET_MS
from streaming.web.views.known import Known

LATE_AFTER_MS = 60_000  # for display only; pages are sent by late_seconds of the table [monitor]
BLIND_AFTER_MS = LONG_QUIET_MS


class Freshness(NamedTuple):
    """The freshness. ``seen_ts``: of the newest round; None: not known. ``state``: ok, late, blind, not_known or
    replayed.
    """

    state: str
    seen_ts: int | None


def freshness(known: Known, cluster: str, now: int, is_past: bool = False) -> Freshness:
    """The freshness of the cluster; without a cluster, of the one that was seen longest ago."""
    names = [cluster] if cluster else sorted({*known.health, *(name for name, _ in known.groups)} - {""})
    seen = [known.seen_ts(name) for name in names]
    if not seen or None in seen:
        return Freshness("not_known", None)
    oldest = min(ts for ts in seen if ts is not None)
    return Freshness("replayed" if is_past else state_of(now - oldest, "ok"), oldest)


def state_of(age_ms: int, otherwise: str) -> str:
    """The state by the age of the newest round: blind, late, or ``otherwise``."""
    if age_ms > BLIND_AFTER_MS:
        return "blind"
    return "late" if age_ms > LATE_AFTER_MS else otherwise
