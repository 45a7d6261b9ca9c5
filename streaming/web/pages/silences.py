"""The page of all silences, where each can be ended; silences an alert from its page, with a scope and a duration."""

import logging
from glob import escape

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from streaming.notices.notice import OpenAlert
from streaming.notifier.silence_files import new_id
from streaming.notifier.silences import Silence
from streaming.web.context import Answer, BadRequest, Context, Refused
from streaming.web.rendering import address
from streaming.web.request_values import Form
from streaming.web.views.alerts import silence_rows

log = logging.getLogger(__name__)

SCOPES = ("alert", "cause", "group")  # its kind of finding; all findings with its cause; all findings of its group
SILENCE_MINUTES = (30, 60, 120, 480, 1440)
LONGEST_WHY = 500
MOST_ROWS = 200


def silences_page(context: Context, request: Request) -> Answer:
    watch, silences = context.watch, context.silences
    user, now = context.user(request), context.silences_now_ms()
    rows = silence_rows(silences.all(), watch.known.all_open_alerts(), now)
    values = {
        "rows": rows[:MOST_ROWS],
        "left_out": max(0, len(rows) - MOST_ROWS),
        "failure": silences.failure,
        "is_read": bool(context.notifier()),
        "may_silence": user.may_silence,
        "token": context.forms.token(user.name, watch.now_ms()),
        "now": now,
    }
    return Answer("silences.html", values, "silences", ("/changes", watch.changes.number()))


def add_silence(context: Context, request: Request, form: Form) -> Response:
    """Write a silence to the notifier's files: the notifier reads it within a second.

    Raises Refused and BadRequest, and SetupError if it cannot be written.
    """
    by, words = _user_who_may(context, request), context.words(request)
    alert = context.watch.known.alerts.get(form.get("id", ""))
    if alert is None:
        raise BadRequest(words("not_found_alert"))
    minutes, why = form.get("minutes", ""), form.get("why", "").strip()[:LONGEST_WHY]
    if minutes not in map(str, SILENCE_MINUTES) or not why:
        raise BadRequest(words("silence_incomplete"))
    scope = form.get("scope", "")
    if scope not in SCOPES or (scope == "cause" and not alert.fact.cause):
        raise BadRequest(words("silence_incomplete"))
    context.silences.add(silence_of(alert, scope, int(minutes), by, why, context.silences_now_ms()))
    log.info("%s silences %s/%s for %s minutes: %r", by, alert.cluster, alert.group, minutes, why)
    return _back(form)


def end_silence(context: Context, request: Request, form: Form) -> Response:
    """End a silence. Raises Refused, and SetupError if it cannot be written."""
    by, name = _user_who_may(context, request), form.get("silence", "")
    log.info("%s ends the silence %r: %s", by, name, bool(context.silences.end(name, context.silences_now_ms())))
    return _back(form)


def _user_who_may(context: Context, request: Request) -> str:
    user = context.user(request)
    if not user.may_silence:
        raise Refused(context.words(request)("may_not_silence"))
    return user.name


def _back(form: Form) -> Response:
    """Redirect to the page that has posted the form."""
    alert = address("/alert", id=form["id"], cluster=form.get("cluster"), group=form.get("group"))
    return RedirectResponse("/silences" if form.get("back") == "silences" else alert, 303)


def silence_of(alert: OpenAlert, scope: str, minutes: int, by: str, why: str, now: int) -> Silence:
    """A silence of the alert's group from ``now`` (epoch ms). No name in it is read as a pattern."""
    return Silence(
        id=new_id(),
        cluster=escape(alert.cluster),
        group=escape(alert.group),
        kind=escape(alert.fact.kind) if scope == "alert" else "*",
        cause=escape(alert.fact.cause or "") if scope == "cause" else "*",
        from_ts=now,
        until_ts=now + minutes * 60_000,
        by=by,
        why=why,
    )
