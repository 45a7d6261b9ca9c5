"""A thread that passes every event to the collector's Kafka output when it is due."""

import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from streaming.collector.output.kafka import KafkaOutput, make_producer
from streaming.demo.recording_schedule import Scheduled

POLL_S = 0.2
CLOSE_WITHIN_S = 10
LIMIT_BYTES = 64 * 1024 * 1024  # of the events that wait for Kafka


class Publisher:
    """A player of a schedule from ``start`` to ``stop``. ``actions``: the due ones, to be printed; ``noted`` is called
    with everything that is played.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        schedule: Iterator[Scheduled],
        noted: Callable[[Scheduled], None] = lambda _: None,
    ) -> None:
        self.actions: SimpleQueue[Scheduled] = SimpleQueue()
        self.output = KafkaOutput(lambda: make_producer(bootstrap_servers, {}), topic, LIMIT_BYTES)
        self._schedule = schedule
        self._noted = noted
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        self.output.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop playing, and send what was played."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self.output.close(CLOSE_WITHIN_S)

    def check(self) -> None:
        """Raise the error that ended the thread, if there is one."""
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
        """Wait until the time. Return True when it is due, False if the demo is over."""
        while (wait_s := due_ms / 1000 - time.time()) > 0:
            if self._stopping.wait(min(wait_s, POLL_S)):
                return False
        return not self._stopping.is_set()

    def _play(self, played: Scheduled) -> None:
        if played.action:
            self.actions.put(played)
        self.output.emit(list(played.events))
        self._noted(played)
