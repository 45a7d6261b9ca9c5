"""One queue as its rules see it: who reports to own it, who should own it, and which reports count."""

from schemas.facts import Kind
from streaming.core.evidence.broadcasting import is_owned_by_all
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS
from streaming.core.state.group_state import FINDING_CODES, Alert
from streaming.core.state.offsets import is_seen_to_move
from streaming.core.state.views import QueueView

SETTLE_LIMIT = 3  # times grace: how long a queue may differ and still count as settling
UNCLAIMED_MS = 180_000  # each member is asked four times at least
MIN_UNEXPLAINED_REPORTS = 3  # reports in turn: changes that were still under way when counting began


class QueueEvidence:
    """One queue under judgement. ``owners``: by the newest reports; ``counting``: by those that count.

    A report counts that is recent, and came after the grace. ``stands_still``: messages wait, and some offset has not
    moved.
    """

    __slots__ = (
        "counting",
        "expected",
        "index",
        "is_doubtful",
        "is_lifted",
        "owners",
        "queue",
        "stands_still",
        "topic",
    )

    def __init__(self, topic: TopicEvidence, index: int) -> None:
        self.topic = topic
        self.index = index
        self.queue: QueueView = topic.queue(index)
        self.owners = topic.owners(index)
        self.expected = None if topic.expected is None else topic.expected.get(index)
        self.is_doubtful = topic.is_doubtful(self.queue)
        self.is_lifted = self._has_settled_too_long()
        self.stands_still = self.queue.stalled_ms > 0 or self.queue.unconsumed_since_ts > 0
        since = topic.recent_ts if self.is_lifted else topic.counts_from_ts
        all_count = topic.reports_as_of >= since and not topic.non_reporting
        self.counting = self.owners if all_count else topic.proven_owners(index, since)

    @property
    def found(self) -> Kind:
        """The kind that was found last."""
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
        return self._is_long_unclaimed or not is_seen_to_move(self.topic.group, self.queue)

    @property
    def _is_long_unclaimed(self) -> bool:
        """True if no report has named an owner for so long that the queue does not just change hands each time."""
        since_ts = self.queue.unclaimed_since_ts
        return since_ts > 0 and self.topic.now - since_ts > UNCLAIMED_MS

    @property
    def looks_right(self) -> bool:
        """True if the newest reports, counting or not, show the expected owner, or one owner if that is not known.

        Broadcasting: whether every member that says what it owns owns the queue.
        """
        if self.topic.broadcasts:
            return is_owned_by_all(self.topic.listed, self.owners)
        return len(self.owners) == 1 and (self.expected is None or self.owners == self.expected)

    @property
    def is_heard(self) -> bool:
        """True if all evidence about owners is there."""
        return self.topic.is_heard

    @property
    def is_reported_since_change(self) -> bool:
        """True if every member has reported since the last change, or the queue has settled for too long."""
        return self.topic.is_since_change or (self.is_lifted and self.topic.is_fresh)

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

    def _has_settled_too_long(self) -> bool:
        since_ts = self.queue.mismatch_since_ts
        return since_ts > 0 and self.topic.now - since_ts > self._longest_settling_ms(since_ts)

    def _longest_settling_ms(self, since_ts: int) -> int:
        return self.topic.timing.settle_limit * self.topic.grace.longest_since(since_ts)

    @property
    def says_twice_for_long(self) -> bool:
        """True if two or more clients report it in turn, more often than changes of members or routes can explain.

        Each does so in its newest report, and for longer than a queue may settle. So it did not change hands each time.
        """
        since_ts = self.queue.two_owners_since_ts
        if not since_ts:
            return False
        is_long = self.topic.now - since_ts > self._longest_settling_ms(since_ts)
        return is_long and self.queue.unexplained_reports >= MIN_UNEXPLAINED_REPORTS
