"""What is wrong with a queue, if anything: one small rule for each kind, and the order in which they are tried.

First comes what reports prove. Then comes what offsets alone prove, because a queue that has an owner may still not be
consumed. Then comes what cannot be known, or not yet; then what does no harm now; then MATCH. Of queues
whose owners evenkeel does not judge only offsets tell. A rule reads evidence and changes nothing.
"""

from collections.abc import Callable

from msgspec.structs import replace

from schemas.facts import Kind, Severity
from schemas.observed import NotInRoute, Unconsumed, counted
from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.evidence.queue_evidence import QueueEvidence
from streaming.core.evidence.stalls import (
    InHand,
    are_silent,
    has_just_finished,
    held_by,
    held_by_reports,
    is_not_consumed,
    is_not_pulled,
    is_overdue,
)
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.evidence.topic_shares import NAME_SERVERS_DIFFER
from streaming.core.finding_kinds import WRONG_OWNERS
from streaming.core.findings.verdict import Verdict, proven, seen
from streaming.core.state.offsets import unconsumed_ms
from streaming.core.state.views import QueueView

STALL_MS = 60_000  # a takeover takes 20 s, a new subscription up to 23 s
CONSUME_STALL_MS = 300_000  # longer than a batch takes; consumers store their offset every 5 s
OTHER_ROUTE = Reason(ReasonKind.OTHER_ROUTE)
NOT_IN_ROUTE = Reason(ReasonKind.NOT_IN_ROUTE)
NO_MESSAGE_MODEL = Reason(ReasonKind.NO_MESSAGE_MODEL)


def duplicated(q: QueueEvidence) -> Verdict | None:
    """Two or more instances own it, by reports of both that count, or that they repeat whatever else changes."""
    topic = q.topic
    if len(q.newest) < 2 or q.queue.broker in topic.uncovered or topic.of_group.message_model is None:
        return None
    since = q.recent if q.says_twice_for_long else max(q.recent, topic.grace.ready_ts)
    owners = topic.proven_owners(q.index, since)
    return proven(q, Kind.DUPLICATED, topic.listed.answered(owners), owners=owners) if len(owners) > 1 else None


def can_be_orphaned(q: QueueEvidence) -> bool:
    """Whether every member that could own the queue has reported."""
    is_known = not q.topic.uncovered and not q.is_doubtful and q.topic.of_group.message_model is not None
    return is_known and q.is_complete


def orphaned(q: QueueEvidence) -> Verdict | None:
    """There are members, all say what they own, and none owns it."""
    if q.counting or q.topic.non_reporting or not can_be_orphaned(q):
        return None
    if q.queue.last_stable_owners and q.may_follow_a_newer_route:
        return None
    return proven(q, Kind.ORPHANED, q.topic.listed.answered_by_all)


def stalled(q: QueueEvidence) -> Verdict | None:
    """The queue stands still, and no client is known to have messages of it in hand.

    It is critical if it is proven that none has, or if its owner no longer answers, either. An owner that has just
    finished its messages will have moved on when offsets are read next.
    """
    topic, queue = q.topic, q.queue
    if topic.of_group.consume_enable is False or queue.stalled_ms == 0 or has_just_finished(topic, queue):
        return None
    in_hand, is_silent = held_by(topic, q.index, q.newest), are_silent(topic, q.newest)
    if in_hand is InHand.SOME:
        return None
    is_early = is_not_pulled(topic, q.index) and (in_hand is InHand.NOTHING or _stands_longer_than_a_step(q, is_silent))
    if not is_early and not is_overdue(topic.of_group, queue):
        return None
    is_proven = in_hand is InHand.NOTHING and topic.listed.has_reports
    severity = Severity.CRITICAL if is_proven or (is_early and is_silent) else Severity.WARNING
    return seen(q, Kind.STALLED, severity=severity)


def _stands_longer_than_a_step(q: QueueEvidence, is_silent: bool) -> bool:
    """Whether the group's offset stands for longer than its steps have taken lately, though messages may be in hand.

    Who does not answer any more has stopped, if the queue does not move either. Others may only have a long batch.
    Members that do not report what they own may keep their offsets elsewhere.
    """
    topic, timing = q.topic, q.topic.timing
    if topic.is_left_to_non_reporting(q.index) and not topic.topic.is_committed:
        return False
    return is_not_consumed(topic, q.queue, timing.stall_ms if is_silent else timing.consume_stall_ms)


def slow_consumer(q: QueueEvidence) -> Verdict | None:
    """A client has messages in hand and consumes none for long: its listener is slow or stuck, the balance is right."""
    topic, queue = q.topic, q.queue
    if topic.of_group.consume_enable is False or not _is_long_unconsumed(topic, queue):
        return None
    reported = held_by_reports(topic, q.index, q.newest)
    observed = Unconsumed(unconsumed_ms=unconsumed_ms(queue))
    if reported is InHand.NOT_KNOWN and held_by(topic, q.index, q.newest) is InHand.SOME:
        observed = replace(observed, pulled=counted(queue.consumer_lag - queue.pull_lag))
    elif reported is not InHand.SOME and not (reported is InHand.NOTHING and has_just_finished(topic, queue)):
        return None
    return seen(q, Kind.SLOW_CONSUMER, observed=observed)


def _is_long_unconsumed(topic: TopicEvidence, queue: QueueView) -> bool:
    return is_not_consumed(topic, queue, topic.timing.consume_stall_ms) or is_overdue(topic.of_group, queue)


def consume_disabled(q: QueueEvidence) -> Verdict | None:
    """The queue stands still because the subscription group forbids consuming."""
    if q.topic.of_group.consume_enable is not False or not is_not_pulled(q.topic, q.index):
        return None
    return seen(q, Kind.CONSUME_DISABLED, Reason(ReasonKind.CONSUME_DISABLED))


def unknown(q: QueueEvidence) -> Verdict | None:
    """Evidence is missing."""
    topic = q.topic
    if topic.uncovered:
        return seen(q, Kind.UNKNOWN, _no_answer(topic, topic.uncovered))
    if q.is_doubtful:
        return seen(q, Kind.UNKNOWN, NAME_SERVERS_DIFFER)
    if topic.of_group.message_model is None:
        return seen(q, Kind.UNKNOWN, NO_MESSAGE_MODEL)
    if topic.non_reporting and not q.is_expected_and_single:
        return seen(q, Kind.UNKNOWN, topic.has_non_reporting_members)
    if topic.is_since_change or (q.is_lifted and topic.is_fresh):
        return None
    return seen(q, Kind.UNKNOWN, topic.no_report_since_change)


def _no_answer(topic: TopicEvidence, brokers: list[int]) -> Reason:
    names = tuple(map(topic.broker_name, brokers))
    return Reason(ReasonKind.NO_ANSWER, ReasonDetails(broker_names=names))


def settling(q: QueueEvidence) -> Verdict | None:
    """It does not look right, but the evidence is younger than the grace of the last change."""
    if q.looks_right:
        return None
    if not q.is_complete:
        return seen(q, Kind.SETTLING, q.topic.why_settling)
    if q.queue.last_stable_owners and q.may_follow_a_newer_route:
        return seen(q, Kind.SETTLING, OTHER_ROUTE)
    return None


def misplaced(q: QueueEvidence) -> Verdict | None:
    """One owner, but not the one that the strategy gives it to.

    Two instances under one id both should own the queues of that id. One of them may lack the broker's lock.
    """
    if q.expected is None or set(q.counting) == set(q.expected) or not q.is_complete:
        return None
    return proven(q, Kind.MISPLACED, q.topic.listed.answered_by_all)


def match(q: QueueEvidence) -> Verdict:
    """The rest."""
    return seen(q, Kind.MATCH, q.topic.why_not_expected)


Rule = Callable[[QueueEvidence], Verdict | None]

PROVEN_BY_REPORTS: tuple[Rule, ...] = (duplicated, orphaned)
PROVEN_BY_OFFSETS: tuple[Rule, ...] = (stalled, slow_consumer, consume_disabled)
THE_REST: tuple[Rule, ...] = (unknown, settling, misplaced)


def judge(q: QueueEvidence) -> Verdict:
    """The finding of the first rule that applies, else MATCH."""
    if _is_plainly_right(q):
        return match(q)
    by_reports = first(PROVEN_BY_REPORTS, q)
    if by_reports is not None:
        return unless_a_broker_is_silent(q, by_reports)
    by_offsets = judge_by_offsets(q)
    rest = unless_a_broker_is_silent(q, first(THE_REST, q) or match(q))
    return rest if by_offsets is None else replace(by_offsets, by_reports=rest.kind)


def judge_by_offsets(q: QueueEvidence) -> Verdict | None:
    """What offsets alone prove, whatever is known of owners. Of a group without members its own finding tells.

    What people were called for keeps its kind until the queue moves, once ten minutes are over, and what was critical
    stays so. Of clients that restart all the time it looks slow and stalled by turns, proven and not.
    """
    verdict, told = first(PROVEN_BY_OFFSETS, q) if q.topic.of_group.members else None, q.told
    if verdict is None or told is None or not is_overdue(q.topic.of_group, q.queue):
        return verdict
    if told.kind == Kind.SLOW_CONSUMER:
        return seen(q, Kind.SLOW_CONSUMER, observed=Unconsumed(unconsumed_ms=unconsumed_ms(q.queue)))
    is_critical = Severity.CRITICAL.value in (told.severity, verdict.severity.value)
    severity = Severity.CRITICAL if is_critical else Severity.WARNING
    return seen(q, Kind.STALLED, severity=severity)


def unless_a_broker_is_silent(q: QueueEvidence, verdict: Verdict) -> Verdict:
    """UNKNOWN instead of a new finding about owners while a broker is silent: its loss may be the reason."""
    if not q.topic.silent or verdict.kind is q.found or not {verdict.kind, q.found} & WRONG_OWNERS:
        return verdict
    return seen(q, Kind.UNKNOWN, _no_answer(q.topic, q.topic.silent))


def first(rules: tuple[Rule, ...], q: QueueEvidence) -> Verdict | None:
    return next((verdict for rule in rules if (verdict := rule(q)) is not None), None)


def _is_plainly_right(q: QueueEvidence) -> bool:
    """The common case: no rule would apply, so none is asked."""
    topic = q.topic
    is_heard = topic.is_complete and not topic.uncovered and not topic.silent
    is_heard = is_heard and topic.of_group.message_model is not None
    return is_heard and q.queue.stalled_ms <= 0 and not q.queue.unconsumed_since_ts and q.is_expected_and_single


def _may_be_behind(q: QueueEvidence) -> bool:
    """Whether a route that had the queue may be back, while the name servers that are asked lag behind.

    A client took the queue long after it had left the route. A client with an old route would never have released it.
    """
    grace_ms, since_ts = q.topic.timing.grace_broker_ms, q.queue.mismatch_since_ts
    is_taken_again = q.was_in_route and since_ts > q.topic.route_changed_ts + grace_ms
    return is_taken_again and q.topic.now - since_ts < grace_ms


def judge_outside_route(q: QueueEvidence) -> Verdict | None:
    """A queue that the route does not have: PHANTOM while a client owns it, by reports that count.

    The route must have been confirmed since then: a copy that is older than the first such report proves nothing.
    """
    if not q.newest:
        return None
    confirmed_ts = q.topic.confirmed_ts
    is_confirmed = q.topic.route_known and confirmed_ts > q.queue.mismatch_since_ts
    if q.counting and is_confirmed and (q.may_follow_a_newer_route or _may_be_behind(q)):
        return seen(q, Kind.SETTLING, OTHER_ROUTE)
    if q.counting and is_confirmed and not q.topic.uncovered:
        return proven(q, Kind.PHANTOM, q.topic.listed.answered(q.counting), NotInRoute(confirmed_ts=confirmed_ts))
    return seen(q, Kind.SETTLING, NOT_IN_ROUTE)
