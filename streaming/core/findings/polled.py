"""Rules for a queue whose consumers own none: it is HEAD_BLOCKED, POLLED, UNPOLLED, or not known.

``evidence.polls`` says what the evidence is, and why clients without a poll need not be silent.
"""

from collections.abc import Callable, Iterable
from heapq import nlargest
from operator import attrgetter

from schemas.facts import Kind, Severity
from schemas.observed import HeadBlocked, NotPolled, Part, counted
from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.evidence.polls import PolledQueue
from streaming.core.finding_kinds import KINDS
from streaming.core.findings.verdict import Verdict

CONSUME_DISABLED = Reason(ReasonKind.CONSUME_DISABLED)
POLLS_NOT_READ = Reason(ReasonKind.POLLS_NOT_READ)
NO_POLL_SEEN = Reason(ReasonKind.NO_POLL_SEEN)
POPPED_IN_PART = Reason(ReasonKind.POPPED_IN_PART)
MOST_QUEUES = 20


def disabled(q: PolledQueue) -> Verdict | None:
    """Brokers refuse polls, and do not say how many wait."""
    if q.is_consume_enabled:
        return None
    return _found(Kind.CONSUME_DISABLED if q.stands_still else Kind.UNKNOWN, CONSUME_DISABLED)


def not_known(q: PolledQueue) -> Verdict | None:
    if not q.is_broker_covered:
        return _found(Kind.UNKNOWN, Reason(ReasonKind.NO_ANSWER, ReasonDetails(broker_names=q.uncovered)))
    return None if q.is_known else _found(Kind.UNKNOWN, POLLS_NOT_READ)


def head_blocked(q: PolledQueue) -> Verdict | None:
    """INFO while the listener may just need long for one message: the page shows it, and nobody is called."""
    if q.head_blocked is None:
        return None
    severity = Severity.WARNING if q.is_blocked_for_long else Severity.INFO
    return _found(Kind.HEAD_BLOCKED, observed=q.head_blocked, severity=severity)


def polled(q: PolledQueue) -> Verdict | None:
    """A client was seen lately, or not long ago where no message has waited since.

    What is pulled beside that, by clients that have asked another broker, may be consumed twice.
    """
    if not q.is_seen and (not q.was_seen or q.stands_still):
        return None
    return _found(Kind.UNKNOWN, POPPED_IN_PART) if q.is_popped_in_part else _found(Kind.POLLED)


def awaited(q: PolledQueue) -> Verdict | None:
    """Messages wait, and no client has polled since a proxy stopped answering. Clients come back to it by themselves.

    Those of Go need five minutes. INFO for up to ten minutes: the page and the tables show it, and nobody is called.
    """
    if q.proxy_away is None or not q.is_silent_since_proxy or not q.is_missed or not _may_be_unpolled(q):
        return None
    return _found(Kind.UNPOLLED, observed=_not_polled(q), severity=None if q.is_overdue else Severity.INFO)


def settling(q: PolledQueue) -> Verdict | None:
    """Clients may be on their way: to another proxy, or to a broker that is new to them."""
    reason = q.proxy_away or q.last_change
    return None if reason is None else _found(Kind.SETTLING, reason)


def unpolled(q: PolledQueue) -> Verdict | None:
    """Messages wait, no client takes them, and none is busy with others. SimpleConsumers may be: with another topic.

    Where nobody can consume it does not matter who is busy.
    """
    if not _may_be_unpolled(q) or q.silent_ms < q.enough_ms:
        return None
    is_free = q.was_free or q.is_in_no_report or q.is_taken_elsewhere
    is_busy_nowhere = q.is_closed or (is_free and not q.is_orderly)
    if not is_busy_nowhere and not q.is_silent_since_proxy:
        return None
    return _found(Kind.UNPOLLED, observed=_not_polled(q))


def polled_elsewhere(q: PolledQueue) -> Verdict | None:
    """Messages wait, and clients are seen at other brokers only. INFO: they may be busy with what they took here.

    After ten minutes of waiting it is STALLED.
    """
    is_likely = q.is_alive_elsewhere and q.is_missed and not q.is_orderly and not q.is_overdue
    if not is_likely or not _may_be_unpolled(q):
        return None
    return _found(Kind.UNPOLLED, observed=_not_polled(q), severity=Severity.INFO)


def _may_be_unpolled(q: PolledQueue) -> bool:
    return (not q.pulls or q.is_closed) and q.stands_still and q.is_to_be_consumed


def _not_polled(q: PolledQueue) -> NotPolled:
    return NotPolled(waiting=counted(q.waiting), silent_ms=q.silent_ms)


def not_seen(q: PolledQueue) -> Verdict:
    return _found(Kind.UNKNOWN, NO_POLL_SEEN)


Rule = Callable[[PolledQueue], Verdict | None]
RULES: tuple[Rule, ...] = (disabled, not_known, head_blocked, polled, awaited, settling, unpolled, polled_elsewhere)


def judge_polled(q: PolledQueue) -> Verdict:
    """The finding of the first rule that applies."""
    return next((verdict for rule in RULES if (verdict := rule(q)) is not None), None) or not_seen(q)


def _found(
    kind: Kind, reason: Reason | None = None, observed: Part | None = None, severity: Severity | None = None
) -> Verdict:
    return Verdict(kind, severity or KINDS[kind].severity, reason, [], None, observed=observed)


def head_blocked_of(observed: Iterable[Part | None]) -> HeadBlocked:
    """Which of several queues are blocked, and how many messages wait behind their first ones."""
    parts = [one for one in observed if isinstance(one, HeadBlocked)]
    queues = [queue for one in parts for queue in one.queues]
    return HeadBlocked(
        queues=tuple(nlargest(MOST_QUEUES, queues, attrgetter("behind"))),
        waiting=counted(sum(one.waiting for one in parts)),
        stands_ms=max(one.stands_ms for one in parts),
        polled_ts=max(one.polled_ts for one in parts),
        more=len(queues) - MOST_QUEUES if len(queues) > MOST_QUEUES else None,
    )


def not_polled_of(observed: Iterable[Part | None]) -> NotPolled:
    """How many messages wait in several queues, and for how long nobody has polled the first of them."""
    parts = [one for one in observed if isinstance(one, NotPolled)]
    waiting = counted(sum(one.waiting for one in parts))
    return NotPolled(waiting=waiting, silent_ms=max(one.silent_ms for one in parts))
