"""What is wrong with a queue, if anything: one small rule a kind, and the order in which they are asked.

The order: first what reports prove; then what offsets alone prove, since ownership is not consumption; then what cannot
be known, or not yet; then what is untidy without harm; then MATCH. What is not ours to judge never comes here.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from schemas.facts import Kind, Severity
from streaming.core.evidence.stalls import (
    InHand,
    are_all_pulled_consumed,
    has_just_finished,
    has_room_for_more,
    held_by,
    is_not_consumed,
    is_not_pulled,
)
from streaming.core.evidence.topic_evidence import NAME_SERVERS_DIFFER, TopicEvidence
from streaming.core.findings.kinds import KINDS, WRONG_OWNERS
from streaming.core.intake.consume_offsets import how_it_waits, is_seen_to_move
from streaming.core.intake.topic_routes import readable
from streaming.core.state.group_state import FINDING_CODES
from streaming.core.state.queue_state import Queue

OTHER_ROUTE = "all members share out another route than the one known"
MORE_THAN_CHANGES = 3  # claims in turn: changes that were still under way when counting began

NO_MODEL = "nothing says whether the group's message model is CLUSTERING or BROADCASTING"


class Verdict(Struct, frozen=True, gc=False):
    """A finding with its severity and, in words, why. ``oldest_ts`` and ``newest_ts`` span the reports it rests on.

    ``by_reports``: what they alone would say of a queue that stands still.
    """

    kind: Kind
    severity: Severity
    reason: str | None
    owners: list[int]
    expected: list[int] | None
    oldest_ts: int = 0
    newest_ts: int = 0
    by_reports: Kind | None = None


class QueueEvidence:
    """One queue under judgement. ``since``: reports answered from then on count."""

    __slots__ = (
        "counting",
        "expected",
        "index",
        "is_doubtful",
        "is_lifted",
        "newest",
        "queue",
        "recent",
        "since",
        "topic",
    )

    def __init__(self, topic: TopicEvidence, index: int) -> None:
        self.topic = topic
        self.index = index
        self.queue: Queue = topic.group.state.queues[index]
        self.newest = topic.owners(index)
        self.expected = None if topic.expected is None else topic.expected.get(index)
        self.is_doubtful = topic.is_doubtful(self.queue)
        self.is_lifted = self._has_settled_too_long()
        self.recent = topic.now - topic.group.timing.report_max_age_ms
        self.since = self.recent if self.is_lifted else max(topic.ready_ts, self.recent)
        all_count = topic.reports_as_of >= self.since and not topic.non_reporting
        self.counting = self.newest if all_count else topic.proven_owners(index, self.since)

    @property
    def is_complete(self) -> bool:
        """Whether every member has said what it owns, recently, and late enough to count, or it has settled too long.

        Members that change faster than they are asked hide who owns what: a queue that moves goes on settling.
        """
        if self.topic.is_complete:
            return True
        return self.is_lifted and self.topic.is_fresh and not is_seen_to_move(self.topic.group, self.queue)

    @property
    def looks_right(self) -> bool:
        """Whether the newest reports, young or not, show the expected owner, or a single one where none is known."""
        if self.topic.broadcasts:
            return set(self.newest) >= self.topic.members.keys() - {member.index for member in self.topic.non_reporting}
        return len(self.newest) == 1 and (self.expected is None or self.newest == self.expected)

    @property
    def may_follow_a_newer_route(self) -> bool:
        """Whether members may know a route that the events do not tell yet; name servers hold an old one 120 s long."""
        queue, now, timing = self.queue, self.topic.now, self.topic.group.timing
        found = FINDING_CODES[queue.finding]
        if found is Kind.ORPHANED and queue.stalled_ms >= timing.stall_ms:
            return False  # it was STALLED for as long
        unhealthy_since_ts = queue.since_ts if found is Kind.STALLED else queue.unhealthy_since_ts or now
        return now - unhealthy_since_ts < timing.grace_broker_ms and self.topic.follows_another_route

    def _has_settled_too_long(self) -> bool:
        if self.queue.anomaly is None:
            return False
        mismatch_since_ts = self.queue.mismatch_since_ts
        limit = self.topic.group.timing.settle_limit * self.topic.grace_since(mismatch_since_ts)
        return mismatch_since_ts > 0 and self.topic.now - mismatch_since_ts > limit

    @property
    def says_twice_for_long(self) -> bool:
        """Whether two or more go on saying that they own it, more often in turn than there were changes to explain it.

        Each in its newest report, for longer than a queue may settle: then it did not change hands between them.
        """
        queue = self.queue
        if queue.anomaly is None or not queue.two_owners_since_ts:
            return False
        limit = self.topic.group.timing.settle_limit * self.topic.grace_since(queue.two_owners_since_ts)
        return self.topic.now - queue.two_owners_since_ts > limit and queue.unexplained_reports >= MORE_THAN_CHANGES

    def seen(self, kind: Kind, reason: str | None, severity: Severity | None = None) -> Verdict:
        """A verdict on the newest reports as they are."""
        return Verdict(kind, severity or KINDS[kind].severity, reason, self.newest, self.expected)

    def proven(self, kind: Kind, reason: str | None, members: Iterable[int]) -> Verdict:
        """A verdict that rests on reports of ``members`` that count."""
        involved = [self.topic.members[index] for index in members]
        newest = max(report.answered_ts for member in involved for report in member.reports)
        oldest = min(member.as_of or newest for member in involved)
        return Verdict(kind, KINDS[kind].severity, reason, self.counting, self.expected, oldest, newest)


def duplicated(q: QueueEvidence) -> Verdict | None:
    """Two or more instances own it, by reports of both that count, or that they repeat whatever else changes."""
    if q.topic.broadcasts or len(q.newest) < 2 or q.queue.broker in q.topic.uncovered:
        return None
    if q.topic.of_group.message_model is None:
        return None
    since = q.recent if q.says_twice_for_long else max(q.recent, q.topic.ready_ts)
    owners = q.topic.proven_owners(q.index, since)
    if len(owners) < 2:
        return None
    return replace(q.proven(Kind.DUPLICATED, None, owners), owners=owners)


def orphaned(q: QueueEvidence) -> Verdict | None:
    """There are members, all say what they own, and none owns it; broadcasting: one that lacks it."""
    if not q.is_complete or q.topic.uncovered or q.is_doubtful or q.topic.of_group.message_model is None:
        return None
    if q.topic.broadcasts:
        lacking = {index for index, member in q.topic.members.items() if not member.is_non_reporting} - set(q.counting)
        if not lacking:
            return None
        ids = ", ".join(q.topic.group.client_ids(lacking))
        return q.proven(Kind.ORPHANED, f"not consumed by {ids}", lacking)
    if q.counting or q.topic.non_reporting or (q.queue.last_stable_owners and q.may_follow_a_newer_route):
        return None
    return q.proven(Kind.ORPHANED, None, q.topic.members)


def stalled(q: QueueEvidence) -> Verdict | None:
    """The queue stands still, and nobody has anything of it in hand.

    An owner that has just finished what it held will have moved on by the offsets that are read next. Where neither
    reports nor offsets tell a stall from a batch that takes long, only a time that no batch takes does.
    """
    topic, queue = q.topic, q.queue
    if topic.group.state.consume_enable is False or not is_not_pulled(topic, q.index):
        return None
    in_hand = held_by(topic, q.index, q.newest)
    if in_hand is InHand.SOME or has_just_finished(topic, queue):
        return None
    was_proven = FINDING_CODES[queue.finding] is Kind.STALLED  # and nothing has moved since
    may_be_held = in_hand is InHand.NOT_KNOWN and not was_proven and not are_all_pulled_consumed(topic, queue)
    if may_be_held and not (is_not_consumed(topic, queue) and has_room_for_more(topic, queue)):
        return None
    is_told = not may_be_held and any(member.reports for member in topic.members.values())
    severity = Severity.CRITICAL if is_told else Severity.WARNING
    return q.seen(Kind.STALLED, how_it_waits(topic.group, [queue]), severity)


def slow_consumer(q: QueueEvidence) -> Verdict | None:
    """Nothing of the queue is consumed for long, while there are messages in hand: business code, not the balance."""
    topic, queue = q.topic, q.queue
    if topic.group.state.consume_enable is False or not is_not_consumed(topic, queue):
        return None
    in_hand, seconds = held_by(topic, q.index, q.newest), (queue.progress_ts - queue.unconsumed_since_ts) // 1000
    if in_hand is InHand.SOME or (in_hand is InHand.NOTHING and has_just_finished(topic, queue)):
        return q.seen(Kind.SLOW_CONSUMER, f"its owner has held messages for {seconds} s")
    if in_hand is InHand.NOT_KNOWN and queue.pull_lag < queue.consumer_lag:
        pulled = queue.consumer_lag - queue.pull_lag
        words = f"{pulled} messages were pulled, none consumed for {seconds} s"
        return q.seen(Kind.SLOW_CONSUMER, words)
    return None


def consume_disabled(q: QueueEvidence) -> Verdict | None:
    """The queue stands still because the subscription group forbids consuming."""
    if q.topic.group.state.consume_enable is not False or not is_not_pulled(q.topic, q.index):
        return None
    return q.seen(Kind.CONSUME_DISABLED, "the subscription group has consumeEnable=false")


def unknown(q: QueueEvidence) -> Verdict | None:
    """Evidence is missing."""
    topic = q.topic
    if topic.uncovered:
        return q.seen(Kind.UNKNOWN, _no_answer(topic, topic.uncovered))
    if q.is_doubtful:
        return q.seen(Kind.UNKNOWN, NAME_SERVERS_DIFFER)
    if topic.of_group.message_model is None:
        return q.seen(Kind.UNKNOWN, NO_MODEL)
    if topic.non_reporting and not _is_expected_and_single(q):
        return q.seen(Kind.UNKNOWN, topic.who_does_not_report)
    if topic.is_since_change or (q.is_lifted and topic.is_fresh):
        return None
    return q.seen(Kind.UNKNOWN, topic.who_is_silent)


def _no_answer(topic: TopicEvidence, brokers: list[int]) -> str:
    return "no answer from " + ", ".join(topic.group.state.brokers[index].name for index in brokers)


def settling(q: QueueEvidence) -> Verdict | None:
    """It does not look right, but the evidence is younger than the grace of the last change."""
    if q.looks_right:
        return None
    if not q.is_complete:
        return q.seen(Kind.SETTLING, q.topic.why_settling)
    if not q.topic.broadcasts and q.queue.last_stable_owners and q.may_follow_a_newer_route:
        return q.seen(Kind.SETTLING, OTHER_ROUTE)
    return None


def misplaced(q: QueueEvidence) -> Verdict | None:
    """One owner, but not the one that the strategy gives it to."""
    if q.topic.broadcasts or q.expected is None or q.counting == q.expected or not q.is_complete:
        return None
    return q.proven(Kind.MISPLACED, None, q.topic.members)


def match(q: QueueEvidence) -> Verdict:
    """The rest."""
    return q.seen(Kind.MATCH, None if q.expected is not None else q.topic.why_not_expected)


Rule = Callable[[QueueEvidence], Verdict | None]

PROVEN_BY_REPORTS: tuple[Rule, ...] = (duplicated, orphaned)
PROVEN_BY_OFFSETS: tuple[Rule, ...] = (stalled, slow_consumer, consume_disabled)
THE_REST: tuple[Rule, ...] = (unknown, settling, misplaced)


def judge(q: QueueEvidence) -> Verdict:
    """The first rule that speaks, else MATCH."""
    if _is_plainly_right(q):
        return match(q)
    proven = _first(PROVEN_BY_REPORTS, q)
    if proven is not None:
        return _unless_a_broker_is_silent(q, proven)
    seen = _first(PROVEN_BY_OFFSETS, q)
    rest = _unless_a_broker_is_silent(q, _first(THE_REST, q) or match(q))
    return rest if seen is None else replace(seen, by_reports=rest.kind)


def _unless_a_broker_is_silent(q: QueueEvidence, verdict: Verdict) -> Verdict:
    """In a round in which a broker of the topic is silent, what clients say anew may follow from its loss."""
    before = FINDING_CODES[q.queue.finding]
    if not q.topic.silent or verdict.kind is before or not {verdict.kind, before} & WRONG_OWNERS:
        return verdict
    return q.seen(Kind.UNKNOWN, _no_answer(q.topic, q.topic.silent))


def _first(rules: tuple[Rule, ...], q: QueueEvidence) -> Verdict | None:
    return next((verdict for rule in rules if (verdict := rule(q)) is not None), None)


def _is_plainly_right(q: QueueEvidence) -> bool:
    """The common case, decided without asking each rule: none of them would speak."""
    topic = q.topic
    is_heard = topic.is_complete and not topic.uncovered and not topic.silent
    is_heard = is_heard and topic.of_group.message_model is not None
    return is_heard and q.queue.stalled_ms <= 0 and not q.queue.unconsumed_since_ts and _is_expected_and_single(q)


def _is_expected_and_single(q: QueueEvidence) -> bool:
    return len(q.newest) == 1 and q.newest == q.expected and not q.topic.broadcasts


def _may_be_behind(q: QueueEvidence) -> bool:
    """Whether a route that had the queue may be back, which name servers that lag do not give yet.

    Somebody took it long after it had left the route: who goes by an old route never let go of it.
    """
    timing, mismatch_since_ts = q.topic.group.timing, q.queue.mismatch_since_ts
    had = dict(readable(q.topic.topic.previous_hosts)).get(q.queue.broker, 0)
    is_taken_again = q.queue.queue_id < had and mismatch_since_ts > q.topic.topic.changed_ts + timing.grace_broker_ms
    return is_taken_again and q.topic.now - mismatch_since_ts < timing.grace_broker_ms


def judge_outside_route(q: QueueEvidence) -> Verdict | None:
    """A queue that the route does not have: PHANTOM while a client holds it, by reports that count.

    The route must have been confirmed since: a copy of it that is older than the first such report proves nothing.
    """
    if not q.newest:
        return None
    is_confirmed = q.topic.route_known and q.topic.topic.confirmed_ts > q.queue.mismatch_since_ts
    if q.counting and is_confirmed and (q.may_follow_a_newer_route or _may_be_behind(q)):
        return q.seen(Kind.SETTLING, OTHER_ROUTE)
    if q.counting and is_confirmed and not q.topic.uncovered:
        return q.proven(Kind.PHANTOM, "the topic's route does not have this queue", q.counting)
    return q.seen(Kind.SETTLING, "held, though not in the route")
