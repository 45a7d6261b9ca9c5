"""What is wrong with a queue of a broadcasting group, in which every member consumes every queue.

Nothing is shared out, so a queue cannot be owned twice or by the wrong member. Clients keep their offsets to themselves
(``LocalFileOffsetStore``), so no queue is seen to stand still.
"""

from schemas.facts import Kind
from schemas.observed import CLIENTS_AT_MOST, Clients, NotConsumedBy
from streaming.core.evidence.queue_evidence import QueueEvidence
from streaming.core.findings.queue_rules import Rule, can_be_orphaned, first, match, unknown, unless_a_broker_is_silent
from streaming.core.findings.verdict import Verdict, proven, seen


def lacking(q: QueueEvidence) -> Verdict | None:
    """ORPHANED for some: members that say what they own, and do not own the queue."""
    if not can_be_orphaned(q):
        return None
    owners = set(q.counting)
    without = [client_id for index, client_id in q.topic.listed.reporting.items() if index not in owners]
    if not without:
        return None
    observed = NotConsumedBy(clients=Clients(tuple(without[:CLIENTS_AT_MOST]), len(without)))
    return proven(q, Kind.ORPHANED, q.topic.listed.answered_by_all, observed)


def settling(q: QueueEvidence) -> Verdict | None:
    """Some member lacks the queue, but the evidence is younger than the grace of the last change."""
    if q.looks_right or q.is_complete:
        return None
    return seen(q, Kind.SETTLING, q.topic.why_settling)


RULES: tuple[Rule, ...] = (lacking, unknown, settling)


def judge_broadcasting(q: QueueEvidence) -> Verdict:
    """The first rule that speaks, else MATCH."""
    return unless_a_broker_is_silent(q, first(RULES, q) or match(q))
