"""The open pages of one sink, and the notices that are due now. Pure.

A page is compared with the alerts that fire now, not with their changes. So it does not matter which poll read a fact,
or how long the notifier was down. A page keeps its key and its alerts from its start until its end was sent.

It is sent again for news that no notice of it had: a higher severity than ever before, a topic that was not named, half
as many queues again, or another cause that lasts. These are no news: something that was sent before and comes back, and
another finding on the same queues. Queues that leave, evidence and numbers are only updated when it is sent for another
reason.

The defaults of ``PageSettings`` stand in the table ``[pages]`` of ``config/alerts``.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from schemas.facts import Cause, Severity
from streaming.config.alerts import Pages
from streaming.notices.affected import queue_keys
from streaming.notices.notice import MonitorTrouble, Notice, OpenAlert

NEWS_SHARE = 0.5  # share of the named queues: so many new queues are news
MOST_DOUBLINGS = 6  # of the time between two notices of one page: an hour, if it begins with a minute
_RANK = {severity.value: rank for rank, severity in enumerate(Severity)}  # critical first


class SendReason(StrEnum):
    STARTED = "started"
    CHANGED = "changed"
    REPEATED = "repeated"
    ENDED = "ended"


class PageSettings(NamedTuple):
    """The settings of pages. A page waits ``wait_ms`` after an alert fires for others of the same group and cause.

    More than ``storm_groups`` groups of one cluster within ``storm_ms`` share one page. A page that has changed is sent
    again after ``update_ms`` at the earliest, then after twice that, and so on; another cause must last ``update_ms``.
    A page that gets worse is sent at once. All are sent again every ``resend_ms``, if that is given.
    """

    wait_ms: int
    storm_groups: int
    storm_ms: int
    update_ms: int
    resend_ms: int | None = None


def page_settings(pages: Pages) -> PageSettings:
    return PageSettings(
        wait_ms=round(pages.wait_seconds * 1000),
        storm_groups=pages.storm_groups,
        storm_ms=round(pages.storm_seconds * 1000),
        update_ms=round(pages.update_seconds * 1000),
    )


class LastSent(Struct, frozen=True):
    """The content of a page that a sink has accepted. ``at``: the last time. ``trouble``: evenkeel's own, or empty.

    ``severity``: the worst that was sent; ``affected``: all that were sent of groups that still have an alert on the
    page; ``causes``: all that were sent; ``updates``: how often it was sent again because of a change.
    """

    at: int
    subjects: tuple[str, ...]
    severity: str
    trouble: str = ""
    affected: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()
    updates: int = 0


class Page(Struct, frozen=True, kw_only=True):
    """A page. ``group``: None for a storm and for evenkeel's own trouble.

    ``joined_ts``: when the last alert joined it; of a storm, the last one that joined while the storm went on.
    ``tried``: it may have reached the sink, so its end is sent in any case. ``causes_since``: for each present cause of
    its alerts, or of the trouble, the time since when they have it.
    """

    key: str
    cluster: str
    group: str | None = None
    cause: str | None = None
    alerts: tuple[OpenAlert, ...] = ()
    trouble: MonitorTrouble | None = None
    opened_ts: int
    joined_ts: int
    tried: bool = False
    sent: LastSent | None = None
    causes_since: dict[str, int] = {}


class SinkView(NamedTuple):
    """The alerts and troubles that a sink's pages are compared with, by subject name.

    ``wanted``: subjects that may start a page now, or join one. ``unseen``: clusters whose alerts may be out of date;
    nothing about them is sent.
    """

    firing: Mapping[str, OpenAlert]
    ended: Mapping[str, OpenAlert]
    troubles: Mapping[str, MonitorTrouble]
    wanted: Collection[str]
    unseen: Collection[str]


class DueNotice(NamedTuple):
    """A notice to send. ``page``: as saved during sending; ``after``: as saved once the sink has accepted it."""

    why: SendReason
    notice: Notice
    page: Page
    after: Page | None


def subject_name(subject: OpenAlert | MonitorTrouble) -> str:
    """The name of one firing of an alert, or of a trouble. An alert that fires again has another name and page."""
    if isinstance(subject, MonitorTrouble):
        whose = f"{subject.cluster}/{subject.group}" if subject.group else subject.cluster
        kind, since_ts = subject.began
        return f"{kind}/{whose}@{since_ts}"
    return f"{subject.fact.fingerprint}@{subject.fact.fired_ts}"


def subjects(page: Page) -> tuple[str, ...]:
    """The names of the page's alerts, or of its trouble."""
    return tuple(map(subject_name, page.alerts if page.trouble is None else (page.trouble,)))


def ongoing_subjects(page: Page, view: SinkView) -> tuple[str, ...]:
    """The subjects that still fire; none when the page is over."""
    firing = view.firing if page.trouble is None else view.troubles
    return tuple(name for name in subjects(page) if name in firing)


def due_notices(pages: Iterable[Page], view: SinkView, now: int, settings: PageSettings) -> list[DueNotice]:
    """The notices to send now, the worst first."""
    found = []
    for page in pages:
        why = _why(page, view, now, settings)
        if why is not None:
            notice = notice_of(page, view)
            trying = replace(page, tried=True)
            after = None if why is SendReason.ENDED else replace(trying, sent=_sent(page, view, notice, why, now))
            found.append(DueNotice(why, notice, trying, after))
    return sorted(found, key=lambda one: (one.notice.trouble is None, _RANK[one.notice.severity], one.notice.since_ts))


def _sent(page: Page, view: SinkView, notice: Notice, why: SendReason, now: int) -> LastSent:
    """The ``LastSent`` of the page once the sink has accepted the notice."""
    before = page.sent or LastSent(now, (), notice.severity)
    return LastSent(
        at=now,
        subjects=ongoing_subjects(page, view),
        severity=min(before.severity, notice.severity, key=_RANK.__getitem__),
        trouble=notice.trouble.kind if notice.trouble is not None else "",
        affected=_of_its_groups(before.affected, page) | affected(notice.alerts),
        causes=before.causes | causes_of(notice),
        updates=before.updates + (why is SendReason.CHANGED),
    )


def _of_its_groups(names: frozenset[str], page: Page) -> frozenset[str]:
    """What was affected in groups that still have an alert on the page. In a storm of days most groups have none."""
    groups = {f"{alert.cluster}\n{alert.group}" for alert in page.alerts}
    return frozenset(name for name in names if "\n".join(name.split("\n", 2)[:2]) in groups)


def affected(alerts: Iterable[OpenAlert]) -> frozenset[str]:
    """The queues of alerts; for an alert without queues its kind."""
    return frozenset(name for alert in alerts for name in _affected(alert))


def _affected(alert: OpenAlert) -> Iterable[str]:
    if not alert.fact.queues:
        return ("\n".join((alert.cluster, alert.group, alert.topic or "", alert.fact.kind)),)
    return ("\n".join(map(str, key)) for key in queue_keys(alert))


def causes_of(it: Notice | Page) -> frozenset[str]:
    """The causes of the alerts, or the reason of the trouble."""
    if it.trouble is not None:
        return frozenset({it.trouble.why} - {""})
    return frozenset(alert.fact.cause for alert in it.alerts if alert.fact.cause)


def ended_unsent(page: Page, view: SinkView) -> bool:
    """True if the page is over, and cannot have reached the sink."""
    return not page.tried and not ongoing_subjects(page, view)


def notice_of(page: Page, view: SinkView) -> Notice:
    """The page's notice. Alerts that no longer fire are shown only once the whole page is over."""
    ongoing = set(ongoing_subjects(page, view))
    shown = [alert for alert in page.alerts if not ongoing or subject_name(alert) in ongoing]
    causes = {alert.fact.cause for alert in shown}
    if page.trouble is not None:
        severity, since = Severity.CRITICAL, page.trouble.since_ts
        groups = {page.trouble.group} - {""}
    else:
        severity = Severity(min((alert.fact.severity for alert in shown), key=_RANK.__getitem__))
        since = min(alert.since_ts for alert in shown)
        groups = {alert.group for alert in shown}
    return Notice(
        key=page.key,
        status="firing" if ongoing else "resolved",
        severity=severity,
        cluster=page.cluster,
        groups=tuple(sorted(groups)),
        cause=causes.pop() if len(causes) == 1 else None,
        alerts=tuple(sorted(shown, key=lambda alert: (_RANK[alert.fact.severity], alert.group, alert.topic or ""))),
        trouble=page.trouble,
        since_ts=since,
    )


def _why(page: Page, view: SinkView, now: int, settings: PageSettings) -> SendReason | None:
    ongoing = ongoing_subjects(page, view)
    if not ongoing:
        may_begin = page.trouble is not None or page.cluster not in view.unseen
        return SendReason.ENDED if page.tried and may_begin else None
    if page.sent is None:
        return SendReason.STARTED if any(name in view.wanted for name in ongoing) else None
    wanted = [name for name in ongoing if name in view.wanted]
    worst = min((_RANK[view.firing[name].fact.severity] for name in wanted if name in view.firing), default=len(_RANK))
    if worst < _RANK[page.sent.severity]:
        return SendReason.CHANGED
    if wanted and page.trouble is not None and trouble_changed(page.trouble, page.sent, now, settings):
        return SendReason.CHANGED
    is_time = now - page.sent.at >= settings.update_ms << min(page.sent.updates, MOST_DOUBLINGS)
    if is_time and _tells_more(page, page.sent, view, wanted, now, settings):
        return SendReason.CHANGED
    is_old = settings.resend_ms is not None and now - page.sent.at >= settings.resend_ms
    return SendReason.REPEATED if is_old else None


def _tells_more(
    page: Page, sent: LastSent, view: SinkView, wanted: Iterable[str], now: int, settings: PageSettings
) -> bool:
    """True if a wanted subject has a topic, finding, queues or a cause that no notice of the page has named."""
    alerts = [view.firing[name] for name in wanted if name in view.firing]
    present = {page.trouble.why} if page.trouble is not None and wanted else {alert.fact.cause for alert in alerts}
    held = {cause for cause, since in page.causes_since.items() if now - since >= settings.update_ms}
    unsaid = (held & present) - sent.causes
    if sent.causes:
        unsaid -= {Cause.UNEXPLAINED.value}  # it is no news after another cause
    return bool(unsaid) or _affects_more(affected(alerts), sent.affected)


def _affects_more(now: frozenset[str], told: frozenset[str]) -> bool:
    """True if a topic or finding is affected that was not named, or at least half as many queues again.

    Queues of a large group are found one by one when a broker is back: a few more need no other action.
    """
    new = now - told
    is_elsewhere = not {_topic_of(name) for name in new} <= {_topic_of(name) for name in told}
    return is_elsewhere or len(new) >= max(1, NEWS_SHARE * len(told))


def _topic_of(name: str) -> str:
    """Cluster, group and topic of a queue; for an alert without queues its whole name."""
    parts = name.split("\n")
    return "\n".join(parts[:3]) if len(parts) > 4 else name


def trouble_changed(trouble: MonitorTrouble, sent: LastSent, now: int, settings: PageSettings) -> bool:
    """True if a change of the trouble's kind is to be sent: to blind at once, to late after ``update_ms``."""
    if not sent.trouble or trouble.kind == sent.trouble:
        return False
    return trouble.kind == "monitor_blind" or now - sent.at >= settings.update_ms
