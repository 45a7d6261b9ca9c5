"""The page of all silences: author, end, reason, and the alerts each one silences now. Each can be ended here."""

from starlette.requests import Request

from streaming.web.context import Answer, Context
from streaming.web.views.silences import silence_rows

MOST_ROWS = 200


class SilencesPage:
    def __init__(self, context: Context) -> None:
        self._context = context

    def answer(self, request: Request) -> Answer:
        watch, silences = self._context.watch, self._context.silences
        user, now = self._context.user(request), self._context.silences_now_ms()
        rows = silence_rows(silences.all(), watch.known.all_open_alerts(), now)
        values = {
            "rows": rows[:MOST_ROWS],
            "left_out": max(0, len(rows) - MOST_ROWS),
            "failure": silences.failure,
            "is_read": self._context.notifier_reads(),
            "may_silence": user.may_silence,
            "token": self._context.forms.token(user.name, watch.now_ms()),
            "now": now,
        }
        return Answer("silences.html", values, "silences", ("/changes", watch.changes.number()))
