"""Queues of a group that nobody may have consumed from yet. While there are some, its clients are not asked.

To answer for its running info a client of 5.x reads each queue's offset. One that is not in its memory it asks the
broker for, and waits up to 5 s for an answer that has to come through the thread that waits, where there is only one
(one processor): it drops out of its group (``RemoteBrokerOffsetStore``, ``NettyRemotingAbstract``). An offset is in
memory once the broker has stored one, or a first pull has come back.
"""

from collections.abc import Iterable, Mapping

from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS

# A client hears of a route within 30 s, shares it out within 20 s, and its first pull is back within 20 s.
FIRST_PULL_MS = 75_000
REASON = (
    "its group has queues that are new to it: small clients can't answer before they have pulled from them, for which "
    f"they are given {FIRST_PULL_MS // 1000} s"
)

Place = tuple[str, str]  # broker name, topic


class NewQueues:
    """Belongs to one group. A broker names the topics of which it has stored an offset, not that queues were added."""

    def __init__(self) -> None:
        self._hosted: frozenset[Place] = frozenset()
        self._known: dict[Place, tuple[int, int]] = {}  # number of queues, and when it was hosted last
        self._new_ts: dict[Place, int] = {}
        self._grown_ts: dict[Place, int] = {}

    def hosted(self, read_queue_nums: Mapping[Place, int], now: int) -> None:
        """The queues of its topics on brokers that answer, as the routes are now.

        Those of a broker that did not answer for a while are not new when it does.
        """
        for place, number in read_queue_nums.items():
            if place not in self._known:
                self._new_ts[place] = now
            elif number > self._known[place][0]:
                self._grown_ts[place] = now
            self._known[place] = number, now
        for place in [place for place, (_, ts) in self._known.items() if now - ts > KEEP_WATCHING_MS]:
            del self._known[place]
        self._hosted = frozenset(read_queue_nums)

    def stored(self, broker: str, topics: Iterable[str]) -> None:
        """The topics of which the broker holds an offset of the group."""
        for topic in topics:
            self._new_ts.pop((broker, topic), None)

    def are_there(self, now: int) -> bool:
        """Returns whether some queue may still be unread."""
        for since in (self._new_ts, self._grown_ts):
            for place in [p for p, ts in since.items() if p not in self._hosted or now - ts >= FIRST_PULL_MS]:
                del since[place]
        return bool(self._new_ts or self._grown_ts)
