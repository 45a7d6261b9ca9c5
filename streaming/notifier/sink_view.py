"""The view of one sink: the open alerts that may be sent to it now, by routes and silences."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec.structs import replace

from schemas.facts import Severity
from streaming.notices.notice import MonitorTrouble, OpenAlert
from streaming.notifier import monitor_health
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.pages import SinkView, subject_name
from streaming.notifier.silences import Silence, is_silenced

STARTING_MS = 90_000  # the time for Spark's start and first batch, in which no trouble is reported
PAGED = frozenset({Severity.CRITICAL.value, Severity.WARNING.value})  # info sends no page


class Route(NamedTuple):
    """A route: shell patterns, and the ``severities`` it matches."""

    sinks: tuple[str, ...]
    cluster: str = "*"
    group: str = "*"
    severities: frozenset[str] = PAGED


class CurrentState(NamedTuple):
    """The state that is common to all sinks. ``unseen``: clusters whose alerts may be out of date."""

    open_alerts: OpenAlerts
    troubles: tuple[MonitorTrouble, ...]
    unseen: Collection[str]
    silences: tuple[Silence, ...] = ()


def current_state(
    known: OpenAlerts,
    silences: Iterable[Silence],
    configured: Iterable[str],
    limits: monitor_health.MonitorLimits,
    started_ts: int,
    now: int,
    read: monitor_health.FactsRead | None = None,
) -> CurrentState:
    """The state now. ``configured``: clusters whose health facts must come; ``started_ts``: notifier's start, epoch ms.

    A trouble that existed before keeps its start, and has its present evidence. If a late job becomes blind, or a blind
    one late, it is still the same trouble: no notice in between may report its end. Nor is it over while the job is too
    slow, or still half as late, though its alerts are sent again while it sees the cluster.
    """
    health = known.health
    clusters = set(monitor_health.watched_clusters(configured, health, now))
    clusters |= {alert.cluster for alert in known.alerts.values()}
    each = (monitor_health.cluster_trouble(name, health, now, limits, read) for name in sorted(clusters))
    found = [trouble for trouble in each if trouble is not None]
    unseen = {trouble.cluster for trouble in found if trouble.kind != "monitor_contradicted"}
    reported_groups = {(trouble.cluster, trouble.group) for trouble in known.troubles if trouble.group}
    found += monitor_health.group_troubles(known.refused.values(), unseen, reported_groups, now)
    before = {(trouble.cluster, trouble.group): trouble for trouble in known.troubles}
    troubles = []
    for trouble in found:
        earlier = before.get((trouble.cluster, trouble.group))
        has_started = now - started_ts >= STARTING_MS
        is_reported = has_started or trouble.kind != "monitor_blind"
        if earlier is None:
            troubles += [trouble] if is_reported else []
        elif not is_reported:
            troubles.append(earlier)
        elif trouble.kind == earlier.kind:
            began_as, began_ts = earlier.began_as, earlier.began_ts
            troubles.append(replace(trouble, since_ts=earlier.since_ts, began_as=began_as, began_ts=began_ts))
        else:
            began_as, began_ts = earlier.began
            troubles.append(replace(trouble, began_as=began_as, began_ts=began_ts))
    ended = (one for whose, one in before.items() if whose not in {(other.cluster, other.group) for other in troubles})
    troubles += [one for one in ended if monitor_health.is_not_over(one, health, now, limits)]
    return CurrentState(known, tuple(troubles), unseen, tuple(silences))


def view_of(sink: str, state: CurrentState, routes: tuple[Route, ...], now: int) -> SinkView:
    """The view that the pages of ``sink`` are compared with."""
    firing = {subject_name(alert): alert for alert in state.open_alerts.alerts.values()}
    ended = {subject_name(alert): alert for alert in state.open_alerts.ended.values()}
    troubles = {subject_name(trouble): trouble for trouble in state.troubles}
    seen = {name: alert for name, alert in firing.items() if alert.cluster not in state.unseen}
    subjects: Mapping[str, OpenAlert | MonitorTrouble] = {**seen, **troubles}
    wanted = {
        name: True
        for name, subject in subjects.items()
        if sink in sinks_for(subject, routes) and not is_silenced(subject, state.silences, now)
    }
    return SinkView(firing, ended, troubles, wanted, state.unseen)


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
