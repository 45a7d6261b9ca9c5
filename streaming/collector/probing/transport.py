"""How the rounds of a cluster's groups ask and wait: live by sockets, simulated on a virtual clock."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from typing import Any, Protocol, TypeVar

from schemas.events import AnyEvent
from streaming.collector.wire import answers

Emit = Callable[[list[AnyEvent]], None]
Record = Callable[[answers.Line], None]
A = TypeVar("A", bound=answers.Answer)
T = TypeVar("T")
Timed = tuple[A, int]  # an answer, and when it was asked for by the steady clock


class SteadyClock(Protocol):
    """``steady_ms`` never steps: schedules go by it. ``now_ms`` is the time that events get."""

    def steady_ms(self) -> int: ...

    def now_ms(self) -> int: ...


class Transport(Protocol):
    """Asks brokers by their names. To ask never raises: that there was no answer is an answer without a code."""

    @property
    def clock(self) -> SteadyClock: ...

    @property
    def name_servers(self) -> tuple[str, ...]:
        """Their addresses."""

    async def members(self, broker: str, group: str) -> tuple[answers.ConsumerListAnswer, answers.ConnectionsAnswer]:
        """The broker's list (38), and its connections (203), which say the same of who is listed."""

    async def heartbeats(self, broker: str, group: str, client_ids: Collection[str]) -> answers.HeartbeatsAnswer:
        """Which connections of these clients have sent heartbeats (328)."""

    async def consume_stats(
        self, broker: str, group: str, topic: str | None = None
    ) -> Timed[answers.ConsumeStatsAnswer]:
        """The group's offsets (208). Without a topic: of all topics for which it has ever committed one there."""

    async def offsets_one_by_one(
        self, broker: str, group: str, queues: Collection[tuple[str, int]]
    ) -> answers.ConsumeStatsAnswer:
        """The offsets of single queues (30 and 14), by topic and queue id."""

    async def polls(self, broker: str, group: str, topic: str, queue_id: int) -> answers.PollsAnswer:
        """How many polls of the group wait for messages of the topic, at a queue or at any (200055)."""

    async def running_info(self, broker: str, group: str, client_id: str) -> Timed[answers.RunningInfoAnswer]:
        """The broker asks the client what it owns (307)."""

    async def topic_route(self, topic: str) -> tuple[str | None, answers.RouteAnswer]:
        """The first name server that answers (105), and its answer. None: none does."""

    async def topic_routes(self, topic: str, name_servers: Collection[str]) -> list[answers.RouteAnswer]:
        """The answers of these name servers, as far as they come soon."""

    def start(self, work: Coroutine[Any, Any, None]) -> Awaitable[None]:
        """Begins work for which a round need not wait: at once, or as soon as the round waits for something."""

    async def wait(self, works: Collection[Awaitable[None]], at_most_ms: int | None = None) -> None:
        """Waits until these works have ended, but no longer than that. What is not done goes on."""

    async def all(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Does all of it at the same time, and returns the results in order. Raises what one of them raises."""
