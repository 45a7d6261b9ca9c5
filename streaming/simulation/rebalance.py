"""Sharing out queues (``RebalanceService`` and ``RebalanceImpl``): what a client takes and what it lets go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.identity import MessageQueue
from streaming.core.allocation import AllocationError
from streaming.simulation.name_server import TopicRouteData
from streaming.simulation.process_queue import ProcessQueue

if TYPE_CHECKING:
    from streaming.simulation.consumer import Consumer

WAIT_MS, SHORT_WAIT_MS = 20_000, 1_000  # RebalanceService.waitInterval, minInterval

Share = tuple[MessageQueue, ...]


class Rebalance:
    """``is_stuck``: its thread no longer comes to it, while all else in the client goes on."""

    def __init__(self, client: Consumer) -> None:
        self.is_stuck = False
        self.keeps_old_locks = False  # 4.x renews the locks of dropped queues that its code does not finish
        self._client = client
        self._table: dict[str, dict[MessageQueue, ProcessQueue]] = {}
        self._shares: dict[str, Share] = {}  # as last taken in full
        self._due_ts = 0
        self._last_ts = client.fleet.now

    def process_queues(self) -> Iterator[ProcessQueue]:
        for queues in self._table.values():
            yield from queues.values()

    def wake(self) -> None:
        """At once; from 5.x on never sooner than a second after the last one, or after the client was made."""
        soonest = self._last_ts + (SHORT_WAIT_MS if self._client.manner.version >= 5 else 0)
        self._plan(max(self._client.fleet.now, soonest))

    def _plan(self, ts: int) -> None:
        """The next one at ``ts``, unless one is due before that."""
        if not 0 < self._due_ts <= ts:
            self._due_ts = ts
            self._client.fleet.agenda.at(ts, self._run, ts)

    def _run(self, due_ts: int) -> None:
        client = self._client
        if not client.is_running or due_ts != self._due_ts:
            return
        self._due_ts, self._last_ts = 0, client.fleet.now
        if client.is_paused:
            client.put_off("wake")
            return
        balanced = self.is_stuck or self._all_topics()
        self._plan(client.fleet.now + (WAIT_MS if balanced else SHORT_WAIT_MS))

    def _all_topics(self) -> bool:
        client = self._client
        balanced = True
        for topic in client.topics:
            route = client.routes.get(topic)
            if route is not None and not self._topic(topic, route):
                balanced = False
        for topic in [topic for topic in self._table if topic not in client.topics]:
            for process_queue in list(self._table[topic].values()):
                self._drop(process_queue)
            del self._table[topic]
            self._shares.pop(topic, None)
        return balanced

    def _topic(self, topic: str, route: TopicRouteData) -> bool:
        """``rebalanceByTopic``. Whether it ends with exactly its share."""
        client = self._client
        if client.manner.broadcasting:
            share: Share | None = route.subscribe_info
        else:
            ids = client.fleet.ask_members(client, route)
            if ids is None:
                return True  # no list, no change
            share = self._share_of(route, ids)
        if share is None:
            return False
        if self._shares.get(topic) is share:
            return True
        return self._update(topic, share)

    def _share_of(self, route: TopicRouteData, ids: tuple[str, ...]) -> Share | None:
        """None where the strategy throws."""
        client = self._client
        try:
            return client.fleet.allocations.share(client.manner.strategy, route, ids, client.client_id)
        except AllocationError:
            return None

    def _update(self, topic: str, share: Share) -> bool:
        """``updateProcessQueueTableInRebalance``: what is no longer its own is dropped, then the new is taken."""
        table = self._table.setdefault(topic, {})
        wanted = set(share)
        dropped = [queue for queue in table if queue not in wanted]
        for queue in dropped:
            if self._drop(table[queue]):
                del table[queue]
        added = [self._take(queue, table) for queue in share if queue not in table]
        if all(added) and len(table) == len(wanted):
            self._shares[topic] = share
        else:
            self._shares.pop(topic, None)
        if dropped or any(added):
            self._client.moved(topic)
        return all(added) and not any(queue.dropped for queue in table.values())

    def _take(self, queue: MessageQueue, table: dict[MessageQueue, ProcessQueue]) -> bool:
        client, now = self._client, self._client.fleet.now
        broker = client.fleet.reach(client, queue.broker_name)
        if broker is None or (client.orderly and not broker.lock(client.group, queue, client.client_id, now)):
            return False
        of_group = broker.progress(client.group, queue, now)
        progress = client.progress(of_group.log, of_group)
        progress.settle(now)
        process_queue = ProcessQueue(client, progress, now)
        table[queue] = process_queue
        progress.holders.append(process_queue)
        client.fleet.refuse_or_serve(process_queue)
        client.fleet.truth.note(progress)
        return True

    def _drop(self, process_queue: ProcessQueue) -> bool:
        """Its offset is committed, its lock given back. Whether it is out of the table: not while its code holds it."""
        client, now, progress = self._client, self._client.fleet.now, process_queue.progress
        if process_queue.dropped and not self._is_held(process_queue):
            self.unlock(process_queue)
            return True
        if not process_queue.dropped:
            if client.fleet.reach(client, progress.log.queue.broker_name) is not None:
                process_queue.persist(now)
            else:
                progress.settle(now)
            process_queue.dropped = True
            progress.holders.remove(process_queue)
            client.fleet.truth.note(progress)
        if self._is_held(process_queue):
            return False
        self.unlock(process_queue)
        return True

    def take(self, queue: MessageQueue) -> None:
        """From now on it owns the queue, whosever it is."""
        self._take(queue, self._table.setdefault(queue.topic, {}))

    def drop(self, queue: MessageQueue) -> None:
        """From now on it does not, though it should."""
        process_queue = self._table[queue.topic].pop(queue)
        self._drop(process_queue)

    def _is_held(self, process_queue: ProcessQueue) -> bool:
        """Orderly code that does not return holds the queue's own lock, so that it cannot be taken out of the table."""
        return self._client.orderly and not process_queue.speed and process_queue.in_hand > 0

    def unlock(self, process_queue: ProcessQueue) -> None:
        client, queue = self._client, process_queue.progress.log.queue
        broker = client.fleet.reach(client, queue.broker_name) if client.orderly else None
        if broker is not None:
            broker.unlock(client.group, queue, client.client_id)

    def renew_locks(self) -> None:
        """``lockAll``, every 20 s."""
        client = self._client
        for process_queue in self.process_queues():
            broker = client.fleet.reach(client, process_queue.progress.log.queue.broker_name)
            if broker is not None and (self.keeps_old_locks or not process_queue.dropped):
                broker.lock(client.group, process_queue.progress.log.queue, client.client_id, client.fleet.now)

    def let_go(self) -> None:
        """The client ends: nobody holds its queues any more."""
        for process_queue in self.process_queues():
            if not process_queue.dropped:
                process_queue.dropped = True
                process_queue.progress.holders.remove(process_queue)
                self._client.fleet.truth.note(process_queue.progress)
        self._table.clear()
        self._shares.clear()
