"""The view of an alert: finding, place, time, cause, evidence and advice, in the words of a notice; its silences."""

from collections.abc import Iterable
from typing import NamedTuple

from streaming.notices.affected import seen_ts, worst_first
from streaming.notices.commands import next_command
from streaming.notices.evidence import evidence_of
from streaming.notices.language import Language
from streaming.notices.notice import OpenAlert, Site
from streaming.notices.page_parts import (
    about,
    advice_on,
    changes_before,
    client_lines,
    headline,
    is_right_for_now,
    note_on,
    queue_lines,
    waiting_line,
)
from streaming.notifier.silences import Silence
from streaming.wording.times import clock

MOST_LINES = 100


class AlertView(NamedTuple):
    """An alert as a page shows it.

    ``note``: why it does not fire yet, or is stale, or stays open though the queues are right for now. ``level``: its
    severity if it fires, else pending, right or resolved. ``host``: where to type the command. ``ended_ts`` None: it is
    open. ``ending``: why it was closed without evidence of recovery. ``seen_ts``: when the evidence was seen.
    """

    known: OpenAlert
    level: str
    what: str
    ended_ts: int | None
    note: str
    ending: str
    queues: tuple[str, ...]
    brief: str
    why: str
    evidence: str
    seen_ts: int
    do: str
    now: str
    command: str
    host: str
    waiting: str
    clients: tuple[str, ...]
    changes: tuple[str, ...]
    about: str


def alert_view(alert: OpenAlert, words: Language, now: int, site: Site) -> AlertView:
    """The view of an alert. ``now``: the time by which ages are counted. Times are in the site's zone."""
    fact = alert.fact
    do, for_now = advice_on(fact.cause, fact.kind, words)
    command = next_command(alert, site)
    what = headline(alert, words, now, site.zone)
    return AlertView(
        known=alert,
        level=level_of(alert),
        what=words.stale_title.format(what=what) if fact.stale and alert.is_firing else what,
        ended_ts=None if alert.is_open else fact.resolved_ts or alert.ts,
        note=note_on(alert, words, now, site.zone),
        ending="" if alert.is_open else words.endings.get(fact.reason, "").format(kind=fact.kind),
        queues=_lines(line.strip() for line in queue_lines(alert, words, now, site.zone)),
        brief=words.advice(fact.cause).brief if fact.cause else "",
        why=words.advice(fact.cause).sentence if fact.cause else "",
        evidence=evidence_of(fact, words.evidence, lambda ts: clock(ts, now, site.zone)),
        seen_ts=seen_ts(alert),
        do=do,
        now=for_now,
        command=command.text,
        host=command.host or "",
        waiting=waiting_line([alert], words, now, site.zone) or "",
        clients=_lines(client_lines([alert], words, now, site.zone)),
        changes=_lines(f"{clock(ts, now, site.zone)} {what}" for ts, what in changes_before([alert], words)),
        about=about((fact.cause, fact.kind), words, site.docs) or "",
    )


def level_of(alert: OpenAlert) -> str:
    if is_right_for_now(alert):
        return "right"
    return alert.fact.severity if alert.is_firing else alert.fact.state


def in_order(alerts: Iterable[OpenAlert]) -> list[OpenAlert]:
    """Alerts in order: those that fire, the worst first; then those that are right for now."""
    return sorted(worst_first(alerts), key=lambda alert: (not alert.is_firing, is_right_for_now(alert)))


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(lines)[:MOST_LINES]


class SilenceRow(NamedTuple):
    """A silence. ``alerts``: the open alerts that it silences then, the worst first; none if it is not active."""

    silence: Silence
    is_on: bool
    alerts: tuple[OpenAlert, ...]


def silence_rows(silences: Iterable[Silence], alerts: Iterable[OpenAlert], now: int) -> tuple[SilenceRow, ...]:
    """Rows of silences: the active ones, the newest first; then those that ended."""
    open_alerts = in_order(alerts)
    rows = [
        SilenceRow(one, one.is_on(now), tuple(alert for alert in open_alerts if one.is_on(now) and one.matches(alert)))
        for one in silences
    ]
    return tuple(sorted(rows, key=lambda row: (not row.is_on, -row.silence.from_ts)))


def silenced(alerts: Iterable[OpenAlert], silences: Iterable[Silence], now: int) -> dict[str, Silence]:
    """The silence that lasts longest, by the fingerprint of each silenced alert."""
    on = sorted((one for one in silences if one.is_on(now)), key=lambda one: one.until_ts)
    return {alert.fact.fingerprint: one for alert in alerts for one in on if one.matches(alert)}
