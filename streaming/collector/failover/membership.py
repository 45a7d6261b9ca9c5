"""Kafka's group membership decides which collector asks which cluster.

All collectors with one configuration are consumers of one topic. Each cluster belongs to one partition of it, by its
name alone, so that collectors whose lists of clusters differ for a while agree about each cluster. The collector that
owns the partition asks the cluster. The records of a partition are the memories of its clusters: a successor has read
them before it begins to ask. A collector that gets no answers of RocketMQ reports it with the next rebalance, and
another one that gets some takes its partition over (``reach``).

Where collectors share clusters, each slot of a cluster (``prod/2``) is what a whole cluster is without sharing. The log
of a cluster's slots (``probing.share``) is in a partition that none of its slots has. Every collector reads all of it.
"""

import logging
import math
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from threading import Condition, Event, Thread
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, TopicAlreadyExistsError

from streaming.collector.failover.assignor import ReachAssignor, SlotAssignor
from streaming.collector.failover.reach import Reach, Report, is_news
from streaming.collector.failover.term import Term
from streaming.collector.output.kafka import check_reachable, opened
from streaming.collector.probing.share import SLOTS, Log
from streaming.config.cross_key_checks import FAILOVER_TIMEOUT_S
from streaming.config.values import server_list

PARTITIONS = 48  # has many divisors, so that two, three, four, six and eight collectors get equally many
SESSION_MS = 9_000  # Kafka gives the clusters of a silent collector away after this; its brokers allow 6 s and more
HEARTBEAT_MS = 1_000
REQUEST_MS = FAILOVER_TIMEOUT_S * 1000  # a request is over by then
POLL_MS = 200
LOG_POLL_MS = 20
LOG_FETCH_MS = 100  # Kafka answers in order: a question for the end of the log waits for the fetch before it
LOG_RECORDS = 5_000  # of one poll
READ_LOG_S = 1  # then heartbeats are looked at again
STOP_ASKING_WITHIN_S = 4  # Kafka's session goes on meanwhile, since it is longer
WRITE_WITHIN_S = 3
DELIVERED_WITHIN_S = WRITE_WITHIN_S + 1
SEGMENT_MS = 3_600_000  # Kafka compacts closed segments only
CONNECT_WITHIN_S = 5
PROBED_WITHIN_S = 3  # at the start; a probe takes 2 s at most
RETRY_AFTER_S = 2
KEEP_MEMBER_S = 60  # a Kafka that restarts knows its members from before; a new one waits for the old one's session
log = logging.getLogger(__name__)


def connect(bootstrap_servers: str, options: Mapping[str, Any], topic: str, assignor: Any) -> tuple[Any, Any]:
    """A consumer of the group and a producer; the topic is created if it is missing. Raises KafkaError, OSError."""
    servers = list(server_list(bootstrap_servers))
    check_reachable(servers)
    common = {"bootstrap_servers": servers, "bootstrap_timeout_ms": CONNECT_WITHIN_S * 1000, **options}
    without_compression = _without_compression(common)
    _create(topic, without_compression)
    consumer = opened(
        KafkaConsumer,
        {
            "group_id": topic,
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "max_poll_interval_ms": 2 * SESSION_MS,
            "partition_assignment_strategy": [assignor],
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            **without_compression,
        },
    )
    try:
        _check_partitions(consumer, topic)
        return consumer, opened(
            KafkaProducer,
            {
                "acks": "all",
                "max_block_ms": WRITE_WITHIN_S * 1000,
                "request_timeout_ms": WRITE_WITHIN_S * 1000,
                "delivery_timeout_ms": DELIVERED_WITHIN_S * 1000,  # an older memory must not come after a successor's
                **common,
            },
        )
    except BaseException:
        consumer.close(autocommit=False, timeout_ms=WRITE_WITHIN_S * 1000)
        raise


def open_log(bootstrap_servers: str, options: Mapping[str, Any], topic: str, clusters: Iterable[str]) -> Any:
    """A consumer of the logs of these clusters, from their beginning. Raises KafkaError, OSError."""
    common = {
        "bootstrap_servers": list(server_list(bootstrap_servers)),
        "bootstrap_timeout_ms": CONNECT_WITHIN_S * 1000,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "max_poll_records": LOG_RECORDS,
        "fetch_max_wait_ms": LOG_FETCH_MS,
        **options,
    }
    consumer = opened(KafkaConsumer, _without_compression(common))
    consumer.assign([TopicPartition(topic, number) for number in sorted({*map(log_partition_of, clusters)})])
    return consumer


def _without_compression(options: Mapping[str, Any]) -> dict[str, Any]:
    """A producer's alone."""
    return {name: value for name, value in options.items() if name != "compression_type"}


def _check_partitions(consumer: Any, topic: str) -> None:
    found = len(consumer.partitions_for_topic(topic) or ())
    if found != PARTITIONS:
        raise KafkaError(f"the topic {topic} has {found} partitions and must have {PARTITIONS}: make it again")


def _create(topic: str, options: Mapping[str, Any]) -> None:
    """It gets Kafka's default number of replicas. A topic that exists is left as it is."""
    admin = opened(KafkaAdminClient, options)
    try:
        if topic not in admin.list_topics():
            configs = {"cleanup.policy": "compact", "segment.ms": str(SEGMENT_MS)}
            admin.create_topics({topic: {"num_partitions": PARTITIONS, "replication_factor": -1, "configs": configs}})
    except TopicAlreadyExistsError:
        pass
    finally:
        admin.close()


def partition_of(name: str) -> int:
    """Of a cluster, or of one of its slots (``prod/2``): these are in partitions that follow each other."""
    cluster, _, slot = name.partition("/")
    return (zlib.crc32(cluster.encode()) + int(slot or 0)) % PARTITIONS


def log_partition_of(cluster: str) -> int:
    return partition_of(f"{cluster}/{SLOTS}")


class Membership(ConsumerRebalanceListener):
    """The partitions that this collector owns, and the newest record of each cluster in them.

    ``clusters``: those of the configuration, or their slots where collectors share them. ``connect`` makes a consumer
    of the group, with the given assignor, and a producer; it raises KafkaError or OSError while Kafka is away.
    ``begin``, ``write`` and ``stopped`` are called by the loop of each cluster. Kafka gets a partition back when no
    cluster of it is asked any more and the last memories are written.
    ``reach``: what the loops note of RocketMQ's answers. ``logs``: of the clusters that are shared; ``open_log`` makes
    the consumer that reads them. ``went_on`` is called with each turn of the thread, also while Kafka is away.
    """

    def __init__(
        self,
        clusters: Iterable[str],
        connect: Callable[[Any], tuple[Any, Any]],
        topic: str,
        reach: Reach,
        logs: Mapping[str, Log] | None = None,
        open_log: Callable[[], Any] = lambda: None,
        went_on: Callable[[], object] = lambda: None,
    ) -> None:
        self.reach = reach
        self._clusters = tuple(clusters)
        self._partitions = frozenset(map(partition_of, self._clusters))
        self._reported_s = -math.inf
        self._logged = Report()
        self._logs, self._open_log = dict(logs or {}), open_log
        self._reader: Any = None  # of the logs
        self._log_ends: dict[int, Mapping[TopicPartition, int]] = {}  # by partition that is to be owned
        self._log_records: deque[tuple[str, str, bytes | None]] = deque()  # to write: slot's name, key, value
        self._log_failure: Exception | None = None
        self._connect, self._went_on = connect, went_on
        self._topic = topic
        self._is_away = False
        self._records: dict[str, bytes] = {}
        self._to_write: dict[str, bytes] = {}
        self._unsaved: set[str] = set()  # clusters of which that was logged
        self._producer: Any = None
        self._assignor = self._new_assignor()
        self._term = Term(SESSION_MS, REQUEST_MS)
        self._owned: frozenset[int] = frozenset()  # and read to the end
        self._unread: dict[int, int] = {}  # owned, and up to which offset they must be read
        self._read_first = 0  # the partition of these with which the next turn begins
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

    def record(self, cluster: str) -> bytes | None:
        """The newest record of a cluster that it may ask."""
        return self._records.get(cluster)

    def write(self, cluster: str, record: bytes) -> None:
        self._to_write[cluster] = record

    def write_log(self, name: str, key: str, value: bytes | None) -> None:
        """Adds a record of a slot to the log of its cluster."""
        self._log_records.append((name, key, value))

    def follow_log(self, name: str) -> None:
        """Takes up what was read of the log of a slot's cluster, if collectors share it."""
        if (log_of_cluster := self._logs.get(name.partition("/")[0])) is not None:
            log_of_cluster.follow()

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
                self._assignor = self._new_assignor()
                consumer, self._producer = self._connect(self._assignor)
                self._follow(consumer)
            except (KafkaError, OSError) as error:
                self._note_away(error)
            except Exception:  # of kafka-python's own: without this thread, nothing would be asked any more
                log.exception("Kafka does not say which collector asks")
            self._over.wait(RETRY_AFTER_S)

    def _new_assignor(self) -> ReachAssignor:
        if self._logs:
            slots = [frozenset(partition_of(f"{one}/{slot}") for slot in range(SLOTS)) for one in self._logs]
            return SlotAssignor(self._topic, Report(), slots)
        return ReachAssignor(self._topic, Report())

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
            self._begin_logs()
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
                self._close_log()

    def _turn(self, consumer: Any) -> None:
        for records in consumer.poll(timeout_ms=POLL_MS).values():
            self._take(records)
        self._note_heartbeat(consumer)
        if self._reader is not None:
            self._write_logs(self._owned)
            self._read_logs()
        self._note_read(consumer)
        self._write(self._owned)
        self._tell(consumer)

    def _tell(self, consumer: Any) -> None:
        """Makes the group rebalance, if it must hear of what this collector reaches."""
        now_s, said = time.monotonic(), self._assignor.said
        self._assignor.report = report = self._report(now_s)
        # kafka-python claims the partitions of others if it joins again before it knows that it is no member any more
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

    def _take(self, records: Iterable[Any]) -> None:
        for record in records:
            name = (record.key or b"").decode("utf-8", "replace")
            if name in self._clusters:
                self._records[name] = record.value

    def _note_heartbeat(self, consumer: Any) -> None:
        """kafka-python shows the moments of its heartbeats only here."""
        heartbeat = consumer._coordinator.heartbeat
        sent_s, answered_s = heartbeat.last_send, heartbeat.last_receive
        if math.isfinite(sent_s) and answered_s >= sent_s:
            self._term.heartbeat_answered(sent_s)
            self._is_away = False

    def _note_read(self, consumer: Any) -> None:
        """A partition that does not answer now is asked again in the next turn.

        Logs are given longer. So a turn ends at the first one that does not answer, and the next turn begins after it.
        """
        assigned = {one.partition for one in consumer.assignment()} & self._partitions
        for number in sorted(assigned - self._owned, key=lambda one: (one - self._read_first) % PARTITIONS):
            at = TopicPartition(self._topic, number)
            try:
                if number not in self._unread:
                    self._unread[number] = consumer.end_offsets([at], timeout_ms=POLL_MS)[at]
                position = consumer.position(at, timeout_ms=POLL_MS)
            except KafkaTimeoutError:
                continue
            try:
                are_logs_read = self._reader is None or self._are_logs_read(number)
            except KafkaTimeoutError:
                self._read_first = number + 1
                return
            if position is not None and position >= self._unread[number] and are_logs_read:
                del self._unread[number]
                self._owned |= {number}

    def _write(self, numbers: Iterable[int]) -> None:
        """Sends the records that wait, of the clusters in these partitions. A failure is logged once a cluster."""
        for cluster in [one for one in self._to_write if partition_of(one) in numbers]:
            record = self._to_write.pop(cluster)
            try:
                number = partition_of(cluster)
                sent = self._producer.send(self._topic, key=cluster.encode(), value=record, partition=number)
                sent.add_errback(partial(self._note_failure, cluster))
            except (KafkaError, ValueError) as error:
                self._note_failure(cluster, error)

    def _note_failure(self, cluster: str, error: Exception) -> None:
        if cluster not in self._unsaved:
            self._unsaved.add(cluster)
            log.error("%s: what this collector remembers cannot be saved: %s", cluster, error)

    # --- the logs of clusters that are shared

    def _begin_logs(self) -> None:
        self._reader, self._log_failure = self._open_log(), None
        self._log_records.clear()
        for log_of_cluster in self._logs.values():
            log_of_cluster.begin()

    def _close_log(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            reader.close(timeout_ms=WRITE_WITHIN_S * 1000)

    def _read_logs(self) -> None:
        end_s = time.monotonic() + READ_LOG_S
        while time.monotonic() < end_s and (polled := self._reader.poll(timeout_ms=LOG_POLL_MS)):
            for record in (record for records in polled.values() for record in records):
                cluster, _, key = (record.key or b"").decode("utf-8", "surrogatepass").partition("/")
                if "/" in key and cluster in self._logs:
                    self._logs[cluster].add(key, record.value)

    def _write_logs(self, numbers: Iterable[int]) -> None:
        """Sends the records that wait, of the slots in these partitions.

        A record that may or may not have been written ends the membership: the next one reads what is there.
        """
        while self._log_records and self._log_failure is None:
            name, key, value = self._log_records.popleft()
            cluster = name.partition("/")[0]
            if partition_of(name) not in numbers or not self._term.is_valid(time.monotonic()):
                self._log_failure = KafkaError("another collector may ask now")
                break
            try:
                sent = self._producer.send(
                    self._topic,
                    key=f"{cluster}/{key}".encode("utf-8", "surrogatepass"),
                    value=value,
                    partition=log_partition_of(cluster),
                )
                sent.add_errback(self._note_log_failure)
            except KafkaError as error:
                self._log_failure = error
        if self._log_failure is not None:
            raise KafkaError(f"what this collector asks could not be written: {self._log_failure}")

    def _note_log_failure(self, error: Exception) -> None:
        self._log_failure = error

    def _are_logs_read(self, number: int) -> bool:
        """Returns whether all was read that the owners of a partition before this one wrote, of its slots' clusters."""
        clusters = {name.partition("/")[0] for name in self._clusters if partition_of(name) == number}
        places = {TopicPartition(self._topic, log_partition_of(cluster)) for cluster in clusters}
        if number not in self._log_ends:
            self._log_ends[number] = self._reader.end_offsets(list(places), timeout_ms=READ_LOG_S * 1000)
        ends = self._log_ends[number]
        if any((self._reader.position(at, timeout_ms=READ_LOG_S * 1000) or 0) < ends[at] for at in places):
            return False
        del self._log_ends[number]
        return True

    # --- what Kafka calls, within poll

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Nothing is asked before the partitions have been read."""

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._give_back({one.partition for one in revoked})

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._term.end()
        self._assignor.member_assignment = None  # kafka-python would claim what others own by now
        self._to_write.clear()  # another collector may have written since
        if self._reader is not None:
            self._log_failure = KafkaError("its slots were given to others")
            self._log_records.clear()
        self._give_back({one.partition for one in lost})

    def _give_back(self, numbers: set[int]) -> None:
        """Waits until nothing is asked of their clusters: only then another collector may ask."""
        self._owned -= numbers
        for number in numbers:
            self._unread.pop(number, None)
            self._log_ends.pop(number, None)
        with self._changed:
            is_over = self._changed.wait_for(
                lambda: not any(partition_of(cluster) in numbers for cluster in self._asking), STOP_ASKING_WITHIN_S
            )
        if not is_over:
            log.error(
                "a round did not stop within %s s; another collector takes its cluster over", STOP_ASKING_WITHIN_S
            )
        self._write(numbers)
        try:
            self._write_last(numbers)
        except KafkaError as error:
            log.warning("what this collector remembers did not reach its successor: %s", error)

    def _write_last(self, numbers: set[int]) -> None:
        """Nothing is on its way afterwards, also if a record failed: the next collector would not wait for it."""
        if self._reader is None:
            self._producer.flush(WRITE_WITHIN_S)
            return
        try:
            self._write_logs({*self._owned, *numbers})
        finally:
            self._producer.flush(DELIVERED_WITHIN_S)
