"""The routes of a cluster's topics, by the last answer of each of its name servers, and which of them events sent."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import astuple

from schemas.events import RouteCopy, RouteQueues
from streaming.collector.wire.answers import SUCCESS, TOPIC_NOT_EXIST, RouteAnswer
from streaming.core.intake.size_limits import QUEUES_AT_MOST
from streaming.core.state.group_state import PERM_READ

KEEP_SILENT_COPY_MS = 60_000  # of a name server that does not answer: clients may still go by its copy
REPEAT_ROUTE_MS = 60_000

Queues = tuple[RouteQueues, ...]  # by broker name


class KnownRoute(NamedTuple):
    """The queues of a topic on each broker; none of them: no route.

    Where name servers differ, ``name_servers`` are those that have it so, and ``others`` the other copies. ``others``
    is None where it is not known who answered, since only one of several is asked.
    """

    queues: Queues
    static: bool = False
    name_servers: tuple[str, ...] = ()
    others: tuple[RouteCopy, ...] | None = None

    def read_queue_nums(self) -> dict[str, int]:
        """By broker, the most that any copy has."""
        return {broker: read for broker, (read, _) in self.queue_nums().items()}

    def lets_read(self, broker: str) -> bool:
        """Whether the broker has a queue of the topic that clients may read."""
        return any(
            one.broker_name == broker and one.read_queue_nums and one.perm & PERM_READ and not self.static
            for one in self.queues
        )

    def queue_nums(self) -> dict[str, tuple[int, int]]:
        """By broker, how many queues can be read, and how many can be read or written: the most that any copy has.

        At most as many as the job takes: each of them may be asked for, and a route may claim 2^31 of them.
        """
        numbers: dict[str, tuple[int, int]] = {}
        for queues in (self.queues, *(other.brokers for other in self.others or ())):
            for one in queues:
                read, most = numbers.get(one.broker_name, (0, 0))
                most = min(max(one.read_queue_nums, one.write_queue_nums, most), QUEUES_AT_MOST)
                numbers[one.broker_name] = min(max(one.read_queue_nums, read), most), most
        return numbers


class _Copy(NamedTuple):
    queues: Queues
    static: bool
    ts: int


class Routes:
    """The route of every topic, as far as it is known, and when it was last confirmed."""

    def __init__(self) -> None:
        self._copies: dict[str, dict[str, _Copy]] = {}  # topic -> name server, "" if it is not known which
        self._known: dict[str, tuple[KnownRoute, int]] = {}

    def take(self, answer: RouteAnswer) -> None:
        """That nobody answers leaves nothing to repeat; one name server of several may still be what clients go by."""
        copies = self._copies.setdefault(answer.topic, {})
        name = answer.name_server or ""
        copy = _copy_in(answer)
        if copy is not None:
            copies[name] = copy
        elif not name:
            copies.clear()
        elif name in copies and answer.end_ts - copies[name].ts > KEEP_SILENT_COPY_MS:
            del copies[name]
        if copies:
            self._known[answer.topic] = _known(copies)
        else:
            self._known.pop(answer.topic, None)

    def is_news(self, answer: RouteAnswer) -> bool:
        """Returns whether it gives other queues than that name server had, or than the others have."""
        copy, known = _copy_in(answer), self._copies.get(answer.topic, {})
        return copy is not None and any(other.queues != copy.queues for other in known.values())

    def still_stand(self, ts: int) -> None:
        """They were all asked for again up to ``ts`` and had not changed, as between two lines of a recording."""
        self._known = {topic: (route, max(known_ts, ts)) for topic, (route, known_ts) in self._known.items()}

    def keep_only(self, topics: set[str]) -> None:
        for topic in self._known.keys() | self._copies.keys():
            if topic not in topics:
                self._known.pop(topic, None)
                self._copies.pop(topic, None)

    def set_back(self, by_ms: int) -> None:
        self._known = {topic: (route, ts - by_ms) for topic, (route, ts) in self._known.items()}
        for copies in self._copies.values():
            copies.update({name: copy._replace(ts=copy.ts - by_ms) for name, copy in copies.items()})

    def get(self, topic: str) -> tuple[KnownRoute | None, int]:
        """A topic's route and when it was last answered."""
        return self._known.get(topic, (None, 0))


class SentRoutes:
    """The routes that a group's events sent: when the topic is new to it, on change, and every ``REPEAT_ROUTE_MS``."""

    def __init__(self) -> None:
        self.changed_ts = 0
        self._sent: dict[str, tuple[KnownRoute, int]] = {}

    def send_due(self, topics: Iterable[str], routes: Routes) -> list[tuple[str, KnownRoute, int]]:
        """Returns each topic whose route is sent now, with the route and when it was answered, and notes that."""
        due = []
        for topic in topics:
            route, ts = routes.get(topic)
            if route is None:
                continue
            sent, sent_ts = self._sent.get(topic, (None, 0))
            if sent == route and ts - sent_ts < REPEAT_ROUTE_MS:
                continue
            if sent != route:
                self.changed_ts = max(self.changed_ts, ts)
            self._sent[topic] = (route, ts)
            due.append((topic, route, ts))
        return due

    def forget(self, topic: str) -> None:
        self._sent.pop(topic, None)

    def send_all(self) -> None:
        self._sent = {topic: (route, 0) for topic, (route, _) in self._sent.items()}

    def set_back(self, by_ms: int) -> None:
        self.changed_ts = max(0, self.changed_ts - by_ms)
        self._sent = {topic: (route, ts - by_ms) for topic, (route, ts) in self._sent.items()}


def _copy_in(answer: RouteAnswer) -> _Copy | None:
    if answer.code == TOPIC_NOT_EXIST:
        return _Copy((), False, answer.end_ts)
    if answer.code != SUCCESS or answer.body is None:
        return None
    queues = [
        RouteQueues(q.broker_name, max(0, q.read_queue_nums), max(0, q.write_queue_nums), max(0, q.perm))
        for q in answer.body.queue_datas or ()
    ]
    queues.sort(key=astuple)
    # MQClientInstance.topicRouteData2TopicSubscribeInfo asks for no more than that the mapping is not empty
    is_static = bool(answer.body.topic_queue_mapping_by_broker)
    return _Copy(tuple(queues), is_static, answer.end_ts)


def _known(copies: dict[str, _Copy]) -> tuple[KnownRoute, int]:
    """The route of the name server that comes first by its address, and what differs from it."""
    by_queues: dict[Queues, list[str]] = {}
    for name in sorted(copies):
        by_queues.setdefault(copies[name].queues, []).append(name)
    (queues, names), *others = by_queues.items()
    ts = max(copy.ts for copy in copies.values())
    static = any(copy.static for copy in copies.values())
    if "" in copies:
        return KnownRoute(queues, static), ts
    differing = tuple(RouteCopy(tuple(those), other) for other, those in others)
    return KnownRoute(queues, static, tuple(names) if differing else (), differing), ts
