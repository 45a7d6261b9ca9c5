"""A broker: the clients of each group (``ConsumerManager``), the groups' offsets, and the locks of queues."""

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

from schemas.identity import MessageQueue
from streaming.collector.wire.answers import Connection, ConsumerConnection, QueueData
from streaming.core.state.group_state import PERM_READ
from streaming.simulation.message_queue import MessageLog
from streaming.simulation.process_queue import Client, Progress

BROADCASTING = "BROADCASTING"
CHANNEL_EXPIRED_MS = 120_000  # ConsumerManager.CHANNEL_EXPIRED_TIMEOUT
SCAN_MS = 10_000  # ClientHousekeepingService
LOCK_EXPIRED_MS = 60_000  # RebalanceLockManager.REBALANCE_LOCK_MAX_LIVE_TIME
REGISTER_MS = 30_000  # BrokerConfig.registerNameServerPeriod


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """A connection of a client (``ClientChannelInfo``). ``number`` distinguishes it from the client's earlier ones."""

    client: Client
    number: int
    connection: Connection
    consume_type: str = ""
    message_model: str = ""


class ConsumerGroupInfo:
    """A group as this broker knows it. ``subscriptions``: the topics of the last heartbeat, from any client.

    Each has the newest version (``subVersion``) that any client has sent while the topic was in it. ``last``: the
    client that sent the last heartbeat.
    """

    __slots__ = ("_body", "_ids", "channels", "last", "subscriptions")

    def __init__(self) -> None:
        self.channels: dict[Channel, int] = {}  # -> time of its last heartbeat
        self.subscriptions: dict[str, int] = {}
        self.last: Channel | None = None
        self._ids: tuple[str, ...] | None = ()
        self._body: ConsumerConnection | None = None

    @property
    def client_ids(self) -> tuple[str, ...]:
        """The client ids, one for each channel: an id can occur twice."""
        if self._ids is None:
            self._ids = tuple(channel.client.client_id for channel in self.channels)
        return self._ids

    def body(self) -> ConsumerConnection:
        """GET_CONSUMER_CONNECTION_LIST."""
        if self._body is None:
            assert self.last is not None
            connections, last = tuple(channel.connection for channel in self.channels), self.last
            self._body = ConsumerConnection(connections, last.consume_type, last.message_model, self.subscriptions)
        return self._body

    def heartbeat(self, channel: Channel, versions: dict[str, int], now: int) -> bool:
        """Take a heartbeat. Return True if it has a new channel, or another set of topics."""
        is_new, before = channel not in self.channels, self.subscriptions
        self.channels[channel] = now
        self.subscriptions = {topic: max(version, before.get(topic, version)) for topic, version in versions.items()}
        self.last = channel
        self._body = None
        if is_new:
            self._ids = None
        return is_new or before.keys() != versions.keys()

    def remove(self, channel: Channel) -> bool:
        if self.channels.pop(channel, None) is None:
            return False
        self._ids = self._body = None
        return True


class Broker:
    """A broker. ``notify`` sends NOTIFY_CONSUMER_IDS_CHANGED to a client.

    ``pulls_changed`` is called when refused pulls may be accepted now; with True: others may be refused now, too.
    ``members_changed`` is called with every client id that appears in its list of clients, or disappears from it.
    ``new_progress`` makes what a group has in a queue that is new to it.
    """

    def __init__(
        self,
        name: str,
        notify: Callable[[Client], None],
        pulls_changed: Callable[[str, bool], None],
        members_changed: Callable[[str], None] = lambda _: None,
        new_progress: Callable[[MessageLog], Progress] = Progress,
    ) -> None:
        self.name = name
        self.is_up = True
        self.answers_lists = self.answers_connections = self.tells_pull_offsets = True
        self.knows_group = True  # it has a SubscriptionGroupConfig of the group
        self.makes_groups = True  # at the first POP: autoCreateSubscriptionGroup
        self.consume_enable, self.is_orderly = True, False  # consumeEnable and consumeMessageOrderly in it
        self.topics: dict[str, QueueData] = {}
        self.logs: dict[MessageQueue, MessageLog] = {}
        self.groups: dict[str, ConsumerGroupInfo] = {}
        self._notify, self._pulls_changed, self._members_changed = notify, pulls_changed, members_changed
        self._new_progress = new_progress
        self._progress: dict[tuple[str, MessageQueue], Progress] = {}
        self._locks: dict[tuple[str, MessageQueue], tuple[str, int]] = {}

    # --- topics and offsets

    def put_topic(self, topic: str, data: QueueData, now: int) -> None:
        """``updateTopicConfig``. Queues that are no longer in the topic keep their messages."""
        self.topics[topic] = data
        for queue_id in range(max(data.read_queue_nums, data.write_queue_nums)):
            queue = MessageQueue(topic, self.name, queue_id)
            if queue not in self.logs:
                self.logs[queue] = MessageLog(queue, now)

    def progress(self, group: str, queue: MessageQueue, now: int) -> Progress:
        key = (group, queue)
        found = self._progress.get(key)
        if found is None:
            log = self.logs.setdefault(queue, MessageLog(queue, now))
            found = self._progress[key] = self._new_progress(log)
        return found

    def progresses(self, group: str) -> list[Progress]:
        return [progress for (name, _), progress in self._progress.items() if name == group]

    def progresses_by_topic(self, group: str, now: int) -> dict[str, list[Progress]]:
        """The progress in the queues below ``readQueueNums`` (``getConsumeStats``), in order, as of now."""
        found: dict[str, list[Progress]] = {}
        for progress in self.progresses(group):
            progress.catch_up(now)
            queue = progress.log.queue
            data = self.topics.get(queue.topic)
            if data is not None and queue.queue_id < data.read_queue_nums:
                found.setdefault(queue.topic, []).append(progress)
        for progresses in found.values():
            progresses.sort(key=lambda progress: progress.log.queue.queue_id)
        return found

    # --- members

    def client_ids(self, group: str) -> tuple[str, ...]:
        """GET_CONSUMER_LIST_BY_GROUP."""
        known = self.groups.get(group)
        return () if known is None else known.client_ids

    def find_client(self, group: str, client_id: str) -> Client | None:
        """``findChannel``. If several connections have one id, a broker always uses the same one.

        None: there is no connection, or that one is dead because its client has opened a new one.
        """
        known = self.groups.get(group)
        channels = [] if known is None else [c for c in known.channels if c.client.client_id == client_id]
        if not channels:
            return None
        chosen = min(channels, key=lambda c: crc32(f"{c.connection.address} {self.name}".encode()))
        is_dead = chosen.number != max(c.number for c in channels if c.client is chosen.client)
        return None if is_dead else chosen.client

    def heartbeat(self, channel: Channel, versions: dict[str, int], now: int) -> None:
        """``registerConsumer``. The clients of the group are notified if the heartbeat has anything new.

        ``versions``: for each topic, the time when the client last changed its subscription or its queues.
        """
        name = channel.client.group
        group = self.groups.setdefault(name, ConsumerGroupInfo())
        before, listed = group.subscriptions, len(group.channels)
        if group.heartbeat(channel, versions, now):
            if len(group.channels) > listed:
                self._members_changed(channel.client.client_id)
            self._notify_group(name)
        if before != group.subscriptions:
            self._pulls_changed(self.name, before.keys() != versions.keys())

    def unregister(self, channel: Channel) -> None:
        """A client unregisters, or its connection closes (``doChannelCloseEvent``). The others are notified."""
        if self._remove(channel):
            self._notify_group(channel.client.group)

    def scan(self, now: int, notifies: Callable[[], bool]) -> None:
        """``scanNotActiveChannel``. ``notifies`` decides a race of RocketMQ: the others are notified at once or not."""
        for name, group in list(self.groups.items()):
            expired = [channel for channel, ts in group.channels.items() if now - ts > CHANNEL_EXPIRED_MS]
            for channel in expired:
                self._remove(channel)
            if expired and notifies():
                self._notify_group(name)

    def _remove(self, channel: Channel) -> bool:
        name = channel.client.group
        group = self.groups.get(name)
        if group is None or not group.remove(channel):
            return False
        if not group.channels:
            del self.groups[name]
        self._members_changed(channel.client.client_id)
        return True

    def _notify_group(self, name: str) -> None:
        group = self.groups.get(name)
        if group is None or group.last is None or group.last.message_model == BROADCASTING:
            return  # ConsumerManager.isBroadcastMode: the group's model is that of its last heartbeat
        for channel in group.channels:
            self._notify(channel.client)

    def accepts_pull(self, group: str, queue: MessageQueue, version: int) -> bool:
        """True if the group may consume, the queue can be read, and the broker has a subscription that is not older.

        Else: NO_PERMISSION, SUBSCRIPTION_NOT_EXIST, or SUBSCRIPTION_NOT_LATEST (``version``: of the pulling client).
        """
        if not self.consume_enable:
            return False
        known, data = self.groups.get(group), self.topics.get(queue.topic)
        can_be_read = data is not None and data.perm & PERM_READ and queue.queue_id < data.read_queue_nums
        return bool(can_be_read) and known is not None and known.subscriptions.get(queue.topic, -1) >= version

    # --- locks

    def lock(self, group: str, queue: MessageQueue, client_id: str, now: int) -> bool:
        """LOCK_BATCH_MQ for one queue. The lock is by client id, so two instances with one id share it."""
        holder, ts = self._locks.get((group, queue), (client_id, now))
        if holder != client_id and now - ts <= LOCK_EXPIRED_MS:
            return False
        self._locks[group, queue] = (client_id, now)
        return True

    def unlock(self, group: str, queue: MessageQueue, client_id: str) -> None:
        if self._locks.get((group, queue), ("", 0))[0] == client_id:
            del self._locks[group, queue]

    def stop(self) -> None:
        """The broker stops. Members and locks are lost: they are only in its memory."""
        self.is_up = False
        self.groups.clear()
        self._locks.clear()
