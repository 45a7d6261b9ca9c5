"""Asks name servers for routes: one of them, and each time another one too. All are asked as soon as something is new.

Clients ask one of their own choice, and name servers do not tell each other what they know.
"""

from collections.abc import Callable

from streaming.collector.probing.route_schedule import RouteSchedule
from streaming.collector.translation.routes import Routes
from streaming.collector.wire import bodies, requests
from streaming.collector.wire.answers import Line, RouteAnswer
from streaming.collector.wire.clock import Clock
from streaming.collector.wire.name_servers import NameServers


class RouteProbe:
    """Of one cluster. ``record`` gets every answer."""

    def __init__(
        self,
        cluster: str,
        name_servers: NameServers,
        routes: Routes,
        schedule: RouteSchedule,
        record: Callable[[Line], None],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._cluster = cluster
        self._name_servers = name_servers
        self._routes = routes
        self._schedule = schedule
        self._record = record
        self._turns: dict[str, int] = {}

    async def learn(self, topic: str) -> None:
        """Ask for one topic's route."""
        address, reply = await self._name_servers.ask(requests.topic_route(topic))
        answers = [bodies.topic_route(reply, self._cluster, topic, address)]
        others = [other for other in self._name_servers.addresses if other != address] if address else []
        if others:
            turn = self._turns[topic] = (self._turns.get(topic, -1) + 1) % len(others)
            answers += await self._ask(topic, [others[turn]])
            if any(map(self._routes.is_news, answers)):
                answers += await self._ask(topic, others[:turn] + others[turn + 1 :])
        for answer in answers:  # all at once: half of them would look like name servers that differ
            self._routes.take(answer)
            self._record(answer)
        self._schedule.answered(topic, self._clock.steady_ms(), answers[0].code is not None)

    def keep_only(self, topics: set[str]) -> None:
        """Forget all other topics."""
        for topic in self._turns.keys() - topics:
            del self._turns[topic]
        self._routes.keep_only(topics)

    async def _ask(self, topic: str, addresses: list[str]) -> list[RouteAnswer]:
        replies = await self._name_servers.ask_besides(requests.topic_route(topic), addresses)
        return [bodies.topic_route(reply, self._cluster, topic, address) for address, reply in replies.items()]
