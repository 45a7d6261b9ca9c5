"""One queue as its rules see it: who reports to own it, who should own it, and which reports count."""

from schemas.facts import Kind
from streaming.core.evidence.broadcasting import is_owned_by_all
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS
from streaming.core.state.group_state import FINDING_CODES, Alert
from streaming.core.state.offsets import is_seen_to_move
from streaming.core.state.queue_state import Queue

SETTLE_LIMIT = 3  # times grace: how long a queue may differ and still count as settling
UNCLAIMED_MS = 180_000  # each member is asked four times at least
MIN_UNEXPLAINED_REPORTS = 3  # reports in turn: changes that were still under way when counting began


class QueueEvidence:
    """One queue under judgement. ``owners``: by the newest reports; ``counting``: by those that count.

    A report counts that is recent, and came after the grace. ``stands_still``: messages wait, and some offset has not
    moved.
    """

    def __init__(self, topic: TopicEvidence, index: int) -> None:
        self.topic = topic
        self.is_heard = topic.is_heard
        self.index = index
        self.queue: Queue = topic.queue(index)
        self.owners = topic.owners(index)
        self.expected = None if topic.expected is None else topic.expected.get(index)
        self.is_doubtful = topic.is_doubtful(self.queue)
        settling_since_ts = self.queue.mismatch_since_ts
        self.is_lifted = settling_since_ts > 0 and self._is_longer_than_settling(settling_since_ts)
        self.stands_still = self.queue.stalled_ms > 0 or self.queue.unconsumed_since_ts > 0
        since = topic.recent_ts if self.is_lifted else topic.counts_from_ts
        all_count = topic.reports_as_of >= since and not topic.non_reporting
        self.counting = self.owners if all_count else topic.proven_owners(index, since)

    @property
    def found(self) -> Kind:
        return FINDING_CODES[self.queue.finding]

    @property
    def fired_stall(self) -> Alert | None:
        """The open alert that has fired because the queue stands still; None: there is none."""
        naming_it = self.topic.fired_alerts.get(self.index, ())
        return next((alert for alert in naming_it if Kind(alert.kind) in BY_OFFSETS), None)

    @property
    def was_in_route(self) -> bool:
        """True if the route before its last change had the queue, and it could be read."""
        return self.queue.queue_id < self.topic.readable_before.get(self.queue.broker, 0)

    @property
    def is_complete(self) -> bool:
        """True if every member has reported, recently and late enough to count, or the queue has settled too long.

        Where members change faster than they are asked, nobody can know the owners: a queue that moves stays SETTLING.
        """
        if self.topic.is_complete:
            return True
        if not (self.is_lifted and self.topic.is_fresh):
            return False
        # no report has named an owner for so long that the queue does not just change hands each time
        is_long_unclaimed = 0 < self.queue.unclaimed_since_ts < self.topic.now - UNCLAIMED_MS
        return is_long_unclaimed or not is_seen_to_move(self.topic.group, self.queue)

    @property
    def looks_right(self) -> bool:
        """True if the newest reports, counting or not, show the expected owner, or one owner if that is not known.

        Broadcasting: whether every member that says what it owns owns the queue.
        """
        if self.topic.broadcasts:
            return is_owned_by_all(self.topic.listed, self.owners)
        return len(self.owners) == 1 and (self.expected is None or self.owners == self.expected)

    @property
    def repeated(self) -> list[int]:
        """Owners whose reports count, or who repeat them whatever else changes; none unless there are two or more."""
        if len(self.owners) < 2:
            return []
        since = self.topic.recent_ts if self.says_twice_for_long else self.topic.counts_from_ts
        return self.topic.proven_owners(self.index, since)

    @property
    def may_follow_a_newer_route(self) -> bool:
        """True if members may know a newer route than the events: a name server keeps an old one for up to 120 s."""
        queue, now, timing = self.queue, self.topic.now, self.topic.timing
        if self.found is Kind.ORPHANED and queue.stalled_ms >= timing.stall_ms:
            return False  # it was STALLED for as long
        unhealthy_since_ts = queue.since_ts if self.found is Kind.STALLED else queue.unhealthy_since_ts or now
        return now - unhealthy_since_ts < timing.grace_broker_ms and self.topic.follows_another_route

    def _is_longer_than_settling(self, since_ts: int) -> bool:
        longest_ms = self.topic.timing.settle_limit * self.topic.grace.longest_since(since_ts)
        return self.topic.now - since_ts > longest_ms

    @property
    def may_be_behind(self) -> bool:
        """True if a route that had the queue may be back, while the name servers that are asked lag behind.

        A client took the queue long after it had left the route. A client with an old route would never have released
        it.
        """
        grace_ms, since_ts = self.topic.timing.grace_broker_ms, self.queue.mismatch_since_ts
        is_taken_again = self.was_in_route and since_ts > self.topic.route_changed_ts + grace_ms
        return is_taken_again and self.topic.now - since_ts < grace_ms

    @property
    def says_twice_for_long(self) -> bool:
        """True if two or more clients report it in turn, more often than changes of members or routes can explain.

        Each does so in its newest report, and for longer than a queue may settle. So it did not change hands each time.
        """
        since_ts = self.queue.two_owners_since_ts
        if not since_ts:
            return False
        return self._is_longer_than_settling(since_ts) and self.queue.unexplained_reports >= MIN_UNEXPLAINED_REPORTS
