"""Who should own what: what every member's strategy computes, done once for all members."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from schemas.identity import MessageQueue
from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.allocation.strategies import needs_no_parameters, strategy_named, strategy_of_class
from streaming.core.allocation.strategy import AllocationError, Strategy
from streaming.core.allocation.together import allocate_all
from streaming.core.settings import GroupRule

KEPT_BYTES = 64 * 1024 * 1024  # of expected owners, in each process
KEPT_ASKS = 65_536  # owners that are not among the last ones that were asked for are dropped

Hosts = tuple[tuple[str, int], ...]  # (broker name, readable queues)
Owners = Mapping[tuple[str, int], tuple[str, ...]]  # (broker name, queue id) -> client ids


class NotKnown(Exception):
    """The expected owners cannot be known; ``reason`` says why."""

    def __init__(self, kind: ReasonKind, details: ReasonDetails | None = None) -> None:
        super().__init__(kind)
        self.reason = Reason(kind, details)


def strategy_key(rule: GroupRule, classes: frozenset[str | None]) -> tuple[str, bytes]:
    """Name and parameters of the configured strategy, else of the one that every report names. Raises NotKnown.

    None among ``classes`` is a member that does not name its own: rocketmq-client-go's ConsumerRunningInfo does not.
    """
    if rule.strategy is not None:
        return rule.strategy, msgspec.json.encode(rule.params)
    named = classes - {None}
    if not named:
        raise NotKnown(ReasonKind.NO_STRATEGY_REPORTED)
    if len(named) > 1:
        raise NotKnown(ReasonKind.STRATEGIES_DIFFER)
    if None in classes:
        raise NotKnown(ReasonKind.STRATEGY_NOT_NAMED)
    (java_class,) = named
    name = strategy_of_class(java_class or "")
    if name is None:
        raise NotKnown(ReasonKind.UNKNOWN_STRATEGY, ReasonDetails(strategy=java_class or ""))
    if not needs_no_parameters(name):
        raise NotKnown(ReasonKind.UNKNOWN_PARAMETERS, ReasonDetails(strategy=name))
    return name, b"{}"


@lru_cache(maxsize=1024)
def _configured(name: str, params: bytes) -> Strategy:
    decoded: dict[str, Any] = msgspec.json.decode(params)
    return strategy_named(name, decoded)


def expected_owners(strategy_key: tuple[str, bytes], topic: str, hosts: Hosts, client_ids: tuple[str, ...]) -> Owners:
    """Owner ids of each queue, a doubled id twice. Raises NotKnown where the clients' own code throws."""
    return _kept.get((strategy_key, topic, hosts, client_ids))


def _shared_out(strategy_key: tuple[str, bytes], topic: str, hosts: Hosts, client_ids: tuple[str, ...]) -> Owners:
    queues = [MessageQueue(topic, broker_name, queue_id) for broker_name, count in hosts for queue_id in range(count)]
    owners: dict[tuple[str, int], tuple[str, ...]] = {(q.broker_name, q.queue_id): () for q in queues}
    if not queues:
        return owners
    try:
        allocation = allocate_all(_configured(*strategy_key), queues, client_ids)
    except AllocationError as error:
        thrown = f"{error.java_class}: {error.message}"
        details = ReasonDetails(strategy=strategy_key[0], error=thrown)
        raise NotKnown(ReasonKind.STRATEGY_THROWS, details) from error
    for client_id, share in zip(allocation.client_ids, allocation.shares, strict=True):
        for queue in dict.fromkeys(share):  # RocketMQ makes a set of it, and CONFIG may name a queue twice
            if queue.topic == topic:
                key = (queue.broker_name, queue.queue_id)
                owners[key] = (*owners.get(key, ()), client_id)
    return owners


Asked = tuple[tuple[str, bytes], str, Hosts, tuple[str, ...]]


class KeptOwners:
    """A cache of about ``most_bytes``; the entry that was used last is dropped last.

    The result for a thousand clients and queues takes some 300 KB, for a small group 3 KB. So a limit on the number of
    entries would not limit the memory.

    A group is evaluated while it changes, and then its owners are asked for again and again. So an entry that is not
    among the last ``most_asks`` belongs to a group that is at rest, has other clients now, or is gone. It is dropped
    with the next entry that is new.
    """

    def __init__(self, most_bytes: int, most_asks: int) -> None:
        self._most_bytes = most_bytes
        self._most_asks = most_asks
        self.weight = 0
        self._asks = 0
        self._kept: dict[Asked, tuple[int, Owners]] = {}  # the number of the last ask, and the owners

    def get(self, asked: Asked) -> Owners:
        self._asks += 1
        kept = self._kept.pop(asked, None)
        owners = _shared_out(*asked) if kept is None else kept[1]
        self._kept[asked] = self._asks, owners
        if kept is None:
            self.weight += _weight(asked, owners)
            self._drop()
        return owners

    def _drop(self) -> None:
        while len(self._kept) > 1:
            oldest, (asked_last, owners) = next(iter(self._kept.items()))
            if self.weight <= self._most_bytes and self._asks - asked_last < self._most_asks:
                return
            del self._kept[oldest]
            self.weight -= _weight(oldest, owners)


def _weight(asked: Asked, owners: Owners) -> int:
    """Bytes, about: a queue's two tuples and its entry in the dict, a client's id, and the rest."""
    return 1_000 + 200 * len(owners) + 100 * len(asked[3])


_kept = KeptOwners(KEPT_BYTES, KEPT_ASKS)
