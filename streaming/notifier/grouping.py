"""The grouping of alerts into pages: by group and cause, or by cluster when many groups fire at once. Pure.

The number of groups that make a storm stands in the table ``[pages]`` of ``config/alerts``.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from msgspec.structs import replace

from streaming.notices.notice import OpenAlert
from streaming.notifier.pages import (
    Page,
    PageSettings,
    SinkView,
    affected,
    causes_of,
    ongoing_subjects,
    subject_name,
    subjects,
)
from streaming.wording.lists import grouped

MOST_ENDED = 200  # alerts that no longer fire, and that a page keeps while others do: a storm may last for days


def update_pages(pages: Iterable[Page], view: SinkView, now: int, settings: PageSettings) -> list[Page]:
    """The open pages with the newest facts, and new pages for alerts that are in none. Ended pages are kept."""
    current = [_with_newest_facts(page, view, now) for page in pages]
    held = {name for page in current for name in subjects(page)}
    unassigned = [view.firing[name] for name in view.wanted if name in view.firing and name not in held]
    current, unassigned = _join_open_pages(current, unassigned, view, now, settings)
    for cluster in sorted({alert.cluster for alert in unassigned}):
        mine = [alert for alert in unassigned if alert.cluster == cluster]
        current += _new_pages(current, cluster, mine, now, settings)
    for name, trouble in view.troubles.items():
        if name in view.wanted and name not in held:
            whose = (trouble.cluster, trouble.group) if trouble.group else (trouble.cluster,)
            kind, since_ts = trouble.began
            key = _key(kind, *whose, since_ts)
            current.append(Page(key=key, cluster=trouble.cluster, trouble=trouble, opened_ts=now, joined_ts=now))
    return current


def _with_newest_facts(page: Page, view: SinkView, now: int) -> Page:
    """The page with the newest facts. An alert that ended long ago keeps its last known fact."""
    if page.trouble is not None:
        page = replace(page, trouble=view.troubles.get(subject_name(page.trouble), page.trouble))
    else:
        newest = [view.firing.get(name) or view.ended.get(name) for name in subjects(page)]
        alerts = [new or old for new, old in zip(newest, page.alerts, strict=True)]
        page = replace(page, alerts=_without_oldest_ended(alerts, view))
    return replace(page, causes_since={cause: page.causes_since.get(cause, now) for cause in sorted(causes_of(page))})


def _without_oldest_ended(alerts: list[OpenAlert], view: SinkView) -> tuple[OpenAlert, ...]:
    ended = [alert for alert in alerts if subject_name(alert) not in view.firing]
    if len(ended) == len(alerts):  # the page is over, and its last notice lists what the one before has listed
        return tuple(alerts)
    dropped = set(map(subject_name, sorted(ended, key=lambda alert: alert.ts)[:-MOST_ENDED]))
    return tuple(alert for alert in alerts if subject_name(alert) not in dropped)


def _join_open_pages(
    pages: list[Page], unassigned: list[OpenAlert], view: SinkView, now: int, settings: PageSettings
) -> tuple[list[Page], list[OpenAlert]]:
    """Add each alert to the open page of its group and cause, else to one that names its queues, else to the storm.

    People were already paged for these queues. Another finding on them, such as STALLED, belongs to the same page.
    """
    index_of: dict[tuple[str, str | None, str | None], int] = {}
    for index, page in enumerate(pages):
        names = ongoing_subjects(page, view)
        if page.group is not None and names:
            causes = {page.cause, *(view.firing[name].fact.cause for name in names)}
            index_of |= {(page.cluster, page.group, cause): index for cause in causes}
        elif page.trouble is None and names and now - page.joined_ts < settings.storm_ms:
            index_of[page.cluster, None, None] = index
    current, left = list(pages), []
    for alert in unassigned:
        fitting = index_of.get((alert.cluster, alert.group, alert.fact.cause))
        fitting = _page_with_its_queues(current, alert, view) if fitting is None else fitting
        joined = index_of.get((alert.cluster, None, None)) if fitting is None else fitting
        if joined is None:
            left.append(alert)
        else:
            current[joined] = _joined(current[joined], alert, now, settings)
    return current, left


def _joined(page: Page, alert: OpenAlert, now: int, settings: PageSettings) -> Page:
    """The page with the alert. A storm goes on while as many groups as it takes for one begin within its time."""
    alerts = (*page.alerts, alert)
    began = {one.group for one in alerts if now - _fired(one)[0] < settings.storm_ms}
    goes_on = page.group is not None or len(began) > settings.storm_groups
    return replace(page, alerts=alerts, joined_ts=now if goes_on else page.joined_ts)


def _page_with_its_queues(pages: list[Page], alert: OpenAlert, view: SinkView) -> int | None:
    """The index of an open page of the alert's group that names all of the alert's queues, or None."""
    if not alert.fact.queues:
        return None
    named = affected([alert])
    of_group = (i for i, page in enumerate(pages) if (page.cluster, page.group) == (alert.cluster, alert.group))
    return next((i for i in of_group if ongoing_subjects(pages[i], view) and named <= affected(pages[i].alerts)), None)


def _new_pages(
    pages: list[Page], cluster: str, unassigned: list[OpenAlert], now: int, settings: PageSettings
) -> Iterator[Page]:
    recent = [
        page
        for page in pages
        if page.cluster == cluster and page.group is not None and now - page.opened_ts < settings.storm_ms
    ]
    if len({alert.group for alert in unassigned} | {page.group for page in recent}) > settings.storm_groups:
        storm = [*(alert for page in recent for alert in page.alerts), *unassigned]
        key = _key("storm", cluster, *min(map(_fired, storm)))
        yield Page(key=key, cluster=cluster, alerts=tuple(storm), opened_ts=now, joined_ts=now)
        return
    by_cause = grouped(unassigned, lambda alert: (alert.group, alert.fact.cause))
    for (group, cause), alerts in sorted(by_cause.items(), key=str):
        first = min(map(_fired, alerts))
        if now - first[0] >= settings.wait_ms or first[0] > now:  # a clock that is ahead may stay ahead
            key = _key("page", cluster, group, cause, *first)
            yield Page(
                key=key, cluster=cluster, group=group, cause=cause, alerts=tuple(alerts), opened_ts=now, joined_ts=now
            )


def _fired(alert: OpenAlert) -> tuple[int, str]:
    return alert.fact.fired_ts or alert.ts, alert.fact.fingerprint


def _key(*parts: object) -> str:
    """The key of a page. Equal facts give equal keys, so that two notifiers open one incident."""
    text = "\n".join("" if part is None else str(part) for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
