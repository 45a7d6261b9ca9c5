"""A thread that sends every record to Kafka when it is due."""

import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue

from kafka import KafkaProducer

from streaming.demo.schedule import ScheduledRecord

POLL_S = 0.2


class Publisher:
    """Sends a schedule from ``start`` to ``stop``. ``actions``: those that are due, to be printed."""

    def __init__(self, bootstrap_servers: str, topic: str, schedule: Iterator[ScheduledRecord]) -> None:
        self.actions: SimpleQueue[ScheduledRecord] = SimpleQueue()
        self.records = 0
        self._topic = topic
        self._schedule = schedule
        self._producer = KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all", linger_ms=20)
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Play no more, and send what was played."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._producer.close(timeout=5)

    def check(self) -> None:
        """Raise what ended the thread, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            for played in self._schedule:
                if not self._wait_until(played.due_ms):
                    return
                self._play(played)
        except BaseException as error:
            self._failure = error

    def _wait_until(self, due_ms: int) -> bool:
        """Whether it is due now; False: the demo is over."""
        while (wait_s := due_ms / 1000 - time.time()) > 0:
            if self._stopping.wait(min(wait_s, POLL_S)):
                return False
        return not self._stopping.is_set()

    def _play(self, played: ScheduledRecord) -> None:
        if played.value is None:
            self.actions.put(played)
            return
        self._producer.send(self._topic, key=played.key, value=played.value)
        self.records += 1
