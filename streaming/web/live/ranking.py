"""The order of all groups, computed once for each new state of the data, not for each request."""

from threading import Lock

from streaming.web.live.watch import Watch
from streaming.web.views.overview import RankedGroups


class Ranking:
    """The ranking of a server: the overview and the JSON API show the same order."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._lock = Lock()
        self._ranked: tuple[tuple[int, int], RankedGroups] | None = None

    def groups(self, now: int) -> RankedGroups:
        """The ranked groups. They are ranked after a change, and every ten seconds: a cluster may become silent."""
        known = self._watch.known
        moment = (known.version, now // 10_000)
        with self._lock:
            if self._ranked is None or self._ranked[0] != moment:
                self._ranked = (moment, RankedGroups(known, now))
            return self._ranked[1]
