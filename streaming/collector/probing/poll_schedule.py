"""Which topics of a group a broker is asked about for polls, each time that its offsets are due there. Pure.

gRPC clients own no queue: a proxy polls for them, at any queue of a broker (``ReceiveMessageActivity``). That polls
wait there is the only sign that somebody consumes a topic while no message comes. Groups without such clients are not
asked about. A broker makes the group that it is asked about (``PollingInfoProcessor``), so one is asked only about
groups that it has named itself.
"""

from collections.abc import Collection, Iterable

from schemas.identity import is_retry_topic
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS
from streaming.collector.wire.answers import REQUEST_CODE_NOT_SUPPORTED
from streaming.core.evidence.exclusions import is_proxy_client


class PollSchedule:
    """Belongs to one group."""

    def __init__(self) -> None:
        self._known_by: frozenset[str] = frozenset()
        self._grpc_at: set[str] = set()  # brokers and proxies that list a gRPC client
        self._subscribed_ts: dict[str, int] = {}  # topics, and when members were last seen to subscribe to them
        self._unknown_ts: dict[str, int] = {}  # brokers that do not know the request, and when they said so
        self._asked: dict[str, int] = {}  # by broker: how many topics it was asked about

    def known_by(self, brokers: Collection[str]) -> None:
        """The brokers that know the group."""
        self._known_by = frozenset(brokers)

    def keep(self, names: Collection[str]) -> None:
        """Forgets what brokers and proxies listed that are not asked any more."""
        self._grpc_at &= set(names)

    def subscribed(self, topics: Iterable[str], now: int) -> None:
        """The topics of the last heartbeat or settings: those of other members may be missing."""
        if self._grpc_at:  # nothing is asked of others
            self._subscribed_ts |= dict.fromkeys(topics, now)

    def listed(self, name: str, ids: Collection[str] | None) -> None:
        """What a broker or a proxy lists; None: it gave no list."""
        if ids is not None and any(map(is_proxy_client, ids)):
            self._grpc_at.add(name)
        elif ids is not None:
            self._grpc_at.discard(name)

    def due(self, broker: str, readable: Collection[str], now: int) -> list[str]:
        """Of the topics that clients may read there. Polls for retries are those for the topic itself.

        Those that members subscribed to lately; all if none is known.
        """
        self._asked.pop(broker, None)
        is_unknown = now - self._unknown_ts.get(broker, -KEEP_WATCHING_MS) < KEEP_WATCHING_MS
        if not self._grpc_at or is_unknown or broker not in self._known_by:
            return []
        oldest = now - KEEP_WATCHING_MS  # a client of a proxy sends its subscriptions every 5 minutes
        self._subscribed_ts = {topic: ts for topic, ts in self._subscribed_ts.items() if ts >= oldest}
        subscribed = {topic for topic in self._subscribed_ts if not is_retry_topic(topic)}
        topics = sorted(topic for topic in readable if not is_retry_topic(topic) and topic in (subscribed or readable))
        self._asked[broker] = len(topics)
        return topics

    def refused(self, broker: str, code: int | None, now: int) -> None:
        """A broker of the 4.x line is not asked again for a while."""
        if code == REQUEST_CODE_NOT_SUPPORTED:
            self._unknown_ts[broker] = now

    def number_on(self, broker: str) -> int:
        """How many requests are made each time that the group's offsets are due on the broker."""
        return self._asked.get(broker, 0)
