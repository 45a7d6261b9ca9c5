"""Series of clusters and groups for Prometheus: totals of all, and series of single groups, the worst first."""

from collections import Counter
from collections.abc import Iterable, Iterator

from streaming.metrics import catalogue as m
from streaming.metrics.series import MOST_CLUSTERS, Series, label, seconds, within
from streaming.newest_facts import GroupName, KnownGroup
from streaming.notices.notice import OpenAlert
from streaming.web.views.known import Known, of_groups

STATUSES = ("healthy", "findings", "settling", "unknown", "excluded", "empty")


def group_series(known: Known, limit: int) -> Iterator[Series]:
    """The series. ``limit``: the maximum number of series of single groups. Those left out are counted."""
    names = sorted({name for name in known.health if name} | {cluster for cluster, _ in known.groups})
    clusters = dict.fromkeys(names[:MOST_CLUSTERS])
    yield Series(m.LEFT_OUT, ("clusters",), len(names) - len(clusters))
    yield from _totals(known, clusters)
    alerts = of_groups(known)
    ranked = sorted(known.groups.values(), key=lambda one: _rank(one, alerts.get(one.name, [])))
    items = (_of_group(one, alerts.get(one.name, []), known.rebalances) for one in ranked)
    kept, left_out = within(limit, map(tuple, items))
    yield from kept
    yield Series(m.LEFT_OUT, ("groups",), left_out)


def _rank(group: KnownGroup, alerts: Iterable[OpenAlert]) -> tuple[object, ...]:
    """The rank: groups with alerts first, then those whose status is not healthy."""
    firing = [alert.is_firing for alert in alerts]
    return not any(firing), not firing, group.status.status in ("healthy", "empty", "excluded"), group.name


def _totals(known: Known, clusters: dict[str, None]) -> Iterator[Series]:
    for name in clusters:
        health = known.health.get(name)
        if health is not None:
            yield Series(m.CLUSTER_HEALTH_TIME, (label(name),), seconds(health.ts))
            if health.newest_round_ts is not None:
                yield Series(m.CLUSTER_SEEN_TIME, (label(name),), seconds(health.newest_round_ts))
    statuses = Counter((group.cluster, group.status.status) for group in known.groups.values())
    for name in clusters:
        for status in STATUSES:
            yield Series(m.GROUPS, (label(name), status), statuses[name, status])
    alerts = Counter((one.cluster, *_kind(one)) for one in known.alerts.values() if one.is_open)
    for (name, *kind), number in alerts.items():
        if name in clusters:
            yield Series(m.ALERTS, (label(name), *kind), number)
    rebalances = Counter[str]()
    for (name, _), number in known.rebalances.items():
        rebalances[name] += number
    for name in clusters:
        yield Series(m.REBALANCES, (label(name),), rebalances[name])


def _of_group(group: KnownGroup, alerts: list[OpenAlert], rebalances: dict[GroupName, int]) -> Iterator[Series]:
    names, status = (label(group.cluster), label(group.group)), group.status
    yield Series(m.GROUP_STATUS, (*names, label(status.status)), 1)
    for finding, number in status.counts.items():
        yield Series(m.GROUP_QUEUES, (*names, label(finding)), number)
    for kind, number in Counter(map(_kind, alerts)).items():
        yield Series(m.GROUP_ALERTS, (*names, *kind), number)
    yield Series(m.GROUP_MEMBERS, names, status.members)
    yield Series(m.GROUP_REPORTING, names, status.members_reporting)
    yield Series(m.GROUP_BROKERS, names, status.brokers_known)
    yield Series(m.GROUP_COVERED, names, status.brokers_covered)
    if status.waiting is not None and status.read_ts is not None:
        yield Series(m.GROUP_LAG, names, status.waiting)
        yield Series(m.GROUP_LAG_READ_TIME, names, seconds(status.read_ts))
    yield Series(m.GROUP_REBALANCES, names, rebalances.get(group.name, 0))


def _kind(alert: OpenAlert) -> tuple[str, str, str]:
    return label(alert.fact.kind), label(alert.fact.severity), label(alert.fact.state)
