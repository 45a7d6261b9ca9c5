"""The page of evenkeel itself: if it sees each cluster, what it could not use, and if notifications arrive."""

from starlette.requests import Request

from streaming.web.context import Answer, Context
from streaming.web.views.upkeep import clusters_seen, refused_groups


def health_page(context: Context, request: Request) -> Answer:
    watch = context.watch
    known, live, now = watch.known, watch.changes.number(), watch.now_ms()
    values = {
        "clusters": clusters_seen(known, now),
        "refused": refused_groups(known),
        "upkeep": context.upkeep.read(now),
        "notifier": context.notifier(),
        "now": now,
    }
    return Answer("health.html", values, "health", ("/changes", live))
