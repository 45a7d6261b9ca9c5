"""The page of evenkeel itself: if it sees each cluster, what it could not use, and if notifications arrive."""

from starlette.requests import Request

from streaming.notifier.state_files import running_notifier
from streaming.web.context import Answer, Context
from streaming.web.live.upkeep_reader import read_upkeep
from streaming.web.views.upkeep import clusters_seen, refused_groups


class HealthPage:
    def __init__(self, context: Context) -> None:
        self._context = context

    def answer(self, request: Request) -> Answer:
        watch = self._context.watch
        known, live, now = watch.known, watch.changes.number(), watch.now_ms()
        values = {
            "clusters": clusters_seen(known, now),
            "refused": refused_groups(known),
            "upkeep": read_upkeep(watch.tables, now),
            "notifier": self._notifier(),
            "now": now,
        }
        return Answer("health.html", values, "health", ("/changes", live))

    def _notifier(self) -> str:
        """The process that delivers from ``notify.state``; empty: none is known."""
        try:
            return str(running_notifier(self._context.settings.state) or "")
        except OSError:
            return ""
