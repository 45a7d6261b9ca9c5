"""The order of all groups, made once for each moment that is known, not for each request."""

from threading import Lock

from streaming.web.live.watch import Watch
from streaming.web.views.overview import RankedGroups


class Ranking:
    """One for a server: the overview and the JSON API show the same order."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._lock = Lock()
        self._ranked: tuple[tuple[int, int], RankedGroups] | None = None

    def groups(self, now: int) -> RankedGroups:
        """Made again when something has changed, and every ten seconds, since a cluster may have become silent."""
        known = self._watch.known
        moment = (known.version, now // 10_000)
        with self._lock:
            if self._ranked is None or self._ranked[0] != moment:
                self._ranked = (moment, RankedGroups(known, now))
            return self._ranked[1]
