"""From when on what clients report counts: after a change they need time to share out their queues again.

The job computes the same of the same changes (``core.evidence.grace``). Where the two differ, a client is asked at a
moment that is of no use, and no finding changes.
"""

from collections.abc import Iterable, Mapping

from streaming.collector.translation.routes import KnownRoute
from streaming.core.settings import Timing


class ReportGraces:
    """Belongs to one group. Times are those at which the rounds ended that showed the changes, as in the job."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._lists: dict[str, list[str]] = {}
        self._routes: dict[str, KnownRoute] = {}
        self._graces: dict[str, int] = {}  # of changes in the present round, by what has changed
        self._ready_ts: dict[str, int] = {}
        self._has_ended = False
        self.orderly = False

    def listed(self, lists: Mapping[str, Iterable[str]]) -> None:
        """The members that brokers list, by broker, of those that answer."""
        for broker, client_ids in lists.items():
            ids = sorted(client_ids)
            if self._lists.get(broker, []) != ids:
                self._lists[broker] = ids
                self._note(_of_list(broker), self._timing.grace_membership_ms)

    def restarted(self) -> None:
        """A client was started again so quickly that no list was without it: it has left all lists and joined them."""
        for broker in self._lists:
            self._note(_of_list(broker), self._timing.grace_membership_ms)

    def routed(self, routes: Mapping[str, KnownRoute]) -> None:
        """The routes of the group's topics."""
        for topic in self._routes.keys() - routes.keys():
            del self._routes[topic]
        for topic, route in routes.items():
            before = self._routes.get(topic)
            if before != route:
                self._routes[topic] = route
                self._note(_of_route(topic), self._grace_of_route(before, route))

    def round_ended(self, now: int) -> None:
        extra_ms = self._timing.grace_orderly_extra_ms if self.orderly else 0
        for what, grace_ms in self._graces.items():
            self._ready_ts[what] = now + grace_ms + extra_ms
        self._graces.clear()
        self._has_ended = True

    def is_under_way(self, now: int) -> bool:
        """Returns whether something changed whose grace has not ended."""
        return bool(self._graces) or any(ts > now for ts in self._ready_ts.values())

    def counts_from(self, topic: str) -> int | None:
        """Since when reports on the topic count; None: something has changed in the present round."""
        route = self._routes.get(topic)
        changes = [_of_route(topic), *(_of_list(one.broker_name) for one in (route.queues if route else ()))]
        if any(what in self._graces for what in changes):
            return None
        return max(self._ready_ts.get(what, 0) for what in changes)

    def _note(self, what: str, grace_ms: int) -> None:
        self._graces[what] = max(grace_ms, self._graces.get(what, 0))

    def _grace_of_route(self, before: KnownRoute | None, route: KnownRoute) -> int:
        """A broker that comes or goes, and name servers that differ, take longer than a new number of queues."""
        if before is None and not self._has_ended:
            return 0
        is_long = bool(route.others) or (before is not None and _brokers(before) != _brokers(route))
        return self._timing.grace_broker_ms if is_long else self._timing.grace_route_ms


def _brokers(route: KnownRoute) -> set[str]:
    return {queues.broker_name for queues in route.queues}


def _of_list(broker: str) -> str:
    return f"list {broker}"


def _of_route(topic: str) -> str:
    return f"route {topic}"
