"""A group's progress in a queue, and a queue that a client has (``ProcessQueue`` with its ``PullRequest``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from streaming.collector.wire.answers import RunningInfoAnswer
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.message_queue import Commit, MessageLog, PutBack, Repeats, WentBack
from streaming.simulation.name_server import TopicRoute

FIRST_PULL_AFTER_MS = 500  # RebalanceImpl.dispatchPullRequest
PULL_THRESHOLD = 1000  # DefaultMQPushConsumer.pullThresholdForQueue
PERSIST_FIRST_MS, PERSIST_MS = 10_000, 5_000  # MQClientInstance, persistConsumerOffsetInterval
PULL_TAKES_MS = 50


@dataclass(slots=True, eq=False)
class Progress:
    """A group's progress in one queue (``ConsumerOffsetManager``). ``consumed``: the highest offset of any client.

    ``of_group``: the group's progress if this is that of one broadcasting client; ``of_single_clients`` has the latter.
    """

    log: MessageLog
    committed: int = -1  # -1: the group has never committed
    pulled: int = -1
    consumed: int = 0
    holders: list[ProcessQueue] = field(default_factory=list)
    repeats: Repeats = field(default_factory=Repeats)
    went_back: list[WentBack] = field(default_factory=list)
    put_back: PutBack | None = None  # the last time that a broker lost what was committed
    of_group: Progress | None = None
    of_single_clients: list[Progress] = field(default_factory=list)

    @property
    def all_holders(self) -> list[ProcessQueue]:
        """All holders of the group, also broadcasting clients."""
        return [*self.holders, *(holder for one in self.of_single_clients for holder in one.holders)]

    def catch_up(self, now: int) -> None:
        """Compute what was consumed and committed up to now."""
        commits = [commit for holder in self.holders if (commit := holder.advance(now)) is not None]
        if len(commits) > 1:
            commits.sort(key=lambda commit: commit.ts)
        for commit in commits:
            self.commit(commit)

    def commit(self, commit: Commit) -> None:
        """Commit an offset. The last commit counts, also if its offset is lower."""
        if commit.offset < self.committed:
            self.went_back.append(WentBack(*commit, below=self.committed))
        if self.put_back is not None and self.put_back.until_ts is None and commit.offset >= self.put_back.below:
            self.put_back = self.put_back._replace(until_ts=commit.ts)
        self.committed = commit.offset

    def put_offset_back(self, offset: int, now: int) -> None:
        """The broker has an older offset from now on. Clients that have the queue do not learn it."""
        self.catch_up(now)
        if 0 <= offset < self.committed:
            self.put_back = PutBack(now, self.committed)
            self.committed = offset

    def take(self, begun_at: int, before: int, after: int) -> None:
        """A client consumed from ``before`` to ``after``. ``begun_at``: the group's offset when this client began."""
        again = min(after, self.consumed) - before
        if again > 0:
            old = min(again, max(0, min(after, begun_at) - before))
            self.repeats.add(before, before + old, is_overlap=False)
            self.repeats.add(before + old, before + again, is_overlap=True)
        self.consumed = max(self.consumed, after)


class Client(Protocol):
    """The client, as its queues, its rebalance and its brokers know it.

    ``versions``: the ``subVersion`` of its subscription to each topic; ``cannot_reach``: names of brokers.
    """

    client_id: str
    group: str
    config: ClientConfig
    random: Random
    is_running: bool
    is_paused: bool
    pull_service_is_dead: bool
    orderly: bool
    speed: int
    topics: dict[str, str]
    routes: dict[str, TopicRoute | None]
    versions: dict[str, int]
    cannot_reach: set[str]

    @property
    def answers(self) -> bool:
        """True if the client answers requests now."""

    def consumer_ids_changed(self) -> None:
        """NOTIFY_CONSUMER_IDS_CHANGED."""

    def running_info(self, broker_name: str, asked_ts: int, dur_ms: int) -> RunningInfoAnswer:
        """GET_CONSUMER_RUNNING_INFO, requested through this broker."""

    def progress(self, log: MessageLog, of_group: Progress) -> Progress: ...

    def queues_changed(self, topic: str) -> None: ...

    def defer(self, timer: Callable[[], None]) -> None: ...

    def last_persist(self, now: int) -> int: ...


class ProcessQueue:
    """A queue that a client has. ``offset``: consumed up to it; ``pulled``: fetched up to it.

    ``is_refused``: the broker refuses its pulls, or cannot be reached. ``dropped``: it is no longer the client's.
    """

    __slots__ = (
        *("client", "dropped", "is_refused", "offset", "progress", "pulled", "speed"),
        *("_begun_at", "_last_ts", "_pulls_from"),
    )

    def __init__(self, client: Client, progress: Progress, now: int) -> None:
        self.client = client
        self.progress = progress
        self.offset = self.pulled = max(0, progress.committed)  # a queue that is new to the group is consumed from 0
        self.speed = client.speed
        self.dropped = self.is_refused = False
        self._begun_at = progress.consumed
        self._pulls_from = now + FIRST_PULL_AFTER_MS
        self._last_ts = now

    @property
    def pulls(self) -> bool:
        """True if it receives messages."""
        return not (self.is_refused or self.dropped or self.client.is_paused or self.client.pull_service_is_dead)

    def advance(self, now: int) -> Commit | None:
        """Consume up to now. Return the client's last commit since the previous call."""
        if now <= self._last_ts:
            return None
        committed = self._commit_within(now)
        before, after = self.offset, self._offset_at(now)
        if self.pulls:
            top = min(self.progress.log.max_offset(now), after + PULL_THRESHOLD)
            self.pulled = max(self.pulled, top, after) if now >= self._pulls_from else self.pulled
            (self.progress.of_group or self.progress).pulled = self.pulled  # PullMessageProcessor.tryCommitOffset
        self.offset, self._last_ts = after, now
        if after > before:
            self.progress.take(self._begun_at, before, after)
        return committed

    def _offset_at(self, ts: int) -> int:
        """The offset consumed by ``ts``. Messages that are fetched are consumed even if no more come."""
        if self.dropped or self.client.is_paused or not self.speed:
            return self.offset
        since = max(self._last_ts, self._pulls_from)
        if ts <= since:
            return self.offset
        reached = self.offset + self.speed * (ts - since) // 1000
        return max(self.offset, min(self.progress.log.max_offset(ts) if self.pulls else self.pulled, reached))

    def _commit_within(self, now: int) -> Commit | None:
        """The last commit up to now. Offsets are committed every 5 s, and with every pull.

        A pull commits what was consumed when it was sent: all but the newest messages.
        """
        client, rate = self.client, self.progress.log.rate
        if client.is_paused:
            return None
        tick = client.last_persist(now)
        if self.pulls and self.speed and rate:
            last_pull = now - max(PULL_TAKES_MS, 1000 // rate)
            tick = max(tick, last_pull) if last_pull >= self._pulls_from else tick
        return Commit(tick, client.client_id, self._offset_at(tick)) if tick > self._last_ts else None

    def resume(self) -> None:
        """Continue after a pause at the same offset; others may have consumed further."""
        self._begun_at = self.progress.consumed

    def go_back(self, offset: int) -> None:
        """An operator has reset the offset: the client drops what it has in hand."""
        self.offset = self.pulled = offset

    def persist(self, now: int) -> None:
        """Commit at once, as is done when the queue is dropped."""
        self.progress.catch_up(now)
        self.progress.commit(Commit(now, self.client.client_id, self.offset))

    @property
    def cached_msg_count(self) -> int:
        return max(0, self.pulled - self.offset)
