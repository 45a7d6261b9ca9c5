"""How pages are opened: by group and cause, or by cluster when many of its groups fall at once. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from msgspec.structs import replace

from streaming.notices import OpenAlert
from streaming.notifier.pages import Manner, Page, View, alive, subject_name, subjects


def opened(pages: Iterable[Page], view: View, now: int, manner: Manner) -> list[Page]:
    """The pages with what stands now, and new ones for what is in none. Those that are over are still among them."""
    current = [_refreshed(page, view) for page in pages]
    held = {name for page in current for name in subjects(page)}
    loose = [view.firing[name] for name in view.wanted if name in view.firing and name not in held]
    current, loose = _joined(current, loose, view, now, manner)
    for cluster in sorted({alert.cluster for alert in loose}):
        mine = [alert for alert in loose if alert.cluster == cluster]
        current += _begun(current, cluster, mine, now, manner)
    for name, trouble in view.troubles.items():
        if name in view.wanted and name not in held:
            whose = (trouble.cluster, trouble.group) if trouble.group else (trouble.cluster,)
            kind, since_ts = trouble.began
            key = _key(kind, *whose, since_ts)
            current.append(Page(key=key, cluster=trouble.cluster, trouble=trouble, opened_ts=now, joined_ts=now))
    return current


def _refreshed(page: Page, view: View) -> Page:
    """With the newest facts of its alerts; of one that is over and long forgotten, the last that was known."""
    if page.trouble is not None:
        return replace(page, trouble=view.troubles.get(subject_name(page.trouble), page.trouble))
    newest = [view.firing.get(name) or view.ended.get(name) for name in subjects(page)]
    return replace(page, alerts=tuple(new or old for new, old in zip(newest, page.alerts, strict=True)))


def _joined(
    pages: list[Page], loose: list[OpenAlert], view: View, now: int, manner: Manner
) -> tuple[list[Page], list[OpenAlert]]:
    """Each alert into the open page of its group and cause, else into the storm that its cluster is in."""
    place_of: dict[tuple[str, str | None, str | None], int] = {}
    for place, page in enumerate(pages):
        names = alive(page, view)
        if page.group is not None and names:
            causes = {page.cause, *(view.firing[name].fact.cause for name in names)}
            place_of |= {(page.cluster, page.group, cause): place for cause in causes}
        elif page.trouble is None and names and now - page.joined_ts < manner.storm_ms:
            place_of[page.cluster, None, None] = place
    current, left = list(pages), []
    for alert in loose:
        fitting = place_of.get((alert.cluster, alert.group, alert.fact.cause))
        joined = place_of.get((alert.cluster, None, None)) if fitting is None else fitting
        if joined is None:
            left.append(alert)
        else:
            page = current[joined]
            current[joined] = replace(page, alerts=(*page.alerts, alert), joined_ts=now)
    return current, left


def _begun(pages: list[Page], cluster: str, loose: list[OpenAlert], now: int, manner: Manner) -> Iterator[Page]:
    recent = [
        page
        for page in pages
        if page.cluster == cluster and page.group is not None and now - page.opened_ts < manner.storm_ms
    ]
    if len({alert.group for alert in loose} | {page.group for page in recent}) > manner.storm_groups:
        all_of_it = [*(alert for page in recent for alert in page.alerts), *loose]
        key = _key("storm", cluster, *min(map(_fired, all_of_it)))
        yield Page(key=key, cluster=cluster, alerts=tuple(all_of_it), opened_ts=now, joined_ts=now)
        return
    by_cause: dict[tuple[str, str | None], list[OpenAlert]] = defaultdict(list)
    for alert in loose:
        by_cause[alert.group, alert.fact.cause].append(alert)
    for (group, cause), alerts in sorted(by_cause.items(), key=str):
        first = min(map(_fired, alerts))
        if now - first[0] >= manner.wait_ms or first[0] > now:  # by a clock that is ahead: that may last
            key = _key("page", cluster, group, cause, *first)
            yield Page(
                key=key, cluster=cluster, group=group, cause=cause, alerts=tuple(alerts), opened_ts=now, joined_ts=now
            )


def _fired(alert: OpenAlert) -> tuple[int, str]:
    return alert.fact.fired_ts or alert.ts, alert.fact.fingerprint


def _key(*parts: object) -> str:
    """The same from the same facts, so that two notifiers that both watch say one thing."""
    text = "\n".join("" if part is None else str(part) for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
