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
        page = replace(page, alerts=tuple(new or old for new, old in zip(newest, page.alerts, strict=True)))
    return replace(page, causes_since={cause: page.causes_since.get(cause, now) for cause in sorted(causes_of(page))})


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
            page = current[joined]
            current[joined] = replace(page, alerts=(*page.alerts, alert), joined_ts=now)
    return current, left


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
