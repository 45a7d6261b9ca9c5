"""What is wrong with a queue, if anything: one small rule a kind, and the order in which they are asked.

The order: first what reports prove; then what offsets alone prove, since ownership is not consumption; then what cannot
be known, or not yet; then what is untidy without harm; then MATCH. What is not ours to judge never comes here.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from schemas.facts import Kind, Severity
from streaming.core.evidence import BROADCASTING
from streaming.core.progress import is_seen_lately, is_seen_to_move
from streaming.core.queue import Queue
from streaming.core.state import FINDING_CODES
from streaming.core.topic_evidence import NAME_SERVERS_DIFFER, TopicEvidence

OTHER_ROUTE = "all members share out another route than the one known"
MORE_THAN_CHANGES = 3  # claims in turn: changes that were still under way when counting began


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
        "is_doubtful",
        "is_lifted",
        "newest",
        "place",
        "queue",
        "recent",
        "since",
        "topic",
    )

    def __init__(self, topic: TopicEvidence, place: int) -> None:
        self.topic = topic
        self.place = place
        self.queue: Queue = topic.group.state.queues[place]
        self.newest = topic.owners(place)
        self.expected = None if topic.expected is None else topic.expected.get(place)
        self.is_doubtful = topic.is_doubtful(self.queue)
        self.is_lifted = self._has_settled_too_long()
        self.recent = topic.now - topic.group.timing.report_max_age
        self.since = self.recent if self.is_lifted else max(topic.ready_ts, self.recent)
        self.counting = self.newest if topic.reports_as_of >= self.since else topic.owners(place, self.since)

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
            return set(self.newest) >= set(self.topic.members)
        return len(self.newest) == 1 and (self.expected is None or self.newest == self.expected)

    @property
    def may_follow_a_newer_route(self) -> bool:
        """Whether members may know a route that the events do not tell yet; name servers hold an old one 120 s long."""
        queue, now, timing = self.queue, self.topic.now, self.topic.group.timing
        found = FINDING_CODES[queue.finding]
        if found is Kind.ORPHANED and queue.still_ms >= timing.stall:
            return False  # it was STALLED for as long
        wrong_ts = queue.since_ts if found is Kind.STALLED else queue.wrong_ts or now
        return now - wrong_ts < timing.grace_broker and self.topic.follows_another_route

    def _has_settled_too_long(self) -> bool:
        if self.queue.unrest is None:
            return False
        differs_ts = self.queue.differs_ts
        limit = self.topic.group.timing.settle_limit * self.topic.grace_since(differs_ts)
        return differs_ts > 0 and self.topic.now - differs_ts > limit

    @property
    def says_twice_for_long(self) -> bool:
        """Whether two or more go on saying that they own it, more often in turn than there were changes to explain it.

        Each in its newest report, for longer than a queue may settle: then it did not change hands between them.
        """
        queue = self.queue
        if queue.unrest is None or not queue.twice_ts:
            return False
        limit = self.topic.group.timing.settle_limit * self.topic.grace_since(queue.twice_ts)
        return self.topic.now - queue.twice_ts > limit and queue.spare >= MORE_THAN_CHANGES

    def seen(self, kind: Kind, severity: Severity, reason: str | None) -> Verdict:
        """A verdict on the newest reports as they are."""
        return Verdict(kind, severity, reason, self.newest, self.expected)

    def proven(self, kind: Kind, severity: Severity, reason: str | None, members: Iterable[int]) -> Verdict:
        """A verdict that rests on reports of ``members`` that count."""
        involved = [self.topic.members[place] for place in members]
        newest = max(report.answered_ts for member in involved for report in member.reports)
        oldest = min(member.as_of or newest for member in involved)
        return Verdict(kind, severity, reason, self.counting, self.expected, oldest, newest)


def duplicated(q: QueueEvidence) -> Verdict | None:
    """Two or more instances own it, by reports of both that count, or that they repeat whatever else changes."""
    if q.topic.broadcasts or len(q.newest) < 2 or q.queue.broker in q.topic.uncovered:
        return None
    since = q.recent if q.says_twice_for_long else max(q.recent, q.topic.ready_ts)
    owners = q.topic.owners(q.place, since)
    if len(owners) < 2:
        return None
    return replace(q.proven(Kind.DUPLICATED, Severity.CRITICAL, None, owners), owners=owners)


def orphaned(q: QueueEvidence) -> Verdict | None:
    """There are members, all have reported, and none owns it; broadcasting: one that lacks it."""
    if not q.is_complete or q.topic.uncovered or q.is_doubtful:
        return None
    if q.topic.broadcasts:
        lacking = set(q.topic.members) - set(q.counting)
        if not lacking:
            return None
        ids = ", ".join(q.topic.group.client_ids(lacking))
        return q.proven(Kind.ORPHANED, Severity.CRITICAL, f"not consumed by {ids}", lacking)
    if q.counting or (q.queue.settled and q.may_follow_a_newer_route):
        return None
    return q.proven(Kind.ORPHANED, Severity.CRITICAL, None, q.topic.members)


def stands_still(q: QueueEvidence) -> bool:
    """Messages wait to be pulled, and neither offset has moved for as long as counts, seen without a gap."""
    topic, queue, timing = q.topic, q.queue, q.topic.group.timing
    if topic.of_group.message_model in (None, BROADCASTING):
        return False  # broadcasting clients keep their offsets to themselves
    if not topic.of_group.may_subscribe(topic.topic.name):
        return False  # the offsets of a topic that was consumed once stand still for ever
    extra = timing.grace_orderly_extra if topic.of_group.orderly else 0
    alive_ms = queue.progress_ts - topic.topic.alive_ts if topic.topic.alive_ts else 0
    is_long = min(queue.still_ms, alive_ms) >= timing.stall + extra
    is_seen = queue.broker not in topic.uncovered and is_seen_lately(topic.group, queue)
    return queue.pull_lag > 0 and is_long and is_seen and not _may_wait_for_its_broker(q)


def _may_wait_for_its_broker(q: QueueEvidence) -> bool:
    """Whether its broker was away so lately that its members may not have come back to it."""
    returned_ts = q.topic.group.state.brokers[q.queue.broker].returned_ts
    return returned_ts > 0 and q.queue.progress_ts - returned_ts < q.topic.group.timing.grace_broker


def stalled(q: QueueEvidence) -> Verdict | None:
    """The queue stands still, and its owner has nothing of it in hand, does not answer, or is not known.

    An owner that has just finished what it held will have moved on by the offsets that are read next.
    """
    if not stands_still(q) or has_messages_in_hand(q) or q.topic.group.state.consume_enable is False:
        return None
    if q.queue.idle_ts > q.queue.progress_ts:
        return None
    has_evidence = any(q.topic.members[p].reports or q.topic.members[p].client.unanswered_ts for p in q.topic.members)
    severity = Severity.CRITICAL if has_evidence else Severity.WARNING
    return q.seen(Kind.STALLED, severity, f"{q.queue.pull_lag} messages wait, none pulled for {_seconds(q)} s")


def slow_consumer(q: QueueEvidence) -> Verdict | None:
    """The queue stands still while its owner has messages in hand: its business code, not the balance."""
    if not stands_still(q) or q.topic.group.state.consume_enable is False:
        return None
    return q.seen(Kind.SLOW_CONSUMER, Severity.WARNING, f"its owner has held messages for {_seconds(q)} s")


def consume_disabled(q: QueueEvidence) -> Verdict | None:
    """The queue stands still because the subscription group forbids consuming."""
    if not stands_still(q) or q.topic.group.state.consume_enable is not False:
        return None
    return q.seen(Kind.CONSUME_DISABLED, Severity.INFO, "the subscription group has consumeEnable=false")


def has_messages_in_hand(q: QueueEvidence) -> bool:
    """By a report that is recent, of an owner that still answers."""
    limit = q.topic.now - q.topic.group.timing.report_max_age
    return any(
        q.place in report.busy and report.answered_ts >= limit
        for owner in q.newest
        if not q.topic.members[owner].client.unanswered_ts
        for report in q.topic.members[owner].reports
    )


def _seconds(q: QueueEvidence) -> int:
    return q.queue.still_ms // 1000


def unknown(q: QueueEvidence) -> Verdict | None:
    """Evidence is missing."""
    topic = q.topic
    if topic.uncovered:
        return q.seen(Kind.UNKNOWN, Severity.NONE, _no_answer(topic, topic.uncovered))
    if q.is_doubtful:
        return q.seen(Kind.UNKNOWN, Severity.NONE, NAME_SERVERS_DIFFER)
    if topic.is_since_change or (q.is_lifted and topic.is_fresh):
        return None
    return q.seen(Kind.UNKNOWN, Severity.NONE, topic.who_is_silent)


def _no_answer(topic: TopicEvidence, brokers: list[int]) -> str:
    return "no answer from " + ", ".join(topic.group.state.brokers[place].name for place in brokers)


def settling(q: QueueEvidence) -> Verdict | None:
    """It does not look right, but the evidence is younger than the grace of the last change."""
    if q.looks_right:
        return None
    if not q.is_complete:
        return q.seen(Kind.SETTLING, Severity.NONE, q.topic.why_settling)
    if not q.topic.broadcasts and q.queue.settled and q.may_follow_a_newer_route:
        return q.seen(Kind.SETTLING, Severity.NONE, OTHER_ROUTE)
    return None


def misplaced(q: QueueEvidence) -> Verdict | None:
    """One owner, but not the one that the strategy gives it to."""
    if q.topic.broadcasts or q.expected is None or q.counting == q.expected or not q.is_complete:
        return None
    return q.proven(Kind.MISPLACED, Severity.WARNING, None, q.topic.members)


def match(q: QueueEvidence) -> Verdict:
    """The rest."""
    return q.seen(Kind.MATCH, Severity.NONE, None if q.expected is not None else q.topic.why_not_expected)


Rule = Callable[[QueueEvidence], Verdict | None]

PROVEN_BY_REPORTS: tuple[Rule, ...] = (duplicated, orphaned)
PROVEN_BY_OFFSETS: tuple[Rule, ...] = (stalled, slow_consumer, consume_disabled)
THE_REST: tuple[Rule, ...] = (unknown, settling, misplaced)
BY_OWNERS = frozenset({Kind.DUPLICATED, Kind.ORPHANED, Kind.MISPLACED})


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
    if not q.topic.silent or verdict.kind is before or not {verdict.kind, before} & BY_OWNERS:
        return verdict
    return q.seen(Kind.UNKNOWN, Severity.NONE, _no_answer(q.topic, q.topic.silent))


def _first(rules: tuple[Rule, ...], q: QueueEvidence) -> Verdict | None:
    return next((verdict for rule in rules if (verdict := rule(q)) is not None), None)


def _is_plainly_right(q: QueueEvidence) -> bool:
    """The common case, decided without asking each rule: none of them would speak."""
    topic = q.topic
    is_heard = topic.is_complete and not topic.uncovered and not topic.silent
    return is_heard and q.queue.still_ms <= 0 and _is_expected_and_single(q)


def _is_expected_and_single(q: QueueEvidence) -> bool:
    return len(q.newest) == 1 and q.newest == q.expected and not q.topic.broadcasts


def judge_outside_route(q: QueueEvidence) -> Verdict | None:
    """A queue that the route does not have: PHANTOM while a client holds it, by reports that count.

    The route must have been confirmed since: a copy of it that is older than the first such report proves nothing.
    """
    if not q.newest:
        return None
    is_confirmed = q.topic.route_known and q.topic.topic.confirmed_ts > q.queue.differs_ts
    if q.counting and is_confirmed and q.may_follow_a_newer_route:
        return q.seen(Kind.SETTLING, Severity.NONE, OTHER_ROUTE)
    if q.counting and is_confirmed and not q.topic.uncovered:
        return q.proven(Kind.PHANTOM, Severity.WARNING, "the topic's route does not have this queue", q.counting)
    return q.seen(Kind.SETTLING, Severity.NONE, "held, though not in the route")
