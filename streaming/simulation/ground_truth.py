"""The truth about a run: the owners of each queue over time, what was wrong with it, and changes of the fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from schemas.facts import Kind
from schemas.identity import MessageQueue, is_retry_topic
from streaming.simulation.process_queue import ProcessQueue, Progress


@dataclass(slots=True)
class Window:
    """A time in which a queue was in a wrong state. ``to_ts`` None: it still is.

    ``consumed``: the offset up to which the group had consumed the queue at its beginning.
    """

    kind: Kind
    queue: MessageQueue
    from_ts: int
    to_ts: int | None = None
    consumed: int = 0

    def lasted_until(self, ts: int) -> int:
        return ts if self.to_ts is None else self.to_ts


class FleetChange(NamedTuple):
    """A change of the group: a client joined or left, a route or a broker changed."""

    ts: int
    what: str
    subject: str


class Ownership(NamedTuple):
    """The client ids that own a queue from ``ts`` on; an id that occurs twice: two instances."""

    ts: int
    queue: MessageQueue
    owners: tuple[str, ...]


class GroundTruth:
    """The truth about a run. ``in_route``: the queue is in its topic's route now; None: its broker is down.

    ``subscribers``: the number of live clients that subscribe to a topic. ``may_consume``: the group's
    ``consumeEnable``. While it is false, queues that no client pulls stand still on purpose.
    """

    def __init__(
        self, now: Callable[[], int], in_route: Callable[[MessageQueue], bool | None], subscribers: Callable[[str], int]
    ) -> None:
        self.windows: list[Window] = []
        self.changes: list[FleetChange] = []
        self.listings: list[FleetChange] = []
        self.held: list[Ownership] = []
        self.subscription_mismatches: list[tuple[int, int | None]] = []  # (from, to)
        self._now, self._in_route, self._subscribers = now, in_route, subscribers
        self._open: dict[MessageQueue, Window] = {}
        self.may_consume = True

    def change(self, what: str, subject: str) -> None:
        self.changes.append(FleetChange(self._now(), what, subject))

    def listed(self, broker_name: str, client_id: str) -> None:
        """Record that a broker's list changed; this may be long after the change of the client."""
        self.listings.append(FleetChange(self._now(), broker_name, client_id))

    def observe_subscriptions(self, are_alike: bool) -> None:
        """Record ``are_alike``: all live members subscribe to the same topics with the same filters."""
        is_open = bool(self.subscription_mismatches) and self.subscription_mismatches[-1][1] is None
        if is_open and are_alike:
            self.subscription_mismatches[-1] = (self.subscription_mismatches[-1][0], self._now())
        elif not is_open and not are_alike:
            self.subscription_mismatches.append((self._now(), None))

    def observe(self, progress: Progress) -> None:
        """Observe a queue after it or its owners changed: a window may begin or end."""
        queue, progress = progress.log.queue, progress.of_group or progress
        if is_retry_topic(queue.topic):
            return
        now, kind, window = self._now(), self._kind(progress), self._open.get(queue)
        owners = tuple(sorted(holder.client.client_id for holder in progress.all_holders))
        self.held.append(Ownership(now, queue, owners))
        if window is not None and window.kind is kind:
            return
        if window is not None:
            window.to_ts = now
            del self._open[queue]
        if kind is not None:
            self._open[queue] = opened = Window(kind, queue, now, consumed=progress.consumed)
            self.windows.append(opened)

    def observe_all(self, queues: Iterable[ProcessQueue]) -> None:
        for queue in queues:
            self.observe(queue.progress)

    def _kind(self, progress: Progress) -> Kind | None:
        holders, everywhere = progress.holders, len(progress.all_holders) - len(progress.holders)
        in_route = self._in_route(progress.log.queue)
        if not in_route:
            return Kind.PHANTOM if progress.all_holders and in_route is False else None
        if not self._subscribers(progress.log.queue.topic):
            return None
        if not holders and not everywhere:
            return Kind.ORPHANED
        if everywhere + sum(not holder.client.is_paused for holder in holders) > 1:
            return Kind.DUPLICATED
        if not holders:
            return None  # a broadcasting client consumes it
        end = progress.log.max_offset(self._now())
        if not any(holder.pulls for holder in holders):
            is_left = progress.log.rate or end > max(holder.pulled for holder in holders)
            return Kind.STALLED if is_left and self.may_consume else None
        if any(holder.speed for holder in holders):
            return None
        return Kind.SLOW_CONSUMER if progress.log.rate or end > progress.consumed else None
