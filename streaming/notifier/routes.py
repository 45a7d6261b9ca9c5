"""Which sinks an alert is sent to: those of the first route that matches."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from schemas.facts import Severity
from streaming.notices import MonitorTrouble, OpenAlert

PAGED = frozenset({Severity.CRITICAL.value, Severity.WARNING.value})  # info pages nobody


class Route(NamedTuple):
    """Shell patterns; ``severities`` are those it is for."""

    sinks: tuple[str, ...]
    cluster: str = "*"
    group: str = "*"
    severities: frozenset[str] = PAGED


def sinks_for(subject: OpenAlert | MonitorTrouble, routes: Sequence[Route]) -> tuple[str, ...]:
    """A trouble of the monitor's own is critical; one of a whole cluster passes routes for certain groups by."""
    if isinstance(subject, MonitorTrouble):
        group, severity = subject.group, Severity.CRITICAL.value
    else:
        group, severity = subject.group, subject.fact.severity
    if severity not in PAGED:
        return ()
    for route in routes:
        places = ((subject.cluster, route.cluster), (group, route.group))
        if severity in route.severities and all(fnmatchcase(text, pattern) for text, pattern in places):
            return route.sinks
    return ()
