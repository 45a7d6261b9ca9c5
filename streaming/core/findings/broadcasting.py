"""Rules for a queue of a broadcasting group, in which every member consumes every queue.

``evidence.broadcasting`` says which groups broadcast, and what follows from that.
"""

from schemas.facts import Kind
from schemas.observed import CLIENTS_AT_MOST, Clients, NotConsumedBy
from streaming.core.evidence.queue_record import QueueRecord
from streaming.core.findings.queue_rules import Rule, can_be_orphaned, first, match, unknown, unless_a_broker_is_silent
from streaming.core.findings.verdict import Verdict, proven, seen


def lacking(q: QueueRecord) -> Verdict | None:
    """ORPHANED for some: members that say what they own, and do not own the queue."""
    if not q.lacking or not can_be_orphaned(q):
        return None
    observed = NotConsumedBy(clients=Clients(q.lacking[:CLIENTS_AT_MOST], len(q.lacking)))
    return proven(q, Kind.ORPHANED, q.answered_by_all, observed)


def settling(q: QueueRecord) -> Verdict | None:
    """Some member lacks the queue, but the evidence is younger than the grace of the last change."""
    return None if q.is_owned_by_all or q.is_complete else seen(q, Kind.SETTLING, q.last_change)


RULES: tuple[Rule, ...] = (lacking, unknown, settling)


def judge_broadcasting(q: QueueRecord) -> Verdict:
    """The finding of the first rule that applies, else MATCH."""
    return unless_a_broker_is_silent(q, first(RULES, q) or match(q))
