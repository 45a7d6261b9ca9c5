"""When the name servers are asked for a topic's route."""

from collections.abc import Iterable

from schemas.identity import is_retry_topic
from streaming.collector.probing.policy import Policy

RETRY_ROUTE_MS = 60_000  # the route of a retry topic: no client waits for it


class RouteSchedule:
    """Retry topics are asked for less often: their queues hardly ever change."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._due_ts: dict[str, int] = {}

    def choose(self, topics: Iterable[str], now: int) -> list[str]:
        """Which of all topics in use to ask for now; all others are forgotten. Unknown ones are due at once."""
        used = set(topics)
        self._due_ts = {topic: ts for topic, ts in self._due_ts.items() if topic in used}
        return sorted(topic for topic in used if self._due_ts.get(topic, 0) <= now)

    def is_known(self, topic: str) -> bool:
        return topic in self._due_ts

    def answered(self, topic: str, now: int, is_known: bool) -> None:
        """A topic for which there was no answer is due again in the next round."""
        if not is_known:
            self._due_ts[topic] = 0
            return
        period = RETRY_ROUTE_MS if is_retry_topic(topic) else self._policy.route_ms
        first = self._policy.phase(topic, period) if self._due_ts.get(topic, 0) == 0 else 0
        self._due_ts[topic] = now + (first or period)
