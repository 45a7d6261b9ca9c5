"""One sink's pages worked through by hand: polls, failed sends, restarts."""

from collections.abc import Callable, Iterable

import msgspec

from schemas.facts import Fact
from streaming.notices import Notice
from streaming.notifier.grouping import opened
from streaming.notifier.monitor_health import Limits
from streaming.notifier.open_alerts import Standing
from streaming.notifier.pages import Due, Manner, Page, View, due, is_unheard
from streaming.notifier.routes import Route
from streaming.notifier.silences import Silence
from streaming.notifier.sink_view import Scene, scene_of, view_of
from tests.notifier.making import NOW, S

AT_ONCE = Manner(wait_ms=0)


class Receiver:
    """``told`` is every notice that the sink took. Every cluster counts as seen unless ``limits`` are given."""

    def __init__(
        self,
        manner: Manner = AT_ONCE,
        routes: tuple[Route, ...] = (Route(("sink",)),),
        limits: Limits | None = None,
        configured: tuple[str, ...] = (),
    ) -> None:
        self.standing = Standing()
        self.pages: list[Page] = []
        self.told: list[Notice] = []
        self.unheard: list[Page] = []
        self.silences: list[Silence] = []
        self.since = 0
        self._manner, self._routes, self._limits, self._configured = manner, routes, limits, configured

    def view(self, now: int) -> View:
        if self._limits is None:
            scene = Scene(self.standing, (), (), tuple(self.silences))
        else:
            scene = scene_of(self.standing, self.silences, self._configured, self._limits, self.since, now)
            self.standing.troubles = scene.troubles
        return view_of("sink", scene, self._routes, now)

    def poll(
        self, at: float, facts: Iterable[Fact] = (), takes: Callable[[Due], bool | None] = lambda one: True
    ) -> list[Due]:
        """``at``: seconds after NOW. ``takes`` says whether a send succeeds; None: that is never known."""
        now = NOW + round(at * S)
        self.standing.take(facts)
        view = self.view(now)
        pages = opened(self.pages, view, now, self._manner)
        found = due(pages, view, now, self._manner)
        self.unheard += [page for page in pages if is_unheard(page, view)]
        kept = {page.key: page for page in pages if not is_unheard(page, view)}
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
        self.standing = msgspec.json.decode(msgspec.json.encode(self.standing), type=Standing)
        self.pages = msgspec.json.decode(msgspec.json.encode(self.pages), type=list[Page])

    def says(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(notice.status, notice.groups) for notice in self.told]
