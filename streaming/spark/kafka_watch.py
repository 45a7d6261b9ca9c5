"""The topic's end, asked of Kafka beside the batches: whether Kafka answers, and whether records still come."""

import logging
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import NamedTuple

from streaming.errors import MonitorError
from streaming.spark.checkpoint import Offsets
from streaming.spark.lost_records import Partition, flat

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 10  # a broker that is busy may need seconds
ASK_EVERY_S = 5.0


class KafkaSeen(NamedTuple):
    """Kafka's last answer. ``answered_ts``: when it came; ``error``: the error of the last question, None: it answered.

    ``ends``: where each partition ended then, and since ``quiet_since_ts`` all have been seen to end there. Times are
    epoch ms by the job's clock; None: it has not answered since the job started.
    """

    answered_ts: int | None = None
    quiet_since_ts: int | None = None
    ends: Mapping[Partition, int] = {}
    error: str | None = None

    def unread(self, position: Offsets) -> int | None:
        """The number of records after ``position``, up to which the job has read; None: not known."""
        if self.answered_ts is None:
            return None
        read = flat(position)
        return sum(max(0, end - max(0, read.get(partition, 0))) for partition, end in self.ends.items())


class KafkaWatch:
    """``ends`` asks Kafka, and raises MonitorError where no answer comes within so many seconds.

    Its thread alone calls ``ask``.
    """

    def __init__(self, ends: Callable[[float], Mapping[Partition, int]], now_ms: Callable[[], int]) -> None:
        self.seen = KafkaSeen()
        self._ends, self._now_ms = ends, now_ms

    def ask(self) -> None:
        try:
            ends = self._ends(ANSWER_WITHIN_S)
        except MonitorError as error:
            self.seen = self.seen._replace(error=str(error).splitlines()[0])
            return
        now, before = self._now_ms(), self.seen
        is_quiet = before.quiet_since_ts is not None and ends == before.ends
        self.seen = KafkaSeen(now, before.quiet_since_ts if is_quiet else now, ends)

    def start(self, stop: Event, every_s: float = ASK_EVERY_S) -> Thread:
        """Ask in a separate thread until ``stop``, so that a Kafka that is away does not delay the health facts."""

        def run() -> None:
            while not stop.is_set():
                try:
                    self.ask()
                except Exception as error:
                    if not stop.is_set():  # Java may be gone by then
                        log.warning("Kafka could not be asked for its topic's end: %s", str(error).split("\n", 1)[0])
                stop.wait(every_s)

        thread = Thread(target=run, name="kafka-watch", daemon=True)
        thread.start()
        return thread
