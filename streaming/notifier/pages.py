"""The pages that one sink has open, and what it is to be told of them now. Pure.

Levels, not edges: a page is compared with what stands, so it does not matter how facts were cut into polls, or how long
nobody looked. A page keeps its key and its alerts from when it is opened until its end has been told.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from schemas.facts import Severity, Word
from streaming.notices import MonitorTrouble, Notice, OpenAlert

_RANK = {severity.value: rank for rank, severity in enumerate(Severity)}  # critical first


class Why(Word):
    """Why a sink is told now."""

    BEGUN = "begun"
    GROWN = "grown"
    KEPT_ALIVE = "kept_alive"
    ENDED = "ended"


class Manner(NamedTuple):
    """``wait_ms`` after an alert fires, its page waits for others of its kind. More than ``storm_groups`` groups of one
    cluster within ``storm_ms`` are one page. A page that grows is told again at most every ``update_ms``; all are told
    again every ``resend_ms``, if that is given.
    """

    wait_ms: int = 10_000
    storm_groups: int = 20
    storm_ms: int = 120_000
    update_ms: int = 60_000
    resend_ms: int | None = None


class Sent(Struct, frozen=True):
    """What the sink was last told of a page, and when. ``trouble`` is the kind of a trouble of the monitor's own."""

    at: int
    subjects: tuple[str, ...]
    severity: str
    trouble: str = ""


class Page(Struct, frozen=True, kw_only=True):
    """``group`` is None for a storm and for a trouble of the monitor's own; ``joined_ts``: when last an alert came.

    ``tried``: it was sent, and whether the sink took it may not be known; then its end is told in any case.
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
    sent: Sent | None = None


class View(NamedTuple):
    """What a sink's pages are compared with, by the subjects' names. ``wanted``: those that may begin or enlarge a page
    now; ``held``: clusters of which nothing may be told, since what stands of them may be old.
    """

    firing: Mapping[str, OpenAlert]
    ended: Mapping[str, OpenAlert]
    troubles: Mapping[str, MonitorTrouble]
    wanted: Collection[str]
    held: Collection[str]


class Due(NamedTuple):
    """``page`` is as it is to be remembered while the notice is on its way, ``after`` once the sink has taken it."""

    why: Why
    notice: Notice
    page: Page
    after: Page | None


def subject_name(subject: OpenAlert | MonitorTrouble) -> str:
    """One life of an alert, or one trouble: what comes again has another name, and so another page."""
    if isinstance(subject, MonitorTrouble):
        whose = f"{subject.cluster}/{subject.group}" if subject.group else subject.cluster
        kind, since_ts = subject.began
        return f"{kind}/{whose}@{since_ts}"
    return f"{subject.fact.fingerprint}@{subject.fact.fired_ts}"


def subjects(page: Page) -> tuple[str, ...]:
    """What the page is about."""
    return tuple(map(subject_name, page.alerts if page.trouble is None else (page.trouble,)))


def alive(page: Page, view: View) -> tuple[str, ...]:
    """The subjects that go on; none when the page is over."""
    standing = view.firing if page.trouble is None else view.troubles
    return tuple(name for name in subjects(page) if name in standing)


def due(pages: Iterable[Page], view: View, now: int, manner: Manner) -> list[Due]:
    """What the sink is to be told now, what is worst first."""
    found = []
    for page in pages:
        why = _why(page, view, now, manner)
        if why is not None:
            notice = notice_of(page, view)
            trying = replace(page, tried=True)
            kind = notice.trouble.kind if notice.trouble is not None else ""
            sent = Sent(now, alive(page, view), notice.severity, kind)
            after = None if why is Why.ENDED else replace(trying, sent=sent)
            found.append(Due(why, notice, trying, after))
    return sorted(found, key=lambda one: (one.notice.trouble is None, _RANK[one.notice.severity], one.notice.since_ts))


def is_unheard(page: Page, view: View) -> bool:
    """Whether it is over and the sink never heard of it."""
    return not page.tried and not alive(page, view)


def notice_of(page: Page, view: View) -> Notice:
    """A page as it stands. What no longer fires is told of only when the whole page is over."""
    going_on = set(alive(page, view))
    shown = [alert for alert in page.alerts if not going_on or subject_name(alert) in going_on]
    causes = {alert.fact.cause for alert in shown}
    if page.trouble is not None:
        severity, since = Severity.CRITICAL, page.trouble.since_ts
    else:
        severity = Severity(min((alert.fact.severity for alert in shown), key=_RANK.__getitem__))
        since = min(alert.fact.since_ts or alert.fact.active_ts for alert in shown)
    return Notice(
        key=page.key,
        status="firing" if going_on else "resolved",
        severity=severity,
        cluster=page.cluster,
        groups=_groups_of(page, shown),
        cause=causes.pop() if len(causes) == 1 else None,
        alerts=tuple(sorted(shown, key=lambda alert: (_RANK[alert.fact.severity], alert.group, alert.topic or ""))),
        trouble=page.trouble,
        since_ts=since,
    )


def _groups_of(page: Page, shown: Iterable[OpenAlert]) -> tuple[str, ...]:
    if page.trouble is not None:
        return (page.trouble.group,) if page.trouble.group else ()
    return tuple(sorted({alert.group for alert in shown}))


def _why(page: Page, view: View, now: int, manner: Manner) -> Why | None:
    going_on = alive(page, view)
    if not going_on:
        may_be_told = page.trouble is not None or page.cluster not in view.held
        return Why.ENDED if page.tried and may_be_told else None
    if page.sent is None:
        return Why.BEGUN if any(name in view.wanted for name in going_on) else None
    wanted = [name for name in going_on if name in view.wanted]
    worst = min((_RANK[view.firing[name].fact.severity] for name in wanted if name in view.firing), default=len(_RANK))
    if worst < _RANK[page.sent.severity]:
        return Why.GROWN
    if wanted and page.trouble is not None and _tells_more(page.trouble, page.sent, now, manner):
        return Why.GROWN
    if set(wanted) - set(page.sent.subjects) and now - page.sent.at >= manner.update_ms:
        return Why.GROWN
    is_old = manner.resend_ms is not None and now - page.sent.at >= manner.resend_ms
    return Why.KEPT_ALIVE if is_old else None


def _tells_more(trouble: MonitorTrouble, sent: Sent, now: int, manner: Manner) -> bool:
    """That nothing is seen any more is told at once, that a job which saw nothing is merely late is not urgent."""
    if not sent.trouble or trouble.kind == sent.trouble:
        return False
    return trouble.kind == "monitor_blind" or now - sent.at >= manner.update_ms
