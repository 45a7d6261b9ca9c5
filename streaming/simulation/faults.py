"""The faults that happen in RocketMQ and that users have reported, each with the function that causes it.

Nothing here knows the detector's rules. The truth shows which queue is wrong and how. A fault only lists the causes
that are right for it, the best first, and the findings about a topic or the group that are true while it lasts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from schemas.facts import Cause, Kind
from streaming.simulation import fault_injection as inject
from streaming.simulation.simulated_group import TOPIC, Shape


@dataclass(frozen=True)
class Fault:
    """A fault. ``inject`` causes it and returns the function that ends it. ``needs``: fields of the shape it requires.

    ``group_findings``: (kind, topic) of findings that are true while it lasts, beside those of queues in the truth.
    ``extra_ms``: the time that evidence needs beyond the usual; docs/proof.md gives the reason.
    ``hides_clients``: an id is listed twice, and one of the two is not asked, or does not exist.
    ``excludes_others``: it occurs with no other fault.
    ``tolerated``: findings about the group that are true while it lasts, and need not be reported.
    ``shown_by_lists``: like ``tolerated``; only these can be proved by lists and connections if no client answers.
    ``causes_of_two``: causes that are right if a queue has two owners, beside ``causes``.
    ``consumes_nothing``: the group consumes nothing of its topic while it lasts, also with members.
    ``changes_topic``: two such faults would undo each other.
    ``hangs_rebalance``: clients continue with the members and routes that they knew.
    ``lasts_s``: the range of its duration: from, and less than.
    """

    inject: Callable[[Any], inject.Undo]
    causes: tuple[Cause, ...] = ()
    needs: dict[str, Any] = field(default_factory=dict)
    least_clients: int = 1
    least_brokers: int = 1
    group_findings: tuple[tuple[Kind, str], ...] = ()
    extra_ms: int = 0
    hides_clients: bool = False
    excludes_others: bool = False
    causes_of_two: tuple[Cause, ...] = ()
    tolerated: tuple[Kind, ...] = ()
    shown_by_lists: tuple[Kind, ...] = ()
    consumes_nothing: bool = False
    changes_topic: bool = False
    hangs_rebalance: bool = False
    lasts_s: tuple[int, int] = (240, 480)

    @property
    def name(self) -> str:
        return self.inject.__name__

    def fits(self, shape: Shape) -> bool:
        """True if the shape has what the fault needs, apart from its size."""
        return all(getattr(shape, name) == value for name, value in self.needs.items())


PLAIN = {"strategy": "AVG", "orderly": False}
LONGER_S = (840, 1_080)  # longer than a batch, and than a deploy may pause between two of its steps
TWIN_MS = 165_000  # a second address proves a second instance after 155 s; until then one broker asks one instance
UNREADABLE = ((Kind.UNREADABLE_QUEUES, TOPIC),)
OfUnreadable = partial(Fault, needs=PLAIN, least_brokers=2, group_findings=UNREADABLE)
DIFFERENT = ((Kind.INCONSISTENT_SUBSCRIPTION, ""),)
FAULTS: tuple[Fault, ...] = (
    Fault(
        inject.same_client_id,
        (Cause.SAME_CLIENT_ID, Cause.STALE_CONNECTION),
        extra_ms=TWIN_MS,
        hides_clients=True,
        shown_by_lists=(Kind.SHARED_CLIENT_ID,),
    ),
    Fault(inject.half_open, (Cause.STALE_CONNECTION,), least_clients=2, hides_clients=True),
    Fault(inject.stopped, (Cause.CLIENT_STALLED,)),
    Fault(inject.machine_lost, (Cause.CLIENT_STALLED,), least_clients=2),
    Fault(inject.pull_service_dead, (Cause.CLIENT_STALLED,)),
    Fault(inject.stuck_code, needs={"orderly": False}, lasts_s=LONGER_S),
    Fault(inject.different_topics, (Cause.SUBSCRIPTION_MISMATCH,), PLAIN, group_findings=DIFFERENT),
    Fault(inject.different_filters, (Cause.SUBSCRIPTION_MISMATCH,), least_clients=2, group_findings=DIFFERENT),
    Fault(inject.mixed_strategies, (Cause.STRATEGY_MISMATCH,), {"strategy": "AVG"}, least_clients=2, lasts_s=LONGER_S),
    Fault(
        inject.cut_from_a_broker,
        (Cause.VIEW_DIVERGENCE, Cause.CLIENT_STALLED),
        PLAIN,
        least_clients=2,
        least_brokers=2,
        shown_by_lists=(Kind.MEMBER_LISTS_DIFFER,),
    ),
    Fault(inject.room_without_consumer, (Cause.ROOM_WITHOUT_CONSUMER,), {"strategy": "MACHINE_ROOM"}, least_brokers=2),
    Fault(inject.config_misses_queue, (Cause.CONFIG_MISSES_QUEUE,), {"strategy": "CONFIG"}, changes_topic=True),
    Fault(inject.old_route, (Cause.ROUTE_LAG,), PLAIN, changes_topic=True),
    Fault(inject.queues_taken_away, (Cause.ROUTE_LAG,), PLAIN, 2, changes_topic=True),
    Fault(inject.lock_stuck, (Cause.LOCK_STUCK,), {"strategy": "AVG", "orderly": True, "version": 4}, 2),
    Fault(
        inject.not_taken_over,
        (Cause.MEMBER_GONE,),
        PLAIN,
        least_clients=2,
        hangs_rebalance=True,
        causes_of_two=(Cause.UNEXPLAINED,),  # they keep queues that belong to a client that joins
    ),
    Fault(inject.clings, (Cause.UNEXPLAINED,), PLAIN, 2, hangs_rebalance=True),
    OfUnreadable(inject.no_read_permission, (Cause.NO_READ_PERM,), changes_topic=True),
    OfUnreadable(inject.fewer_to_read, (Cause.READ_LT_WRITE,), changes_topic=True),
    Fault(inject.all_gone, group_findings=((Kind.NO_MEMBERS, ""),), excludes_others=True),
    Fault(inject.flapping, least_clients=2, group_findings=((Kind.REBALANCE_STORM, ""),)),
)
FAULT_NAMED = {fault.name: fault for fault in FAULTS}
