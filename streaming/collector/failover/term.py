"""The time for which a collector may ask: until Kafka may give its clusters to another one.

Nobody fences a collector that was paused or cut off: RocketMQ answers everybody. So a collector stops by itself, by the
monotonic clock, before the broker of Kafka can have ended its session. Ownership is a level: it is checked before each
request.
"""

import math


class Term:
    """``heartbeat_answered`` is called by the thread that talks to Kafka, ``is_valid`` by the one that asks.

    Kafka gives the clusters of a silent collector away after ``session_ms``; a request is over within ``request_ms``.
    """

    def __init__(self, session_ms: int, request_ms: int) -> None:
        self._valid_s = (session_ms - request_ms) / 1000
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
        return now_s - self._sent_s < self._valid_s
