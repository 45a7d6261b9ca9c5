"""The rebalance of a client (``RebalanceService`` and ``RebalanceImpl``): the queues it takes and drops."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.identity import MessageQueue
from streaming.core.allocation.strategy import AllocationError
from streaming.simulation.broker import Broker
from streaming.simulation.name_server import TopicRoute
from streaming.simulation.network import Network
from streaming.simulation.process_queue import Client, ProcessQueue

WAIT_MS, SHORT_WAIT_MS = 20_000, 1_000  # RebalanceService.waitInterval, minInterval

Share = tuple[MessageQueue, ...]


class Rebalance:
    """The rebalance of one client. ``is_stuck``: its thread hangs; the rest of the client goes on."""

    def __init__(self, client: Client, network: Network) -> None:
        self.is_stuck = False
        self.keeps_old_locks = False  # 4.x renews the locks of dropped queues that its listener still works on
        self._client, self._network = client, network
        self._table: dict[str, dict[MessageQueue, ProcessQueue]] = {}
        self._shares: dict[str, Share] = {}  # the last share that was taken completely
        self._due_ts = 0
        self._last_ts = self._network.clock.now

    def process_queues(self) -> Iterator[ProcessQueue]:
        for queues in self._table.values():
            yield from queues.values()

    def wakeup(self) -> None:
        """Rebalance at once; in 5.x at the earliest a second after the last one, or after the client's creation."""
        soonest = self._last_ts + (SHORT_WAIT_MS if self._client.config.version >= 5 else 0)
        self._plan(max(self._network.clock.now, soonest))

    def _plan(self, ts: int) -> None:
        """Plan the next rebalance at ``ts``, unless one is due earlier."""
        if not 0 < self._due_ts <= ts:
            self._due_ts = ts
            self._network.clock.at(ts, self._run, ts)

    def _run(self, due_ts: int) -> None:
        client = self._client
        if not client.is_running or due_ts != self._due_ts:
            return
        self._due_ts, self._last_ts = 0, self._network.clock.now
        if client.is_paused:
            client.defer(self.wakeup)
            return
        balanced = self.is_stuck or self._all_topics()
        self._plan(self._network.clock.now + (WAIT_MS if balanced else SHORT_WAIT_MS))

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

    def _topic(self, topic: str, route: TopicRoute) -> bool:
        """``rebalanceByTopic``. Return True if the client ends with exactly its share."""
        client = self._client
        if client.config.broadcasting:
            share: Share | None = route.subscribe_info
        else:
            ids = self._find_consumer_ids(route)
            if ids is None:
                return True  # no list, no change
            share = self._share_of(route, ids)
        if share is None:
            return False
        if self._shares.get(topic) is share:
            return True
        return self._update(topic, share)

    def _share_of(self, route: TopicRoute, ids: tuple[str, ...]) -> Share | None:
        """The client's share. None: the strategy throws."""
        try:
            shares = self._network.allocations.shares(self._client.config.strategy, route, ids)
        except AllocationError:
            return None
        return shares.get(self._client.client_id, ())

    def _find_consumer_ids(self, route: TopicRoute) -> tuple[str, ...] | None:
        """``findConsumerIdList``: the ids from one random broker of the topic; None if it returns none."""
        broker = self._reach(self._client.random.choice(route.broker_names))
        ids = () if broker is None or not broker.answers_lists else broker.client_ids(self._client.group)
        return self._network.allocations.members(ids) if ids else None

    def _reach(self, broker_name: str) -> Broker | None:
        return self._network.reach(broker_name, self._client.cannot_reach)

    def _update(self, topic: str, share: Share) -> bool:
        """``updateProcessQueueTableInRebalance``: drop queues outside the share, then take the new ones."""
        table = self._table.setdefault(topic, {})
        expected = set(share)
        dropped = [queue for queue in table if queue not in expected]
        for queue in dropped:
            if self._drop(table[queue]):
                del table[queue]
        added = [self._take(queue, table) for queue in share if queue not in table]
        if all(added) and len(table) == len(expected):
            self._shares[topic] = share
        else:
            self._shares.pop(topic, None)
        if dropped or any(added):
            self._client.queues_changed(topic)
        return all(added) and not any(queue.dropped for queue in table.values())

    def _take(self, queue: MessageQueue, table: dict[MessageQueue, ProcessQueue]) -> bool:
        client, now = self._client, self._network.clock.now
        broker = self._reach(queue.broker_name)
        if broker is None or (client.orderly and not broker.lock(client.group, queue, client.client_id, now)):
            return False
        of_group = broker.progress(client.group, queue, now)
        progress = client.progress(of_group.log, of_group)
        progress.catch_up(now)
        process_queue = ProcessQueue(client, progress, now)
        table[queue] = process_queue
        progress.holders.append(process_queue)
        self._network.check_pull(process_queue)
        self._network.truth.observe(progress)
        return True

    def _drop(self, process_queue: ProcessQueue) -> bool:
        """Commit the offset and unlock the queue. Return True if it left the table: not while the listener locks it."""
        now, progress = self._network.clock.now, process_queue.progress
        if not process_queue.dropped:
            if self._reach(progress.log.queue.broker_name) is not None:
                process_queue.persist(now)
            else:
                progress.catch_up(now)
            process_queue.dropped = True
            progress.holders.remove(process_queue)
            self._network.truth.observe(progress)
        if self._is_held(process_queue):
            return False
        self.unlock(process_queue)
        return True

    def _is_held(self, process_queue: ProcessQueue) -> bool:
        """True if an orderly listener that does not return keeps the queue's own lock: it must stay in the table."""
        return self._client.orderly and not process_queue.speed and process_queue.cached_msg_count > 0

    def unlock(self, process_queue: ProcessQueue) -> None:
        client, queue = self._client, process_queue.progress.log.queue
        broker = self._reach(queue.broker_name) if client.orderly else None
        if broker is not None:
            broker.unlock(client.group, queue, client.client_id)

    def renew_locks(self) -> None:
        """``lockAll``, every 20 s."""
        client = self._client
        for process_queue in self.process_queues():
            broker = self._reach(process_queue.progress.log.queue.broker_name)
            if broker is not None and (self.keeps_old_locks or not process_queue.dropped):
                broker.lock(client.group, process_queue.progress.log.queue, client.client_id, self._network.clock.now)

    def release(self) -> None:
        """Release all queues of a client that ends."""
        for process_queue in self.process_queues():
            if not process_queue.dropped:
                process_queue.dropped = True
                process_queue.progress.holders.remove(process_queue)
                self._network.truth.observe(process_queue.progress)
        self._table.clear()
        self._shares.clear()
