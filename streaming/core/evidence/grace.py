"""Grace: for how long after a change reports of a topic's queues do not count.

Clients learn of a change one by one: of members by their next rebalance, of a route by their next poll, and a broker
that was away learns its members by their heartbeats.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.settings import Timing
from streaming.core.state.group_state import Broker, Topic

GRACE_MEMBERSHIP_MS = 25_000  # rebalance every 20 s
GRACE_ROUTE_MS = 55_000  # route poll every 30 s, then the rebalance timer
GRACE_BROKER_MS = 175_000  # name server drops a broker after 120 s; heartbeats come back within 30 s
GRACE_ORDERLY_EXTRA_MS = 60_000  # a dead client's queue locks expire after 60 s


class Grace(NamedTuple):
    """``listed_ts``: when a list of members last changed; ``change_ts``: when anything last did.

    ``ready_ts``: from when on reports count. ``shared_out_ts``: by then queues have changed hands; their new owners may
    still wait for locks. ``of_changes``: when each kind of change last happened, and its grace in ms.
    """

    listed_ts: int
    change_ts: int
    ready_ts: int
    shared_out_ts: int
    of_changes: tuple[tuple[int, int], ...]

    def longest_since(self, ts: int) -> int:
        """The longest grace, in ms, of the changes whose grace had not ended at ``ts``, or that came later."""
        last = self.ready_ts - self.change_ts
        return max((grace for changed_ts, grace in self.of_changes if changed_ts + grace > ts), default=last)


def grace_of(topic: Topic, hosts: Sequence[Broker], timing: Timing, is_orderly: bool) -> Grace:
    """The grace of a topic. ``hosts``: the brokers in its route."""
    listed_ts = max((broker.changed_ts for broker in hosts), default=0)
    away_ts = max((broker.returned_ts for broker in hosts), default=0)  # one still away is not covered
    away_ts = max(away_ts, topic.hosts_changed_ts)
    differ_ts = topic.copies.differ_ts if topic.copies is not None else 0
    extra = timing.grace_orderly_extra_ms if is_orderly else 0
    waits = (
        (listed_ts, timing.grace_membership_ms),
        (topic.changed_ts, timing.grace_route_ms),
        (away_ts, timing.grace_broker_ms),
        (differ_ts, timing.grace_broker_ms),
    )
    of_changes = tuple([(ts, grace + extra) for ts, grace in waits if ts])
    ready_ts = max((ts + grace for ts, grace in of_changes), default=extra)
    return Grace(listed_ts, max(listed_ts, topic.changed_ts, away_ts), ready_ts, ready_ts - extra, of_changes)


def last_change(topic: Topic, hosts: Iterable[Broker], grace: Grace) -> Reason:
    """The last change, and from when on reports count: why a queue is SETTLING."""
    changes = [
        (topic.changed_ts, ReasonKind.ROUTE_CHANGED, ""),
        (topic.hosts_changed_ts, ReasonKind.BROKERS_CHANGED, ""),
    ]
    for broker in hosts:
        changes.append((broker.changed_ts, ReasonKind.MEMBER_LIST_CHANGED, broker.name))
        changes.append((broker.returned_ts, ReasonKind.BROKER_RETURNED, broker.name))
    ts, kind, name = max(changes)
    names = (name,) if name else ()
    return Reason(kind, ReasonDetails(broker_names=names, changed_ts=ts, counts_from_ts=grace.ready_ts))


def is_converging(topic: Topic, now: int, timing: Timing) -> bool:
    """True if name servers began or ceased to differ so lately that clients may still differ too."""
    copies = topic.copies
    if copies is None:
        return False
    if copies.differ_ts:
        return now - copies.differ_ts < timing.grace_broker_ms
    return copies.agreed_ts > 0 and now - copies.agreed_ts < timing.grace_route_ms


def has_broker_back(hosts: Iterable[Broker], now: int, timing: Timing) -> bool:
    """True if one of the brokers was away so lately that its list may still be growing."""
    oldest = now - timing.grace_broker_ms
    return any(0 < oldest < broker.returned_ts for broker in hosts)
