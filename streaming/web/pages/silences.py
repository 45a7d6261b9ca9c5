"""The page of all silences, where each can be ended; silences an alert from its page, with a scope and a duration."""

import logging
from collections.abc import Callable
from glob import escape

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from streaming.errors import MonitorError
from streaming.notices.notice import OpenAlert
from streaming.notifier.silence_files import new_id
from streaming.notifier.silences import Silence
from streaming.web.context import Answer, BadRequest, Context, Refused
from streaming.web.rendering import address
from streaming.web.request_values import Form, PostedForms
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


class Silencing:
    """Writes silences to the notifier's files: the notifier reads them within a second."""

    def __init__(self, context: Context, posted: PostedForms) -> None:
        self._context = context
        self._posted = posted

    async def add(self, request: Request) -> Response:
        return await self._done(request, self._add)

    async def end(self, request: Request) -> Response:
        return await self._done(request, self._end)

    async def _done(self, request: Request, act: Callable[[Request, Form], None]) -> Response:
        try:
            form = await self._posted.read(request)
            await run_in_threadpool(self._check, request, form)
            await run_in_threadpool(act, request, form)
        except MonitorError as error:
            return self._context.refusal(request, error, otherwise=400)
        if form.get("back") == "silences":
            return RedirectResponse("/silences", 303)
        back = address("/alert", id=form["id"], cluster=form.get("cluster"), group=form.get("group"))
        return RedirectResponse(back, 303)

    def _check(self, request: Request, form: Form) -> None:
        self._posted.require_ours(request, form)
        if not self._context.user(request).may_silence:
            raise Refused(self._context.words(request)("may_not_silence"))

    def _add(self, request: Request, form: Form) -> None:
        """Add a silence. Raises BadRequest, and SetupError if it cannot be written."""
        alert, words = self._context.watch.known.alerts.get(form.get("id", "")), self._context.words(request)
        if alert is None:
            raise BadRequest(words("not_found_alert"))
        minutes, why = form.get("minutes", ""), form.get("why", "").strip()[:LONGEST_WHY]
        if minutes not in map(str, SILENCE_MINUTES) or not why:
            raise BadRequest(words("silence_incomplete"))
        by, scope = self._context.user(request).name, form.get("scope", "")
        if scope not in SCOPES or (scope == "cause" and not alert.fact.cause):
            raise BadRequest(words("silence_incomplete"))
        silence = silence_of(alert, scope, int(minutes), by, why, self._context.silences_now_ms())
        self._context.silences.add(silence)
        log.info("%s silences %s/%s for %s minutes: %r", silence.by, alert.cluster, alert.group, minutes, why)

    def _end(self, request: Request, form: Form) -> None:
        ended = self._context.silences.end(form.get("silence", ""), self._context.silences_now_ms())
        log.info("%s ends the silence %r: %s", self._context.user(request).name, form.get("silence", ""), bool(ended))


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
