"""An alert: the page to which a notification links. The alert can be silenced here."""

from starlette.requests import Request

from schemas.facts import Severity
from streaming.errors import MonitorError, SourceError
from streaming.explain.doubts import is_unseen
from streaming.explain.snapshot_from_facts import steps_of
from streaming.newest_facts import newest_alerts, newest_lives
from streaming.notices.commands import silence_command
from streaming.notices.notice import Notice, OpenAlert
from streaming.notifier.silences import Silence, is_silenced
from streaming.web.context import Answer, Context, NotFound
from streaming.web.live.group_reader import Notification, read_notifications
from streaming.web.pages.group_page import GroupFacts
from streaming.web.pages.silencing import SCOPES, SILENCE_MINUTES, silence_of
from streaming.web.queries import required, text
from streaming.web.rendering import address
from streaming.web.views.alerts import AlertView, alert_view, in_order
from streaming.web.views.known import Known
from streaming.web.views.silences import silence_rows
from streaming.web.words import Words

HOURS = 24  # of the alert's history, at least
DAY_MS = 86_400_000
MOST_OTHERS = 20


class AlertPage:
    def __init__(self, context: Context, facts: GroupFacts) -> None:
        self._context = context
        self._facts = facts

    def answer(self, request: Request) -> Answer:
        """Answer with the page. Raises NotFound, BadRequest and Busy."""
        fingerprint = required(request.query_params, "id", 200)
        watch, words = self._context.watch, self._context.words(request)
        known, now = watch.known, watch.now_ms()
        alert = known.alerts.get(fingerprint)
        named = text(request.query_params, "cluster"), text(request.query_params, "group")
        name = (alert.cluster, alert.group) if alert is not None else named
        live = watch.changes.number(name)
        try:
            facts = self._facts.now(name, known, HOURS) if name[1] else []
        except SourceError:
            facts = []
        newest = {one.fact.fingerprint: one for one in newest_alerts(facts)}
        alert = newest.get(fingerprint) or alert
        if alert is None:
            raise NotFound(words("not_found_alert"))
        user = self._context.user(request)
        view = alert_view(alert, words.of_pages, now, self._context.site(words))
        seen_ts = known.seen_ts(alert.cluster)
        values = {
            "alert": view,
            "others": self._others(alert, known.with_facts(facts), words, now),
            "steps": steps_of(newest_lives(facts).get(fingerprint, ()))[::-1],
            "unseen_since_ts": seen_ts if is_unseen(seen_ts, now) else None,
            "told": self._told(alert),
            "silences": self._silences(alert),
            "may_silence": user.may_silence,
            "is_read": self._context.notifier_reads(),
            "token": self._context.forms.token(user.name, now),
            "silence_minutes": SILENCE_MINUTES,
            "scopes": self._scopes(alert),
            "silence_command": silence_command(_notice(alert), self._context.settings.site),
            "now": now,
        }
        changes = address("/changes", cluster=name[0], group=name[1])
        return Answer("alert.html", values, "", (changes, live), cluster=name[0])

    def _others(self, alert: OpenAlert, known: Known, words: Words, now: int) -> list[AlertView]:
        """Other alerts that fire in the group, or may soon: a remedy for this one may harm them."""
        everything = known.open_alerts((alert.cluster, alert.group))
        others = [one for one in everything if one.fact.fingerprint != alert.fact.fingerprint]
        site = self._context.site(words)
        return [alert_view(one, words.of_pages, now, site) for one in in_order(others)[:MOST_OTHERS]]

    def _scopes(self, alert: OpenAlert) -> list[tuple[str, tuple[OpenAlert, ...]]]:
        """The scopes of a silence, and the open alerts that each would silence now."""
        everything = self._context.watch.known.open_alerts((alert.cluster, alert.group))
        now = self._context.silences_now_ms()
        scopes = [scope for scope in SCOPES if scope != "cause" or alert.fact.cause]
        tried = [silence_of(alert, scope, 1, "", "", now) for scope in scopes]
        return [
            (scope, silence_rows([one], everything, now)[0].alerts) for scope, one in zip(scopes, tried, strict=True)
        ]

    def _told(self, alert: OpenAlert) -> list[Notification]:
        """The pages sent of this alert; none if the notifier's table cannot be read."""
        since = min(alert.fact.active_ts, alert.ts) - DAY_MS
        try:
            return read_notifications(self._context.watch.tables, [alert.fact.fingerprint], since)
        except MonitorError:
            return []

    def _silences(self, alert: OpenAlert) -> list[Silence]:
        now = self._context.silences_now_ms()
        return [one for one in self._context.silences.all() if is_silenced(alert, [one], now)]


def _notice(alert: OpenAlert) -> Notice:
    """A notice of this alert alone."""
    return Notice(
        key="",
        status="firing",
        severity=Severity.WARNING,
        cluster=alert.cluster,
        groups=(alert.group,),
        cause=alert.fact.cause,
        alerts=(alert,),
        since_ts=alert.fact.active_ts,
    )
