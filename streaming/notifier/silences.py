"""Silences: alerts that are not sent for some time. A silence never changes an alert."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from msgspec import Struct

from streaming.notices.notice import MonitorTrouble, OpenAlert

LONGEST_DAYS = 31  # of a silence, so that nobody forgets one for good


class Silence(Struct, frozen=True, kw_only=True):
    """A silence: shell patterns that must all match, start and end (epoch ms, end excluded), its author and reason."""

    id: str
    cluster: str = "*"
    group: str = "*"
    kind: str = "*"
    cause: str = "*"
    from_ts: int
    until_ts: int
    by: str
    why: str

    def is_on(self, now: int) -> bool:
        return self.from_ts <= now < self.until_ts

    def matches(self, subject: OpenAlert | MonitorTrouble) -> bool:
        """True if all patterns match. Troubles have an empty cause, those of clusters an empty group; ``*``
        matches it.
        """
        patterns = (self.cluster, self.group, self.kind, self.cause)
        return all(map(fnmatchcase, _values(subject), patterns))


def _values(subject: OpenAlert | MonitorTrouble) -> tuple[str, str, str, str]:
    if isinstance(subject, MonitorTrouble):
        return subject.cluster, subject.group, subject.kind, ""
    return subject.cluster, subject.group, subject.fact.kind, subject.fact.cause or ""


def is_silenced(subject: OpenAlert | MonitorTrouble, silences: Iterable[Silence], now: int) -> bool:
    return any(silence.is_on(now) and silence.matches(subject) for silence in silences)
