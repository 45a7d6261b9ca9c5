"""One sink's pages worked through by hand: polls, failed sends, restarts."""

from collections.abc import Callable, Iterable

import msgspec

from schemas.facts import Fact
from streaming.config.alerts import Alerts
from streaming.notices.notice import Notice
from streaming.notifier.grouping import update_pages
from streaming.notifier.monitor_health import MonitorLimits, monitor_limits
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.pages import DueNotice, Page, PageSettings, SinkView, due_notices, ended_unsent, page_settings
from streaming.notifier.silences import Silence
from streaming.notifier.sink_view import CurrentState, Route, current_state, view_of
from tests.notifier.facts import NOW, S

PAGES = page_settings(Alerts().pages)
AT_ONCE = PAGES._replace(wait_ms=0)
LIMITS = monitor_limits(Alerts().monitor)


class Receiver:
    """``told`` is every notice that the sink took. Every cluster counts as seen unless ``limits`` are given."""

    def __init__(
        self,
        page_settings: PageSettings = AT_ONCE,
        routes: tuple[Route, ...] = (Route(("sink",)),),
        limits: MonitorLimits | None = None,
        configured: tuple[str, ...] = (),
    ) -> None:
        self.open_alerts = OpenAlerts()
        self.pages: list[Page] = []
        self.told: list[Notice] = []
        self.ended_unsent: list[Page] = []
        self.silences: list[Silence] = []
        self.since = 0
        self._settings, self._routes, self._limits, self._configured = page_settings, routes, limits, configured

    def view(self, now: int) -> SinkView:
        if self._limits is None:
            state = CurrentState(self.open_alerts, (), (), tuple(self.silences))
        else:
            state = current_state(self.open_alerts, self.silences, self._configured, self._limits, self.since, now)
            self.open_alerts.troubles = state.troubles
        return view_of("sink", state, self._routes, now)

    def poll(
        self, at: float, facts: Iterable[Fact] = (), takes: Callable[[DueNotice], bool | None] = lambda one: True
    ) -> list[DueNotice]:
        """``at``: seconds after NOW. ``takes`` says whether a send succeeds; None: that is never known."""
        now = NOW + round(at * S)
        self.open_alerts.take(facts)
        view = self.view(now)
        pages = update_pages(self.pages, view, now, self._settings)
        found = due_notices(pages, view, now, self._settings)
        self.ended_unsent += [page for page in pages if ended_unsent(page, view)]
        kept = {page.key: page for page in pages if not ended_unsent(page, view)}
        assert len({page.key for page in pages}) == len(pages)
        for one in found:
            before = kept.pop(one.notice.key)
            after = one.after if (taken := takes(one)) else before if taken is False else one.page
            self.told += [one.notice] if taken else []
            if after is not None:
                kept[after.key] = after
        self.pages = list(kept.values())
        return found

    def restart(self) -> None:
        """From what is kept in files."""
        self.open_alerts = msgspec.json.decode(msgspec.json.encode(self.open_alerts), type=OpenAlerts)
        self.pages = msgspec.json.decode(msgspec.json.encode(self.pages), type=list[Page])

    def says(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(notice.status, notice.groups) for notice in self.told]
