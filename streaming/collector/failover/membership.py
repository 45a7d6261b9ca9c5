"""Kafka's group membership decides which collector asks which cluster.

All collectors with one configuration are consumers of one topic. Each cluster belongs to one partition of it, by its
name alone, so that collectors whose lists of clusters differ for a while agree about each cluster. The collector that
owns the partition asks the cluster. A successor has read what is remembered of a cluster (``memories``) before it
begins to ask. A collector that gets no answers of RocketMQ reports it with the next rebalance, and another one that
gets some takes its partition over (``reach``).
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Condition, Event, Thread
from typing import Any

from kafka import ConsumerRebalanceListener, TopicPartition
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from streaming.collector.failover.assignor import ReachAssignor
from streaming.collector.failover.memories import Memories
from streaming.collector.failover.reach import Reach, Report, is_news
from streaming.collector.failover.term import Term
from streaming.collector.failover.topic import SESSION_MS, WRITE_WITHIN_S, partition_of
from streaming.config.cross_key_checks import FAILOVER_TIMEOUT_S

REQUEST_MS = FAILOVER_TIMEOUT_S * 1000  # a request is over by then
POLL_MS = 200
STOP_ASKING_WITHIN_S = 4  # Kafka's session goes on meanwhile, since it is longer
PROBED_WITHIN_S = 3  # at the start; a probe takes 2 s at most
RETRY_AFTER_S = 2
KEEP_MEMBER_S = 60  # a Kafka that restarts knows its members from before; a new one waits for the old one's session
log = logging.getLogger(__name__)


class Membership(ConsumerRebalanceListener):
    """The partitions that this collector owns.

    ``clusters``: those of the configuration. ``connect`` makes a consumer of the group, with the given assignor, and a
    producer; it raises KafkaError or OSError while Kafka is away.
    ``begin`` and ``stopped`` are called by the loop of each cluster. Kafka gets a partition back when no cluster of it
    is asked any more and the last memories are written.
    ``reach``: what the loops note of RocketMQ's answers. ``went_on`` is called with each turn of the thread, also while
    Kafka is away.
    """

    def __init__(
        self,
        clusters: Iterable[str],
        connect: Callable[[Any], tuple[Any, Any]],
        topic: str,
        reach: Reach,
        went_on: Callable[[], object] = lambda: None,
    ) -> None:
        self.reach = reach
        self._clusters = tuple(clusters)
        self._term = Term(SESSION_MS, REQUEST_MS)
        self.memories = Memories(topic, self._clusters)
        self._partitions = frozenset(map(partition_of, self._clusters))
        self._reported_s = -math.inf
        self._logged = Report()
        self._connect, self._went_on = connect, went_on
        self._topic = topic
        self._is_away = False
        self._producer: Any = None
        self._assignor = ReachAssignor(topic, Report())
        self._owned: frozenset[int] = frozenset()  # and read to the end
        self._unread: dict[int, int] = {}  # owned, and up to which offset they must be read
        self._asking: set[str] = set()
        self._changed = Condition()
        self._over = Event()
        self._thread = Thread(target=self._run, name="collectors", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Leaves the group, so that another collector takes over at once. Call it when nothing is asked any more."""
        self._over.set()
        self._thread.join(STOP_ASKING_WITHIN_S + 3 * WRITE_WITHIN_S)

    # --- what the loops of the clusters ask and report

    def may_ask(self, cluster: str) -> bool:
        return partition_of(cluster) in self._owned and self._term.is_valid(time.monotonic())

    def begin(self, cluster: str) -> bool:
        """Returns whether the cluster is asked by this collector from now on."""
        with self._changed:
            if self.may_ask(cluster) and cluster not in self._asking:
                self.reach.begin(cluster, time.monotonic())
                self._asking.add(cluster)
            return cluster in self._asking

    def is_to_probe(self, cluster: str) -> bool:
        """At the start; while the collector that asks the cluster gets no answers, as far as Kafka says; and where this
        one may get none either, so that it is not given the cluster.
        """
        number, now_s = partition_of(cluster), time.monotonic()
        if not self.reach.is_probe_due(cluster, now_s):
            return False
        if not self.reach.has_probed([cluster]):
            return True
        is_asked_for = number in self._assignor.wanted or self.reach.is_in_doubt(cluster)
        return is_asked_for and number not in self._owned and self._term.is_valid(now_s)

    def stopped(self, cluster: str) -> None:
        """Notes that nothing is asked of the cluster any more."""
        self.reach.stopped(cluster)
        with self._changed:
            self._asking.discard(cluster)
            self._changed.notify_all()

    # --- the thread

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._went_on()
                self._assignor = ReachAssignor(self._topic, Report())
                consumer, self._producer = self._connect(self._assignor)
                self._follow(consumer)
            except (KafkaError, OSError) as error:
                self._note_away(error)
            except Exception:  # of kafka-python's own: without this thread, nothing would be asked any more
                log.exception("Kafka does not say which collector asks")
            self._over.wait(RETRY_AFTER_S)

    def _wait_for_probes(self) -> None:
        """A collector that is not answered when it joins is given no cluster that another one asks."""
        ends_s = time.monotonic() + PROBED_WITHIN_S
        while not self.reach.has_probed(self._clusters) and time.monotonic() < ends_s and not self._over.is_set():
            self._over.wait(POLL_MS / 1000)
        now_s = time.monotonic()
        self._assignor.report = self._report(now_s)
        for cluster in self._unanswered():
            log.warning("%s: does not answer this collector, so one that is answered asks it", cluster)

    def _follow(self, consumer: Any) -> None:
        try:
            self._wait_for_probes()
            consumer.subscribe([self._topic], listener=self)
            connected_s = time.monotonic()
            while not self._over.is_set():
                self._went_on()
                try:
                    self._turn(consumer)
                    connected_s = time.monotonic()
                except KafkaConnectionError as error:
                    if time.monotonic() - connected_s > KEEP_MEMBER_S:
                        raise
                    self._note_away(error)
                    self._over.wait(POLL_MS / 1000)
        finally:
            self._give_back(set(self._owned) | set(self._unread))
            self._term.end()
            try:
                consumer.close(autocommit=False, timeout_ms=WRITE_WITHIN_S * 1000)
            finally:
                self._producer.close(timeout=WRITE_WITHIN_S)

    def _turn(self, consumer: Any) -> None:
        for records in self._polled(consumer).values():
            self.memories.add(records)
        self._note_heartbeat(consumer)
        self._note_read(consumer)
        self.memories.send(self._producer, self._owned)
        self._tell(consumer)

    def _polled(self, consumer: Any) -> Any:
        """kafka-python does not wait while an answer to its heartbeat is late. It polls again and again until the time
        is over, and keeps something of each time until Kafka answers: some 15 MB a second, for half a minute.
        """
        coordinator = consumer._coordinator
        if not (coordinator.stable() and coordinator.time_to_next_heartbeat() <= 0):
            return consumer.poll(timeout_ms=POLL_MS)
        found = consumer.poll(timeout_ms=0)
        self._over.wait(POLL_MS / 1000)
        return found

    def _tell(self, consumer: Any) -> None:
        """Makes the group rebalance, if it must hear of what this collector reaches."""
        now_s, said = time.monotonic(), self._assignor.said
        self._assignor.report = report = self._report(now_s)
        # a collector that is none joins anyway
        is_member = self._term.is_valid(now_s)
        if is_member and is_news(report, said, self._owned, self._assignor.wanted, now_s - self._reported_s):
            consumer._coordinator.request_rejoin()  # kafka-python has no public name for it
            self._reported_s = now_s
            self._log(report, now_s)

    def _log(self, report: Report, now_s: float) -> None:
        if report == self._logged:
            return
        self._logged = report
        for cluster in self._clusters:  # several may have one partition
            number = partition_of(cluster)
            if number in self._owned and self.reach.is_unanswered(cluster):
                log.warning("%s: no broker answers; a collector that is answered takes the cluster over", cluster)
            elif number in self._assignor.wanted and self.reach.is_reached(cluster, now_s):
                log.info("%s: brokers answer this collector, and not the one that asks", cluster)

    def _unanswered(self) -> Iterator[str]:
        return (cluster for cluster in self._clusters if self.reach.is_unanswered(cluster))

    def _report(self, now_s: float) -> Report:
        """A partition is reached if all its clusters are."""
        reached = self._partitions - {
            partition_of(one) for one in self._clusters if not self.reach.is_reached(one, now_s)
        }
        return Report(frozenset(map(partition_of, self._unanswered())), reached)

    def _note_away(self, error: Exception) -> None:
        if not self._is_away:
            log.warning("Kafka does not say which collector asks: %s", str(error) or type(error).__name__)
        self._is_away = True

    def _note_heartbeat(self, consumer: Any) -> None:
        """kafka-python shows the moments of its heartbeats only here."""
        heartbeat = consumer._coordinator.heartbeat
        sent_s, answered_s = heartbeat.last_send, heartbeat.last_receive
        if math.isfinite(sent_s) and answered_s >= sent_s:
            self._term.heartbeat_answered(sent_s)
            self._is_away = False

    def _note_read(self, consumer: Any) -> None:
        """A partition that does not answer now is asked again in the next turn."""
        assigned = {one.partition for one in consumer.assignment()} & self._partitions
        for number in sorted(assigned - self._owned):
            at = TopicPartition(self._topic, number)
            try:
                if number not in self._unread:
                    self._unread[number] = consumer.end_offsets([at], timeout_ms=POLL_MS)[at]
                position = consumer.position(at, timeout_ms=POLL_MS)
            except KafkaTimeoutError:
                continue
            if position is not None and position >= self._unread[number]:
                del self._unread[number]
                self._owned |= {number}

    # --- what Kafka calls, within poll

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Nothing is asked before the partitions have been read."""

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._give_back({one.partition for one in revoked})

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._term.end()
        self._assignor.member_assignment = None  # kafka-python would claim what others own by now
        self.memories.drop()
        self._give_back({one.partition for one in lost})

    def _give_back(self, numbers: set[int]) -> None:
        """Waits until nothing is asked of their clusters: only then another collector may ask."""
        self._owned -= numbers
        for number in numbers:
            self._unread.pop(number, None)
        with self._changed:
            is_over = self._changed.wait_for(
                lambda: not any(partition_of(cluster) in numbers for cluster in self._asking), STOP_ASKING_WITHIN_S
            )
        if not is_over:
            log.error(
                "a round did not stop within %s s; another collector takes its cluster over", STOP_ASKING_WITHIN_S
            )
        self.memories.send(self._producer, numbers)
        try:
            self._producer.flush(WRITE_WITHIN_S)
        except KafkaError as error:
            log.warning("what this collector remembers did not reach its successor: %s", error)
