"""The brokers' own metrics: when each broker's page is read, and what its newest page says. Pure.

A page has a number for every group, and a broker counts them all each time. So it is asked for seldom.
"""

from collections.abc import Collection, Mapping

from streaming.collector.probing.policy import Policy
from streaming.collector.probing.proxies import Rests
from streaming.collector.wire.answers import InFlightAnswer

PAGE_MS = 30_000
OLDEST_PAGE_MS = 3 * PAGE_MS  # a broker whose page is slow rests, and what it said before counts no more


class BrokerMetrics:
    """Belongs to one cluster."""

    def __init__(self, cluster: str, policy: Policy) -> None:
        self._cluster, self._policy = cluster, policy
        self._due_ms: dict[str, int] = {}
        self._rests = Rests(PAGE_MS)
        self._asked_ms: dict[str, int] = {}  # of the newest page
        self._in_flight: dict[str, dict[str, tuple[InFlightAnswer, ...]]] = {}  # by broker and group

    def due(self, brokers: Collection[str], now: int) -> list[str]:
        for known in (self._due_ms, self._asked_ms, self._in_flight):
            for name in known.keys() - set(brokers):
                del known[name]
                self._rests.forget(name)
        for name in sorted(set(brokers) - self._due_ms.keys()):
            self._due_ms[name] = now + self._policy.phase(f"metrics {name}", PAGE_MS)
        return [name for name in sorted(brokers) if self._due_ms[name] <= now and self._rests.is_over(name, now)]

    def answered(
        self, broker: str, asked_ts: int, asked_ms: int, took_ms: float, in_flight: Mapping[tuple[str, str], int] | None
    ) -> None:
        """``asked_ms``: by the steady clock. None: there is no page, and what an older one says counts no more."""
        self._due_ms[broker] = asked_ms + PAGE_MS
        self._rests.answered(broker, asked_ms, took_ms, in_flight is not None)
        by_group: dict[str, tuple[InFlightAnswer, ...]] = {}
        for (group, topic), messages in (in_flight or {}).items():
            answer = InFlightAnswer(
                ts=asked_ts, dur_ms=took_ms, cluster=self._cluster, broker=broker, group=group, topic=topic,
                messages=messages,
            )  # fmt: skip
            by_group[group] = (*by_group.get(group, ()), answer)
        self._asked_ms[broker], self._in_flight[broker] = asked_ms, by_group

    def in_flight(self, broker: str, group: str, now: int) -> tuple[InFlightAnswer, ...]:
        """The numbers of the group's topics on the broker, by its newest page, if that is not too old."""
        if now - self._asked_ms.get(broker, now) > OLDEST_PAGE_MS:
            return ()
        return self._in_flight.get(broker, {}).get(group, ())
