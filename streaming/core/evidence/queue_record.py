"""One queue as its rules read it: a flat record of plain values, in which nothing refers to anything else.

A rule that needs to know something new gets a field here. The record is built only for a queue that is not plainly
right, because most queues are.
"""

from typing import Any

from msgspec import Struct

from schemas.facts import Kind, Severity
from schemas.reasons import Reason
from streaming.core.evidence import stalls
from streaming.core.evidence.broadcasting import is_owned_by_all
from streaming.core.evidence.listed_members import Span
from streaming.core.evidence.queue_evidence import QueueEvidence
from streaming.core.evidence.stalls import InHand
from streaming.core.state.offsets import unconsumed_ms

NO_REPORTS: Span = (0, 0)


class QueueRecord(Struct, frozen=True, kw_only=True, gc=False):
    """The evidence of one queue at this marker. Members are indices, brokers and clients are names.

    The fields from ``is_consume_enabled`` on have their defaults unless the queue stands still, those from
    ``is_route_confirmed`` on if the route has the queue.
    """

    # Owners
    owners: list[int]  # by the newest report of each member; two instances of one id stand there twice
    counting: list[int]  # those of them whose reports are recent, and came after the grace
    repeated: list[int]  # of two or more: those whose reports count, or who repeat them whatever else changes
    expected: list[int] | None  # None: not known, or nothing is shared out
    why_not_expected: Reason | None  # why that is not known
    was_owned: bool  # whether it had an owner when every queue was right last
    found: Kind  # what the last evaluation found

    # Which evidence there is
    uncovered: tuple[str, ...]  # brokers of its topic that have given no list of members for long
    silent: tuple[str, ...]  # those that gave none in this round
    is_broker_covered: bool  # its own broker
    is_model_known: bool  # whether the group shares queues out, or broadcasts
    is_doubtful: bool  # some name server's copy of the route lacks it
    is_complete: bool  # every member has reported late enough, or the queue has settled for too long
    non_reporting: Reason | None  # names members that do not say what they own; None: there are none
    not_reported: Reason | None  # names members that have not reported since the last change; None: enough have
    last_change: Reason  # what changed last
    may_follow_a_newer_route: bool  # members may know a newer route than the events
    answered_by_all: Span  # when the reports of all members were answered
    answered_by_owners: Span  # those of the owners that the finding names
    is_owned_by_all: bool  # broadcasting: every member that says what it owns owns it
    lacking: tuple[str, ...]  # broadcasting: clients that say what they own, and do not own it by reports that count

    # Offsets
    stands_still: bool  # messages wait, and some offset has not moved
    is_consume_enabled: bool = True  # by the subscription group
    has_members: bool = True
    has_reports: bool = False  # of any member
    is_pulled: bool = False  # its pull offset moves, or nothing waits to be pulled
    is_not_pulled: bool = False  # neither offset has moved for as long as a stall takes
    is_long_unconsumed: bool = False  # its consumer offset has not moved for clearly longer than a batch takes
    is_overdue: bool = False  # nor for ten minutes, whatever else goes on
    exceeds_its_steps: bool = False  # nor for longer than its steps took lately
    has_just_finished: bool = False  # its owner may have stored newer offsets than were read last
    in_hand: InHand = InHand.NOT_KNOWN  # whether its owner has messages of it, by reports or by what was pulled
    in_hand_by_reports: InHand = InHand.NOT_KNOWN
    are_owners_silent: bool = False  # it has owners, and none of them answers any more
    unconsumed_ms: int = 0  # for how long its consumer offset has not moved
    pulled_unconsumed: int = 0  # messages that were pulled and are not consumed
    alerted: Kind | None = None  # the kind of the open alert that has fired because it stands still
    alerted_severity: Severity = Severity.NONE

    # A queue outside the route
    is_route_confirmed: bool = False  # the route is known, and came again after the queue was first reported
    route_confirmed_ts: int = 0
    may_be_behind: bool = False  # a route that had the queue may be back, and the name servers lag behind

    @property
    def is_heard(self) -> bool:
        """True if all evidence about owners is there."""
        is_reported = self.is_complete and self.not_reported is None
        return is_reported and self.is_model_known and not self.uncovered and not self.silent

    @property
    def is_as_expected(self) -> bool:
        return len(self.owners) == 1 and self.owners == self.expected

    @property
    def looks_right(self) -> bool:
        """True if the newest reports show the expected owner, or one owner if that is not known."""
        return len(self.owners) == 1 and (self.expected is None or self.owners == self.expected)


def is_plainly_right(q: QueueEvidence | QueueRecord) -> bool:
    """The common case, which needs no record: no rule applies to such a queue.

    A record has the same answer as the evidence that it is made of. A test shows for any record that no rule applies.
    """
    is_as_expected = len(q.owners) == 1 and q.owners == q.expected and not q.is_doubtful
    return is_as_expected and q.is_heard and not q.stands_still


def record_of(q: QueueEvidence) -> QueueRecord:
    topic = q.topic
    repeated = q.repeated
    answered = topic.listed.answered(repeated) if len(repeated) > 1 else NO_REPORTS
    offsets = _offsets(q) if q.stands_still else {}
    return _record(q, repeated, answered, offsets)


def record_outside_route(q: QueueEvidence) -> QueueRecord:
    topic = q.topic
    route = {
        "is_route_confirmed": topic.route_known and topic.confirmed_ts > q.queue.mismatch_since_ts,
        "route_confirmed_ts": topic.confirmed_ts,
        "may_be_behind": q.may_be_behind,
    }
    return _record(q, [], topic.listed.answered(q.counting) if q.counting else NO_REPORTS, route)


def _record(q: QueueEvidence, repeated: list[int], answered: Span, rest: dict[str, Any]) -> QueueRecord:
    is_reported = q.topic.is_since_change or (q.is_lifted and q.topic.is_fresh)
    topic, is_complete, lacking = q.topic, q.is_complete, tuple[str, ...]()
    if topic.broadcasts and is_complete:
        having = set(q.counting)
        # a list, since a generator costs a call for each pair of a queue and a member
        lacking = tuple([client_id for index, client_id in topic.listed.reporting.items() if index not in having])
    return QueueRecord(
        owners=q.owners,
        counting=q.counting,
        repeated=repeated,
        expected=q.expected,
        why_not_expected=topic.why_not_expected,
        was_owned=bool(q.queue.last_stable_owners),
        found=q.found,
        uncovered=tuple(map(topic.broker_name, topic.uncovered)),
        silent=tuple(map(topic.broker_name, topic.silent)),
        is_broker_covered=q.queue.broker not in topic.uncovered,
        is_model_known=topic.of_group.message_model is not None,
        is_doubtful=q.is_doubtful,
        is_complete=is_complete,
        non_reporting=topic.has_non_reporting_members if topic.non_reporting else None,
        not_reported=None if is_reported else topic.no_report_since_change,
        last_change=topic.why_settling,
        may_follow_a_newer_route=q.may_follow_a_newer_route,
        answered_by_all=topic.listed.answered_by_all if is_complete else NO_REPORTS,
        answered_by_owners=answered,
        is_owned_by_all=topic.broadcasts and is_owned_by_all(topic.listed, q.owners),
        lacking=lacking,
        stands_still=q.stands_still,
        **rest,
    )


def _offsets(q: QueueEvidence) -> dict[str, Any]:
    """The fields of a queue that stands still."""
    topic, queue, index = q.topic, q.queue, q.index
    alert = q.fired_stall
    are_owners_silent = bool(q.owners) and all(topic.of_group.is_silent(topic.members[one]) for one in q.owners)
    return {
        "is_consume_enabled": topic.of_group.consume_enable is not False,
        "has_members": bool(topic.of_group.members),
        "has_reports": topic.listed.has_reports,
        "is_pulled": queue.stalled_ms == 0,
        "is_not_pulled": stalls.is_not_pulled(topic, index),
        "is_long_unconsumed": stalls.is_not_consumed(topic, queue, topic.timing.consume_stall_ms),
        "is_overdue": stalls.is_overdue(topic.of_group, queue),
        "exceeds_its_steps": stalls.stands_longer_than_a_step(topic, index, are_owners_silent),
        "has_just_finished": stalls.has_just_finished(topic, queue),
        "in_hand": stalls.held_by(topic, index, q.owners),
        "in_hand_by_reports": stalls.held_by_reports(topic, index, q.owners),
        "are_owners_silent": are_owners_silent,
        "unconsumed_ms": unconsumed_ms(queue),
        "pulled_unconsumed": queue.consumer_lag - queue.pull_lag,
        "alerted": None if alert is None else Kind(alert.kind),
        "alerted_severity": Severity.NONE if alert is None else Severity(alert.severity),
    }
