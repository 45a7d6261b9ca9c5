"""Rules for a queue: one small rule for each kind of finding, and the order in which they are tried.

First comes what reports prove. Then comes what offsets alone prove, because a queue that has an owner may still not be
consumed. Then comes what cannot be known, or not yet; then what does no harm now; then MATCH. Of queues
whose owners evenkeel does not judge only offsets count. A rule reads the queue's record and nothing else. How long a
queue must stand still stands in ``evidence/stalls``, how long it may change hands in ``evidence/grace``.
"""

from collections.abc import Callable

from msgspec.structs import replace

from schemas.facts import Kind, Severity
from schemas.observed import NotInRoute, Unconsumed, counted
from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.evidence.queue_record import QueueRecord
from streaming.core.evidence.stalls import InHand
from streaming.core.evidence.topic_shares import NAME_SERVERS_DIFFER
from streaming.core.finding_kinds import WRONG_OWNERS
from streaming.core.findings.verdict import Verdict, proven, seen

OTHER_ROUTE = Reason(ReasonKind.OTHER_ROUTE)
NOT_IN_ROUTE = Reason(ReasonKind.NOT_IN_ROUTE)
NO_MESSAGE_MODEL = Reason(ReasonKind.NO_MESSAGE_MODEL)
CONSUME_DISABLED = Reason(ReasonKind.CONSUME_DISABLED)


def duplicated(q: QueueRecord) -> Verdict | None:
    """Two or more instances own it, by reports of both that count, or that they repeat whatever else changes."""
    if len(q.repeated) < 2 or not q.is_broker_covered or not q.is_model_known:
        return None
    return proven(q, Kind.DUPLICATED, q.answered_by_owners, owners=q.repeated)


def can_be_orphaned(q: QueueRecord) -> bool:
    """True if every member that could own the queue has reported."""
    return q.is_complete and q.is_model_known and not q.is_doubtful and not q.uncovered


def orphaned(q: QueueRecord) -> Verdict | None:
    """There are members, all say what they own, and none owns it."""
    if q.counting or q.non_reporting is not None or not can_be_orphaned(q):
        return None
    if q.was_owned and q.may_follow_a_newer_route:
        return None
    return proven(q, Kind.ORPHANED, q.answered_by_all)


def stalled(q: QueueRecord) -> Verdict | None:
    """The queue stands still, and no client is known to have messages of it in hand.

    It is critical if it is proven that none has, or if its owner no longer answers, either. An owner that has just
    finished its messages will have moved on when offsets are read next.
    """
    if not q.is_consume_enabled or q.is_pulled or q.has_just_finished or q.in_hand is InHand.SOME:
        return None
    is_early = q.is_not_pulled and (q.in_hand is InHand.NOTHING or q.exceeds_its_steps)
    if not is_early and not q.is_overdue:
        return None
    is_proven = q.in_hand is InHand.NOTHING and q.has_reports
    is_critical = is_proven or (is_early and q.are_owners_silent)
    return seen(q, Kind.STALLED, severity=Severity.CRITICAL if is_critical else Severity.WARNING)


def slow_consumer(q: QueueRecord) -> Verdict | None:
    """A client has messages in hand and consumes none for long: its listener is slow or stuck, the balance is right."""
    if not q.is_consume_enabled or not (q.is_long_unconsumed or q.is_overdue):
        return None
    if q.in_hand_by_reports is InHand.NOT_KNOWN and q.in_hand is InHand.SOME:
        pulled = Unconsumed(unconsumed_ms=q.unconsumed_ms, pulled=counted(q.pulled_unconsumed))
        return seen(q, Kind.SLOW_CONSUMER, observed=pulled)
    has_finished = q.in_hand_by_reports is InHand.NOTHING and q.has_just_finished
    if q.in_hand_by_reports is not InHand.SOME and not has_finished:
        return None
    return seen(q, Kind.SLOW_CONSUMER, observed=Unconsumed(unconsumed_ms=q.unconsumed_ms))


def consume_disabled(q: QueueRecord) -> Verdict | None:
    """The queue stands still because the subscription group forbids consuming."""
    if q.is_consume_enabled or not q.is_not_pulled:
        return None
    return seen(q, Kind.CONSUME_DISABLED, CONSUME_DISABLED)


def unknown(q: QueueRecord) -> Verdict | None:
    if q.uncovered:
        return seen(q, Kind.UNKNOWN, _no_answer(q.uncovered))
    if q.is_doubtful:
        return seen(q, Kind.UNKNOWN, NAME_SERVERS_DIFFER)
    if not q.is_model_known:
        return seen(q, Kind.UNKNOWN, NO_MESSAGE_MODEL)
    if q.non_reporting is not None and not q.is_as_expected:
        return seen(q, Kind.UNKNOWN, q.non_reporting)
    return None if q.not_reported is None else seen(q, Kind.UNKNOWN, q.not_reported)


def _no_answer(broker_names: tuple[str, ...]) -> Reason:
    return Reason(ReasonKind.NO_ANSWER, ReasonDetails(broker_names=broker_names))


def settling(q: QueueRecord) -> Verdict | None:
    """It does not look right, but the evidence is younger than the grace of the last change."""
    if q.looks_right:
        return None
    if not q.is_complete:
        return seen(q, Kind.SETTLING, q.last_change)
    return seen(q, Kind.SETTLING, OTHER_ROUTE) if q.was_owned and q.may_follow_a_newer_route else None


def misplaced(q: QueueRecord) -> Verdict | None:
    """One owner, but not the one that the strategy gives it to.

    Two instances under one id both should own the queues of that id. One of them may lack the broker's lock. A member
    that is excluded may be the expected owner, though its reports do not count.
    """
    if q.expected is None or q.is_as_expected or set(q.counting) == set(q.expected) or not q.is_complete:
        return None
    return proven(q, Kind.MISPLACED, q.answered_by_all)


def match(q: QueueRecord) -> Verdict:
    return seen(q, Kind.MATCH, q.why_not_expected)


Rule = Callable[[QueueRecord], Verdict | None]

PROVEN_BY_REPORTS: tuple[Rule, ...] = (duplicated, orphaned)
PROVEN_BY_OFFSETS: tuple[Rule, ...] = (stalled, slow_consumer, consume_disabled)
THE_REST: tuple[Rule, ...] = (unknown, settling, misplaced)


def judge(q: QueueRecord) -> Verdict:
    """The finding of the first rule that applies, else MATCH."""
    by_reports = first(PROVEN_BY_REPORTS, q)
    if by_reports is not None:
        return unless_a_broker_is_silent(q, by_reports)
    by_offsets = judge_by_offsets(q)
    rest = unless_a_broker_is_silent(q, first(THE_REST, q) or match(q))
    return rest if by_offsets is None else replace(by_offsets, by_reports=rest.kind)


def judge_by_offsets(q: QueueRecord) -> Verdict | None:
    """The finding that offsets alone prove, whatever is known of owners. A group without members has one of its own.

    An alert that has fired keeps its kind until the queue moves, once ten minutes are over, and what was critical stays
    so. Of clients that restart all the time it looks slow and stalled by turns, proven and not.
    """
    verdict = first(PROVEN_BY_OFFSETS, q) if q.stands_still and q.has_members else None
    if verdict is None or q.alerted is None or not q.is_overdue:
        return verdict
    if q.alerted is Kind.SLOW_CONSUMER:
        return seen(q, Kind.SLOW_CONSUMER, observed=Unconsumed(unconsumed_ms=q.unconsumed_ms))
    is_critical = Severity.CRITICAL in (q.alerted_severity, verdict.severity)
    return seen(q, Kind.STALLED, severity=Severity.CRITICAL if is_critical else Severity.WARNING)


def unless_a_broker_is_silent(q: QueueRecord, verdict: Verdict) -> Verdict:
    """UNKNOWN instead of a new finding about owners while a broker is silent: its loss may be the reason."""
    if not q.silent or verdict.kind is q.found or not {verdict.kind, q.found} & WRONG_OWNERS:
        return verdict
    return seen(q, Kind.UNKNOWN, _no_answer(q.silent))


def first(rules: tuple[Rule, ...], q: QueueRecord) -> Verdict | None:
    return next((verdict for rule in rules if (verdict := rule(q)) is not None), None)


def judge_outside_route(q: QueueRecord) -> Verdict:
    """A queue that a client owns and the route does not have: PHANTOM, by reports that count.

    The route must have been confirmed since then: a copy that is older than the first such report proves nothing.
    """
    if q.counting and q.is_route_confirmed and (q.may_follow_a_newer_route or q.may_be_behind):
        return seen(q, Kind.SETTLING, OTHER_ROUTE)
    if q.counting and q.is_route_confirmed and not q.uncovered:
        return proven(q, Kind.PHANTOM, q.answered_by_owners, NotInRoute(confirmed_ts=q.route_confirmed_ts))
    return seen(q, Kind.SETTLING, NOT_IN_ROUTE)
