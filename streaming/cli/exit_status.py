"""The exit status of every command (docs/exit-status.md)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from streaming.errors import AwayError, InUseError, MonitorError, PublishError

if TYPE_CHECKING:
    from streaming.inspect.snapshot import InspectedCluster

DONE = 0
NOT_RIGHT = 1
REFUSED = 2
INCOMPLETE = 2  # of ``inspect`` and ``collect --dry-run``: not everything was answered or judged
AWAY = 3
IN_USE = 4
FAILED = 5
OWN_FAULT = 70  # as sysexits.h has it for software
HUNG_UP = 129  # as if by SIGHUP, which comes when a terminal is closed
INTERRUPTED = 130
READER_GONE = 141  # as if by SIGPIPE
TERMINATED = 143  # as if by SIGTERM


def status_of(error: MonitorError) -> int:
    if isinstance(error, InUseError):
        return IN_USE
    if isinstance(error, AwayError | PublishError):
        return AWAY
    return FAILED if type(error) is MonitorError else REFUSED


def status_of_look(clusters: "Iterable[InspectedCluster]") -> int:
    """The exit status of ``inspect``: 0 only if everything was judged, and nothing is wrong.

    Findings count even if other things were not judged. Excluded groups do not count.
    """
    clusters = list(clusters)
    statuses = {group.status for cluster in clusters for group in cluster.groups}
    if "findings" in statuses:
        return NOT_RIGHT
    is_judged = all(cluster.is_complete for cluster in clusters) and statuses <= {"healthy", "excluded"}
    return DONE if is_judged and "healthy" in statuses else INCOMPLETE
