"""The time for which a collector may ask: until Kafka may give its clusters to another one.

Nobody fences a collector that was paused or cut off: RocketMQ answers everybody. So a collector stops by itself, by the
monotonic clock, before the broker of Kafka can have ended its session. Ownership is a level: each request asks anew.
"""

import math

SESSION_MS = 9_000  # Kafka gives the clusters of a silent collector away after this; brokers allow 6 s and more
HEARTBEAT_MS = 1_000
REQUEST_MS = 3_000  # a request is over by then: config/cross_key_checks allows no longer timeout_seconds


class Term:
    """``heartbeat_answered`` is called by the thread that talks to Kafka, ``is_valid`` by the one that asks."""

    def __init__(self) -> None:
        self._sent_s = -math.inf

    def heartbeat_answered(self, sent_s: float) -> None:
        """A heartbeat that was sent at ``sent_s`` (monotonic seconds) was answered: the session goes on from there.

        The broker counts from when the heartbeat came to it, which is later than when it was sent.
        """
        self._sent_s = max(self._sent_s, sent_s)

    def end(self) -> None:
        """The session is over: Kafka gave the clusters to others."""
        self._sent_s = -math.inf

    def is_valid(self, now_s: float) -> bool:
        """Returns whether a request that is sent at ``now_s`` is over before the session can end."""
        return (now_s - self._sent_s) * 1000 < SESSION_MS - REQUEST_MS
