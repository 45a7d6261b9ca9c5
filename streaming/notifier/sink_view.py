"""What one sink may be told of, out of all that stands: by routes, silences, and whether it is news. Pure."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from streaming.notices import MonitorTrouble, OpenAlert
from streaming.notifier.monitor_health import Limits, may_be_told, trouble_of, troubles_of_groups, watched
from streaming.notifier.open_alerts import Standing
from streaming.notifier.pages import View, subject_name
from streaming.notifier.routes import Route, sinks_for
from streaming.notifier.silences import Silence, is_silenced


class Scene(NamedTuple):
    """What all sinks look at. ``unseen``: clusters whose alerts may be old news."""

    standing: Standing
    troubles: tuple[MonitorTrouble, ...]
    unseen: Collection[str]
    silences: tuple[Silence, ...] = ()


def scene_of(
    standing: Standing,
    silences: Iterable[Silence],
    configured: Iterable[str],
    limits: Limits,
    watching_since: int,
    now: int,
) -> Scene:
    """``configured``: clusters that must be heard of; ``watching_since``: when this notifier began, epoch ms.

    A trouble that stood before keeps the moment since which it has. That a late job becomes blind, or a blind one late,
    ends no trouble: nobody may be told in between that all is well.
    """
    health = standing.health
    names = {*watched(configured, health, now), *(alert.cluster for alert in standing.alerts.values())}
    found = [trouble for name in sorted(names) if (trouble := trouble_of(name, health.get(name), now, limits))]
    unseen = {trouble.cluster for trouble in found}
    known = {_whose(trouble): trouble for trouble in standing.troubles}
    told_groups = {(trouble.cluster, trouble.group) for trouble in standing.troubles if trouble.group}
    found += troubles_of_groups(standing.refused.values(), unseen, told_groups, now)
    troubles = []
    for trouble in found:
        before, may_begin = known.get(_whose(trouble)), may_be_told(trouble, watching_since, now)
        if before is None:
            troubles += [trouble] if may_begin else []
        elif trouble.kind == before.kind or not may_begin:
            troubles.append(before)
        else:
            began_as, began_ts = before.began
            troubles.append(replace(trouble, began_as=began_as, began_ts=began_ts))
    return Scene(standing, tuple(troubles), unseen, tuple(silences))


def _whose(trouble: MonitorTrouble) -> tuple[str, str]:
    return trouble.cluster, trouble.group


def view_of(sink: str, scene: Scene, routes: tuple[Route, ...], now: int) -> View:
    """What ``sink``'s pages are compared with."""
    firing = {subject_name(alert): alert for alert in scene.standing.alerts.values()}
    ended = {subject_name(alert): alert for alert in scene.standing.ended.values()}
    troubles = {subject_name(trouble): trouble for trouble in scene.troubles}
    news = {name: alert for name, alert in firing.items() if alert.cluster not in scene.unseen}
    told: Mapping[str, OpenAlert | MonitorTrouble] = {**news, **troubles}
    wanted = {
        name: True
        for name, subject in told.items()
        if sink in sinks_for(subject, routes) and not is_silenced(subject, scene.silences, now)
    }
    return View(firing, ended, troubles, wanted, scene.unseen)
