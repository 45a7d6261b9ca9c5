"""A queue in a client's hands (``ProcessQueue`` with its one ``PullRequest``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streaming.simulation.message_queue import Commit, Progress

if TYPE_CHECKING:
    from streaming.simulation.consumer import Consumer

FIRST_PULL_AFTER_MS = 500  # RebalanceImpl.dispatchPullRequest
PULL_THRESHOLD = 1000  # DefaultMQPushConsumer.pullThresholdForQueue
PERSIST_FIRST_MS, PERSIST_MS = 10_000, 5_000  # MQClientInstance, persistConsumerOffsetInterval
PULL_TAKES_MS = 50
SPEED = 2_000  # messages a second that a client takes of one queue, while its code is not slow


class ProcessQueue:
    """``offset`` is how far it has consumed, ``pulled`` how far it has fetched.

    ``is_refused``: the broker refuses its pulls, or cannot be reached. ``dropped``: no longer the client's.
    """

    __slots__ = (
        "_begun_at",
        "_last_ts",
        "_pulls_from",
        "client",
        "dropped",
        "is_refused",
        "lock_is_kept",
        "offset",
        "progress",
        "pulled",
        "speed",
    )

    def __init__(self, client: Consumer, progress: Progress, now: int) -> None:
        self.client = client
        self.progress = progress
        self.offset = self.pulled = progress.start_offset()
        self.speed = client.speed
        self.dropped = self.is_refused = self.lock_is_kept = False
        self._begun_at = progress.consumed
        self._pulls_from = now + FIRST_PULL_AFTER_MS
        self._last_ts = now

    @property
    def pulls(self) -> bool:
        """Whether messages come to it."""
        return not (self.is_refused or self.dropped or self.client.is_paused or self.client.pulls_no_more)

    def advance(self, now: int) -> Commit | None:
        """Consume up to now. Gives what the client last committed since it was asked."""
        if now <= self._last_ts:
            return None
        committed = self._commit_within(now)
        before, after = self.offset, self._offset_at(now)
        if self.pulls:
            top = min(self.progress.log.max_offset(now), after + PULL_THRESHOLD)
            self.pulled = max(self.pulled, top, after) if now >= self._pulls_from else self.pulled
            self.progress.pulled = self.pulled
        self.offset, self._last_ts = after, now
        if after > before:
            self.progress.take(self._begun_at, before, after)
        return committed

    def _offset_at(self, ts: int) -> int:
        """What it has in hand is consumed even if no more comes."""
        if self.dropped or self.client.is_paused or not self.speed:
            return self.offset
        since = max(self._last_ts, self._pulls_from)
        if ts <= since:
            return self.offset
        reached = self.offset + self.speed * (ts - since) // 1000
        return max(self.offset, min(self.progress.log.max_offset(ts) if self.pulls else self.pulled, reached))

    def _commit_within(self, now: int) -> Commit | None:
        """Every 5 s, and with every pull, which carries what was consumed when it was sent: all but what came last."""
        client, rate = self.client, self.progress.log.rate
        if client.is_paused:
            return None
        tick = client.last_persist(now)
        if self.pulls and self.speed and rate:
            last_pull = now - max(PULL_TAKES_MS, 1000 // rate)
            tick = max(tick, last_pull) if last_pull >= self._pulls_from else tick
        return Commit(tick, client.client_id, self._offset_at(tick)) if tick > self._last_ts else None

    def go_on(self) -> None:
        """After a pause, from where it was: others may have consumed further meanwhile."""
        self._begun_at = self.progress.consumed

    def persist(self, now: int) -> None:
        """Commit at once, as when the queue is dropped."""
        self.progress.settle(now)
        self.progress.commit(Commit(now, self.client.client_id, self.offset))

    @property
    def in_hand(self) -> int:
        return max(0, self.pulled - self.offset)
