"""Asks name servers for routes: one of them, and each time another one too. All are asked as soon as something is new.

Clients ask one of their own choice, and name servers do not tell each other what they know.
"""

from collections.abc import Awaitable, Iterable, Mapping

from schemas.identity import is_retry_topic
from streaming.collector.probing.policy import Policy
from streaming.collector.probing.transport import Record, Transport
from streaming.collector.translation.routes import KnownRoute, Routes

RETRY_ROUTE_MS = 60_000  # the route of a retry topic: no client waits for it


class RouteSchedule:
    """Retry topics are asked for less often: their queues hardly ever change."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._due_ts: dict[str, int] = {}
        self._asked_ts: dict[str, int] = {}

    def choose(self, topics: Iterable[str], now: int) -> list[str]:
        """Which of all topics in use to ask for now; all others are forgotten. Unknown ones are due at once."""
        used = set(topics)
        self._due_ts = {topic: ts for topic, ts in self._due_ts.items() if topic in used}
        self._asked_ts = {topic: ts for topic, ts in self._asked_ts.items() if topic in used}
        return sorted(topic for topic in used if self._due_ts.get(topic, 0) <= now)

    def is_known(self, topic: str) -> bool:
        return topic in self._due_ts

    def is_asked_since(self, topic: str, ts: int) -> bool:
        """Returns whether it was asked for after ``ts``, and all that could answer have."""
        return self._asked_ts.get(topic, 0) > ts

    def answered(self, topic: str, now: int, is_known: bool, asked_ts: int) -> None:
        """A topic for which there was no answer is due again in the next round."""
        self._asked_ts[topic] = asked_ts
        if not is_known:
            self._due_ts[topic] = 0
            return
        period = RETRY_ROUTE_MS if is_retry_topic(topic) else self._policy.route_ms
        first = self._policy.phase(topic, period) if self._due_ts.get(topic, 0) == 0 else 0
        # an answer comes a moment after its round: without half an interval less, one round too many would pass
        self._due_ts[topic] = now + (first or period - self._policy.interval_ms // 2)


class RouteProbe:
    """Belongs to one cluster. ``record`` gets every answer."""

    def __init__(self, transport: Transport, routes: Routes, policy: Policy, record: Record) -> None:
        self.schedule = RouteSchedule(policy)
        self._transport, self._routes, self._record = transport, routes, record
        self._turns: dict[str, int] = {}
        self._learning: dict[str, Awaitable[None]] = {}

    def known(self, topics: Iterable[str]) -> dict[str, KnownRoute]:
        """The routes of those topics whose route is known."""
        found = ((topic, self._routes.get(topic)[0]) for topic in topics)
        return {topic: route for topic, route in found if route is not None}

    async def learn_due(self, topics: set[str]) -> None:
        """Ask for those of all topics in use that are due; what is known of other topics is forgotten."""
        due = self.schedule.choose(topics, self._transport.clock.steady_ms())
        for topic in self._turns.keys() - topics:
            del self._turns[topic]
        self._routes.keep_only(topics)
        await self._learn_all(due)

    async def learn_unknown(self, topics: Iterable[str]) -> None:
        """Ask for those that were never asked for."""
        await self._learn_all([topic for topic in topics if not self.schedule.is_known(topic)])

    async def learn_since(self, times: Mapping[str, int]) -> None:
        """Ask for those topics whose last answer was not asked for after their time."""
        await self._learn_all([topic for topic, ts in times.items() if not self.schedule.is_asked_since(topic, ts)])

    async def _learn_all(self, topics: list[str]) -> None:
        """Each is asked for once, however many groups want it at the same time."""
        asking = [topic for topic in topics if topic not in self._learning]
        self._learning |= {topic: self._transport.start(self._learn(topic)) for topic in asking}
        await self._transport.wait([self._learning[topic] for topic in topics])

    async def _learn(self, topic: str) -> None:
        try:
            await self._ask(topic)
        finally:
            del self._learning[topic]

    async def _ask(self, topic: str) -> None:
        asked_ts = self._transport.clock.steady_ms()
        address, first = await self._transport.topic_route(topic)
        answers = [first]
        others = [other for other in self._transport.name_servers if other != address] if address else []
        if others:
            turn = self._turns[topic] = (self._turns.get(topic, -1) + 1) % len(others)
            answers += await self._transport.topic_routes(topic, [others[turn]])
            if any(map(self._routes.is_news, answers)):
                answers += await self._transport.topic_routes(topic, others[:turn] + others[turn + 1 :])
        for answer in answers:  # all at once: half of them would look like name servers that differ
            self._routes.take(answer)
            self._record(answer)
        self.schedule.answered(topic, self._transport.clock.steady_ms(), first.code is not None, asked_ts)
