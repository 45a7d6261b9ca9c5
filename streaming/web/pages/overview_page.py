"""The page with every group, the worst first."""

from collections.abc import Callable

from starlette.datastructures import QueryParams
from starlette.requests import Request

from streaming.web.context import Answer, Context
from streaming.web.request_values import number, one_of, text
from streaming.web.views.alerts import silenced
from streaming.web.views.overview import LONGEST_SEARCH, SORTS, STATES, Wanted


def overview_page(context: Context, request: Request) -> Answer:
    watch = context.watch
    live, now = watch.changes.number(), watch.now_ms()
    view = watch.ranked(now).overview(groups_wanted(request.query_params, one_of), now)
    alerts = [alert for row in view.rows for alert in row.alerts]
    on = silenced(alerts, context.silences.all(), context.silences_now_ms())
    values = {"view": view, "now": now, "sorts": SORTS, "silenced": on}
    return Answer("overview.html", values, "overview", ("/changes", live))


def groups_wanted(query: QueryParams, word: Callable[[QueryParams, str, tuple[str, ...]], str]) -> Wanted:
    """The groups that a query asks for. ``word``: the value of a parameter that is one of these words, or empty."""
    return Wanted(
        search=text(query, "q", LONGEST_SEARCH).strip(),
        cluster=text(query, "cluster"),
        state=word(query, "state", STATES),
        finding=text(query, "finding", 40),
        sort=word(query, "sort", SORTS) or "worst",
        page=number(query, "page", 1, 10**6, 1),
    )
