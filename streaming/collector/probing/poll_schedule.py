"""Which queues of a group a broker is asked about for polls, each time that its offsets are due there. Pure.

Clients that pop own no queue. That polls wait at a broker is the only sign that somebody consumes a topic while no
message comes. A proxy polls for gRPC clients, at any queue of a broker (``ReceiveMessageActivity``). A remoting client
polls what a broker assigns to it: all queues of a broker at once, or single ones (``allocate4Pop``); its report says
which. Groups without such clients are not asked about. A broker makes the group that it is asked about
(``PollingInfoProcessor``), so one is asked only about groups that it has named itself.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from schemas.events import ANY_QUEUE
from schemas.identity import is_retry_topic
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS
from streaming.collector.probing.offset_schedule import waits
from streaming.collector.wire.answers import REQUEST_CODE_NOT_SUPPORTED, OffsetRow, ProcessQueue
from streaming.core.evidence.exclusions import PUSHES, is_proxy_client

SINGLE_QUEUES_AT_MOST = 16  # on a broker at a time: then others have their turn

Asked = tuple[str, int]  # topic and queue id, ANY_QUEUE for the polls at any queue


class _Popped(NamedTuple):
    """The topics that a client pops, by its newest report."""

    at_any: frozenset[str]
    at_single: frozenset[str]


class PollSchedule:
    """Belongs to one group."""

    def __init__(self) -> None:
        self._known_by: frozenset[str] = frozenset()
        self._grpc_at: set[str] = set()  # brokers and proxies that list a gRPC client
        self._popped_by: dict[str, _Popped] = {}  # remoting clients that pop
        self._consume_types: dict[str, str] = {}  # by broker and proxy that lists members: of the last heartbeat there
        self._subscribed_ts: dict[str, int] = {}  # topics, and when members were last seen to subscribe to them
        self._unknown_ts: dict[str, int] = {}  # brokers that do not know the request, and when they said so
        self._asked: dict[str, int] = {}  # by broker: how many questions it was asked
        # by broker: single queues, and when each was last asked about
        self._single_ts: dict[str, dict[Asked, int]] = {}

    def known_by(self, brokers: Collection[str]) -> None:
        """The brokers that know the group."""
        self._known_by = frozenset(brokers)

    def keep(self, names: Collection[str]) -> None:
        """Forgets what brokers and proxies listed that are not asked any more."""
        self._grpc_at &= set(names)
        self._consume_types = {name: kind for name, kind in self._consume_types.items() if name in names}

    def subscribed(self, topics: Iterable[str], now: int) -> None:
        """The topics of the last heartbeat or settings: those of other members may be missing."""
        if self._grpc_at:  # nothing is asked of others
            self._subscribed_ts |= dict.fromkeys(topics, now)

    def connected(self, name: str, consume_type: str | None) -> None:
        """How members consume, by a broker or a proxy that lists some; None: it does not say."""
        if consume_type is not None:
            self._consume_types[name] = consume_type

    @property
    def all_push(self) -> bool:
        """True if all members are push consumers, as far as anybody says how they consume."""
        return set(self._consume_types.values()) == {PUSHES}

    def listed(self, name: str, ids: Collection[str] | None) -> None:
        """What a broker or a proxy lists; None: it gave no list."""
        if ids is not None and not ids:
            self._consume_types.pop(name, None)
        if ids is not None and any(map(is_proxy_client, ids)):
            self._grpc_at.add(name)
        elif ids is not None:
            self._grpc_at.discard(name)

    def members(self, listed: Mapping[str, Collection[str]]) -> None:
        """Forgets what clients popped that no broker lists any more. ``listed``: by broker."""
        if self._popped_by:
            there = {client_id for ids in listed.values() for client_id in ids}
            self._popped_by = {one: popped for one, popped in self._popped_by.items() if one in there}

    def reported(self, client_id: str, popped: Collection[ProcessQueue]) -> None:
        """What a client pops."""
        if not popped:
            self._popped_by.pop(client_id, None)
            return
        at_any = frozenset(one.topic for one in popped if one.queue_id == ANY_QUEUE)
        self._popped_by[client_id] = _Popped(at_any, frozenset(one.topic for one in popped if one.queue_id >= 0))

    @property
    def has_clients(self) -> bool:
        """True if the group has clients whose polls say whether they consume."""
        return bool(self._grpc_at or self._popped_by)

    def due(
        self,
        broker: str,
        readable: Mapping[str, int],
        offsets: Collection[OffsetRow],
        now: int,
        is_closed: bool = False,
    ) -> list[Asked]:
        """The topics and queues to ask the broker about. None of topics for retries: polls of the topic take these.

        ``readable``: the topics that clients may read there, each with its number of queues. ``offsets``: of the group
        at the broker. ``is_closed``: it is not asked, because nobody of the group can poll there.
        """
        self._asked.pop(broker, None)
        is_unknown = now - self._unknown_ts.get(broker, -KEEP_WATCHING_MS) < KEEP_WATCHING_MS
        if not self.has_clients or is_unknown or not (broker in self._known_by or is_closed):
            return []
        topics = sorted(topic for topic in readable if not is_retry_topic(topic))
        at_any = self._of_grpc_clients(topics, now).union(*(one.at_any for one in self._popped_by.values()))
        asked = [(topic, ANY_QUEUE) for topic in topics if topic in at_any]
        asked += self._single_queues(broker, {topic: readable[topic] for topic in topics}, offsets, now)
        self._asked[broker] = 0 if is_closed else len(asked)
        return asked

    def _of_grpc_clients(self, topics: list[str], now: int) -> frozenset[str]:
        """Those that members subscribed to lately; all if none is known."""
        if not self._grpc_at:
            return frozenset()
        oldest = now - KEEP_WATCHING_MS  # a client of a proxy sends its subscriptions every 5 minutes
        self._subscribed_ts = {topic: ts for topic, ts in self._subscribed_ts.items() if ts >= oldest}
        subscribed = {topic for topic in self._subscribed_ts if not is_retry_topic(topic)}
        return frozenset(subscribed or topics)

    def _single_queues(
        self, broker: str, readable: Mapping[str, int], offsets: Collection[OffsetRow], now: int
    ) -> list[Asked]:
        """Some of those that clients pop one by one: first those in which messages wait, then each in its turn."""
        popped = frozenset[str]().union(*(one.at_single for one in self._popped_by.values()))
        queues = [(topic, queue_id) for topic in popped & readable.keys() for queue_id in range(readable[topic])]
        if not queues:
            self._single_ts.pop(broker, None)
            return []
        waiting = {(row.topic, row.queue_id) for row in offsets if waits(row)}
        before = self._single_ts.get(broker, {})
        queues.sort(key=lambda queue: (queue not in waiting, before.get(queue, -1), queue))
        chosen = queues[:SINGLE_QUEUES_AT_MOST]
        self._single_ts[broker] = {q: before[q] for q in queues if q in before} | dict.fromkeys(chosen, now)
        return chosen

    def refused(self, broker: str, code: int | None, now: int) -> None:
        """A broker of the 4.x line is not asked again for a while."""
        if code == REQUEST_CODE_NOT_SUPPORTED:
            self._unknown_ts[broker] = now

    def number_on(self, broker: str) -> int:
        """How many requests are made each time that the group's offsets are due on the broker."""
        return self._asked.get(broker, 0) if self.has_clients else 0
