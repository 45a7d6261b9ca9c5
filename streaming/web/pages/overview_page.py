"""The page with every group, the worst first."""

from starlette.requests import Request

from streaming.notifier.silences import Silence
from streaming.web.context import Answer, Context
from streaming.web.queries import number, one_of, text
from streaming.web.views.overview import LONGEST_SEARCH, SORTS, STATES, Overview, Wanted
from streaming.web.views.silences import silenced


class OverviewPage:
    def __init__(self, context: Context) -> None:
        self._context = context

    def answer(self, request: Request) -> Answer:
        watch = self._context.watch
        query = request.query_params
        wanted = Wanted(
            search=text(query, "q", LONGEST_SEARCH).strip(),
            cluster=text(query, "cluster"),
            state=one_of(query, "state", STATES),
            finding=text(query, "finding", 40),
            sort=one_of(query, "sort", SORTS, "worst"),
            page=number(query, "page", 1, 10**6, 1),
        )
        live = watch.changes.number()
        now = watch.now_ms()
        view = self._context.ranking.groups(now).overview(wanted, now)
        values = {"view": view, "now": now, "sorts": SORTS, "silenced": self._silenced(view)}
        return Answer("overview.html", values, "overview", ("/changes", live))

    def _silenced(self, view: Overview) -> dict[str, Silence]:
        alerts = [alert for row in view.rows for alert in row.alerts]
        return silenced(alerts, self._context.silences.all(), self._context.silences_now_ms())
