"""A group of gRPC clients beside the recordings. Proxies poll brokers for them, until nobody polls one of the brokers.

Its events are made here: no recording has both proxies and such a fault.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from schemas.events import (
    ANY_QUEUE,
    SCHEMA_VERSION,
    AnyEvent,
    BrokerAnswer,
    Heartbeat,
    QueueOffsets,
    Round,
    RouteQueues,
    Subscription,
    TopicInFlight,
    TopicOffsets,
    TopicPolls,
    TopicRoute,
)
from schemas.identity import proxy_name
from streaming.demo.recording_schedule import CLUSTER, Scheduled
from streaming.simulation.load.segment import ROUND_MS

POPPING_GROUP, TOPIC = "notifications", "notifications-events"
CLIENTS = ("mail-1@7@0@hoi43q8ucv", "mail-2@7@0@bj8i9tron1", "mail-3@7@0@k2c0ws71ee")
PROXIES = (proxy_name("10.0.0.5:8080"), proxy_name("10.0.0.6:8080"))
REACHED, CUT_OFF = "broker-a", "broker-b"
QUEUES = 4  # on each broker
MESSAGES = 5  # come to each queue in a round
READ_EVERY_MS = 20_000  # offsets and polls, as a collector reads them
REPEAT_MS = 30_000  # heartbeats and routes
# Just after a reading: then the last that is seen is a poll that waits, and its client is not busy.
SILENT_FROM_MS = 3 * READ_EVERY_MS + ROUND_MS
SILENT_UNTIL_MS, AGAIN_AFTER_MS = 300_000, 1_200_000
ACTIONS = {SILENT_FROM_MS: f"its clients no longer reach {CUT_OFF}: nobody polls there", SILENT_UNTIL_MS: "mended"}


def popping_schedule(start_ms: int) -> Iterator[Scheduled]:
    """Its rounds from ``start_ms`` on, without end."""
    group, numbers = _PoppingGroup(start_ms), count()
    for due_ms in count(start_ms, ROUND_MS):
        at_ms = (due_ms - start_ms) % AGAIN_AFTER_MS
        if at_ms in ACTIONS:
            yield Scheduled(due_ms, next(numbers), POPPING_GROUP, action=ACTIONS[at_ms])
        is_cut_off = SILENT_FROM_MS <= at_ms < SILENT_UNTIL_MS
        yield Scheduled(due_ms, next(numbers), POPPING_GROUP, group.round(due_ms, is_cut_off))


class _PoppingGroup:
    def __init__(self, start_ms: int) -> None:
        self._start_ms, self._seq = start_ms, 0
        self._written = 0  # messages in each queue
        self._taken = {REACHED: 0, CUT_OFF: 0}  # by broker, of each of its queues

    def round(self, ts: int, is_cut_off: bool) -> list[AnyEvent]:
        """The events of a round that ends at ``ts``. A poll waits again as soon as its messages are taken.

        Each client that reaches a broker has a message of it in hand.
        """
        self._written += MESSAGES
        self._taken |= dict.fromkeys((REACHED,) if is_cut_off else (REACHED, CUT_OFF), self._written)
        events: list[AnyEvent] = []
        if self._is_time_for(REPEAT_MS, ts):
            queues = tuple(RouteQueues(broker, QUEUES, QUEUES, 6) for broker in self._taken)
            events.append(TopicRoute(**self._next(ts), topic=TOPIC, brokers=queues))
            events += [Heartbeat(**self._next(ts), **_listed(proxy, one)) for proxy in PROXIES for one in CLIENTS]
        polling = {REACHED: len(CLIENTS), CUT_OFF: 0 if is_cut_off else len(CLIENTS)}
        is_read = self._is_time_for(READ_EVERY_MS, ts)
        marker = Round(
            **self._next(ts),
            brokers=tuple(
                BrokerAnswer(name, True, CLIENTS if name in PROXIES else ()) for name in (*polling, *PROXIES)
            ),
            consume_enable=True,
            orderly=False,
            subscribed=(TOPIC,),
            offsets=tuple(self._offsets(name, ts) for name in polling) if is_read else (),
            polls=tuple(TopicPolls(name, TOPIC, ANY_QUEUE, ts, n) for name, n in polling.items()) if is_read else (),
            in_flight=tuple(TopicInFlight(name, TOPIC, ts, n) for name, n in polling.items()) if is_read else (),
        )
        return [*events, marker]

    def _is_time_for(self, every_ms: int, ts: int) -> bool:
        return (ts - self._start_ms) % every_ms < ROUND_MS

    def _next(self, ts: int) -> dict[str, Any]:
        self._seq += 1
        names = {"cluster": CLUSTER, "group": POPPING_GROUP, "source": f"demo {self._start_ms}"}
        return {"schema": SCHEMA_VERSION, "ts": ts, "round": ts, "seq": self._seq, **names}

    def _offsets(self, broker: str, ts: int) -> TopicOffsets:
        waiting = self._written - self._taken[broker]
        queues = (QueueOffsets(queue_id, self._written, waiting, waiting) for queue_id in range(QUEUES))
        return TopicOffsets(broker, TOPIC, ts, tuple(queues))


def _listed(proxy: str, client_id: str) -> dict[str, Any]:
    return {
        "broker_name": proxy,
        "client_id": client_id,
        "observed": "listed",
        "language": "JAVA",
        "version": "V5_3_3",
        "message_model": "CLUSTERING",
        "consume_type": "CONSUME_PASSIVELY",
        "subscriptions": (Subscription(TOPIC, "*"),),
    }
