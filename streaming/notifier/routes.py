"""The sinks to which an alert is sent: those of the first route that matches."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from schemas.facts import Severity
from streaming.notices import MonitorTrouble, OpenAlert

PAGED = frozenset({Severity.CRITICAL.value, Severity.WARNING.value})  # info sends no page


class Route(NamedTuple):
    """A route: shell patterns, and the ``severities`` it matches."""

    sinks: tuple[str, ...]
    cluster: str = "*"
    group: str = "*"
    severities: frozenset[str] = PAGED


def sinks_for(subject: OpenAlert | MonitorTrouble, routes: Sequence[Route]) -> tuple[str, ...]:
    """The sinks for a subject. A trouble is critical; routes for certain groups do not match one of a whole cluster."""
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
