"""An alert: the page to which a notification links. The alert can be silenced here."""

from typing import Any

from starlette.requests import Request

from streaming.errors import MonitorError, SourceError
from streaming.explain.snapshot import is_unseen
from streaming.explain.snapshot_from_facts import steps_of
from streaming.newest_facts import newest_alerts, newest_lives
from streaming.notices.commands import silence_command
from streaming.notices.notice import OpenAlert
from streaming.notifier.silences import is_silenced
from streaming.web.context import Answer, NotFound
from streaming.web.live.group_reader import read_notifications
from streaming.web.pages.group_page import GroupFacts
from streaming.web.pages.silences import SCOPES, SILENCE_MINUTES, silence_of
from streaming.web.rendering import address
from streaming.web.request_values import required, text
from streaming.web.views.alerts import alert_view, in_order, silence_rows
from streaming.web.views.known import Known

HOURS = 24  # of the alert's history, at least
DAY_MS = 86_400_000
MOST_OTHERS = 20


def alert_page(facts: GroupFacts, request: Request) -> Answer:
    """Answer with the page. Raises NotFound, BadRequest and Busy."""
    context = facts.context
    fingerprint = required(request.query_params, "id", 200)
    watch, words, site = context.watch, context.words(request), context.site(context.words(request))
    known, now = watch.known, watch.now_ms()
    alert = known.alerts.get(fingerprint)
    named = text(request.query_params, "cluster"), text(request.query_params, "group")
    name = (alert.cluster, alert.group) if alert is not None else named
    live = watch.changes.number(name)
    try:
        of_group = facts.now(name, known, HOURS) if name[1] else []
    except SourceError:
        of_group = []
    alert = next((one for one in newest_alerts(of_group) if one.fact.fingerprint == fingerprint), alert)
    if alert is None:
        raise NotFound(words("not_found_alert"))
    # a remedy for this one may harm other alerts that fire in the group, or may soon
    others = in_order(
        one
        for one in known.with_facts(of_group).open_alerts((alert.cluster, alert.group))
        if one.fact.fingerprint != fingerprint
    )
    user, seen_ts, silencing_now = context.user(request), known.seen_ts(alert.cluster), context.silences_now_ms()
    values = {
        "alert": alert_view(alert, words.of_pages, now, site),
        "others": [alert_view(one, words.of_pages, now, site) for one in others[:MOST_OTHERS]],
        "steps": steps_of(newest_lives(of_group).get(fingerprint, ()))[::-1],
        "unseen_since_ts": seen_ts if is_unseen(seen_ts, now) else None,
        "told": _told(alert, watch.tables),
        "silences": [one for one in context.silences.all() if is_silenced(alert, [one], silencing_now)],
        "may_silence": user.may_silence,
        "is_read": bool(context.notifier()),
        "token": context.forms.token(user.name, now),
        "silence_minutes": SILENCE_MINUTES,
        "scopes": _scopes(alert, known, silencing_now),
        "silence_command": silence_command(context.settings.site, alert.cluster, alert.group),
        "now": now,
    }
    changes = address("/changes", cluster=name[0], group=name[1])
    return Answer("alert.html", values, "", (changes, live), cluster=name[0])


def _scopes(alert: OpenAlert, known: Known, now: int) -> list[tuple[str, tuple[OpenAlert, ...]]]:
    """The scopes of a silence, and the open alerts that each would silence now."""
    everything = known.open_alerts((alert.cluster, alert.group))
    scopes = [scope for scope in SCOPES if scope != "cause" or alert.fact.cause]
    tried = {scope: silence_of(alert, scope, 1, "", "", now) for scope in scopes}
    return [(scope, silence_rows([one], everything, now)[0].alerts) for scope, one in tried.items()]


def _told(alert: OpenAlert, tables: str) -> list[dict[str, Any]]:
    """The pages sent of this alert; none if the notifier's table cannot be read."""
    try:
        return read_notifications(tables, [alert.fact.fingerprint], min(alert.fact.active_ts, alert.ts) - DAY_MS)
    except MonitorError:
        return []
