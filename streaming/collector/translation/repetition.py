"""When something that has not changed is told in full once more, and not only confirmed by the round.

What has changed is told in full several times, so that one lost record does no harm. After that it is told every few
minutes, so that a reader learns all that it missed. Things take turns within that time: they do not all come at once.
"""

from typing import NamedTuple
from zlib import crc32

EVERY_MS = 300_000
# Where a list is not known, its broker counts as silent and the group as UNKNOWN. Five minutes of that are too long, so
# a list is told more often than all else. EVERY_MS is a multiple of it: so each five minutes at rest are like the last.
LIST_EVERY_MS = EVERY_MS // 2
# After a change, for so long:
MARKERS_WITHIN_MS = 12_000  # three markers
REPORTS_WITHIN_MS = 45_000  # a client is asked every 30 s, sooner once more where its report disagrees with others
HEARTBEATS_WITHIN_MS, HEARTBEATS_APART_MS = 65_000, 30_000
VERSIONS = 2**16 - 1  # enough: a version is looked at only where all tellings of a change were lost


class Told(NamedTuple):
    """``version`` of what was told, since when it is told, and when it was last told in full."""

    version: int
    since_ts: int
    ts: int

    def set_back(self, by_ms: int) -> "Told":
        """The clock was set back."""
        return Told(self.version, self.since_ts - by_ms, self.ts - by_ms)


def data_version(content: bytes) -> int:
    """A number for the content, never 0."""
    return crc32(content) % VERSIONS + 1


def is_due(name: str, told: Told | None, version: int, ts: int, within_ms: int, every_ms: int = EVERY_MS) -> bool:
    """Whether to tell it in full at ``ts``. ``within_ms`` after a change it is told in full whenever it is asked."""
    if told is None or told.version != version or ts - told.since_ts <= within_ms:
        return True
    phase_ms = crc32(name.encode("utf-8", "surrogatepass")) % every_ms
    return (ts + phase_ms) // every_ms != (told.ts + phase_ms) // every_ms


def told_now(told: Told | None, version: int, ts: int) -> Told:
    """What to remember of telling it in full at ``ts``."""
    is_same = told is not None and told.version == version
    return Told(version, told.since_ts if told is not None and is_same else ts, ts)
