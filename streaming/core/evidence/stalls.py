"""Stalls: how long a queue has stood still, and whether some client has messages of it in hand."""

from collections.abc import Iterable
from enum import Enum

from schemas.facts import Kind
from schemas.observed import Stall, counted
from schemas.reasons import ReasonKind
from streaming.core.evidence.exclusions import PULLS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS
from streaming.core.state.group_state import FINDING_CODES
from streaming.core.state.offsets import is_seen_lately, unconsumed_ms
from streaming.core.state.queue_state import Queue

STALL_MS = 60_000  # a takeover takes 20 s, a new subscription up to 23 s
CONSUME_STALL_MS = 300_000  # longer than a batch takes; consumers store their offset every 5 s
TOLD_AT_LATEST_MS = 600_000  # a queue in which messages wait and of which nothing is consumed
UNREAD_IS_HARM_MS = 180_000  # the same, of a queue that is proven to have no owner: a deploy is no excuse then
PERSIST_OFFSETS_MS = 5_000  # MQClientInstance, persistConsumerOffsetInterval


class InHand(Enum):
    """How many messages of the queue its owner has pulled and not consumed."""

    SOME = "some"
    NOTHING = "nothing"
    NOT_KNOWN = "not known"


# --- the ten minutes


def is_overdue(evidence: GroupEvidence, queue: Queue) -> bool:
    """Messages have waited for ten minutes, and the group's offset has not moved: this is told whatever else goes on.

    Other rules may tell sooner, or say more. They never delay this one.
    """
    return has_waited_too_long(evidence, queue) and not has_members_again(evidence, queue)


def has_waited_too_long(evidence: GroupEvidence, queue: Queue) -> bool:
    """True if the ten minutes are over."""
    if queue.consumer_lag <= 0 or evidence.consume_enable is False:
        return False
    is_long = unconsumed_ms(queue) > TOLD_AT_LATEST_MS
    return is_long and is_to_be_consumed(evidence, queue)


def is_harm(evidence: GroupEvidence, queue: Queue) -> bool:
    """True if messages have waited unread for three minutes, whatever a deploy intends."""
    is_long = queue.consumer_lag > 0 and unconsumed_ms(queue) >= UNREAD_IS_HARM_MS
    return is_long and is_to_be_consumed(evidence, queue)


def has_members_again(evidence: GroupEvidence, queue: Queue) -> bool:
    """True if people were called because nobody was there, and now somebody is, for no longer than a takeover takes."""
    timing, since_ts = evidence.group.timing, evidence.group.topic_of(queue).has_members_since_ts
    is_new = since_ts > 0 and evidence.now - since_ts < timing.grace_membership_ms + timing.stall_ms
    return is_new and evidence.is_called_empty


def is_to_be_consumed(evidence: GroupEvidence, queue: Queue) -> bool:
    """True if the queue's offsets can show whether the group consumes it, and it is to consume it.

    Broadcasting clients keep their offsets to themselves, and clients that pull actively may: then no offset of the
    topic ever moves. Of a topic that the group no longer subscribes to it never does, either. An offset of 0 may be
    none: a client that pulls actively commits nothing before it has got a message. Brokers leave some of what is in
    their revive logs (``intake.revivals``).
    """
    topic = evidence.group.topic_of(queue)
    if not evidence.shares_out or not evidence.may_subscribe(topic.name):
        return False
    if evidence.exclusion is ReasonKind.SYSTEM_GROUP:
        return False
    if evidence.consumes == PULLS and not (topic.is_committed and queue.broker_offset > queue.uncommitted_end):
        return False
    return is_seen_lately(evidence.group, queue)


# --- sooner


def is_not_pulled(topic: TopicEvidence, index: int) -> bool:
    """Messages wait to be pulled, and neither offset has moved for long enough, without a gap between readings."""
    queue = topic.queue(index)
    if queue.stalled_ms <= 0 or queue.pull_lag <= 0 or not _counts(topic, queue):
        return False
    enough_ms = topic.timing.stall_ms + _orderly_extra(topic, queue, queue.progress_ts - queue.stalled_ms)
    return min(queue.stalled_ms, _has_an_owner_for_ms(topic, queue)) >= enough_ms


def is_not_consumed(topic: TopicEvidence, queue: Queue, least_ms: int) -> bool:
    """Messages wait, and the group's offset has not moved for ``least_ms``, nor for clearly longer than lately.

    A batch that a rebalance interrupts begins again with another owner. So if anything has changed meanwhile, the time
    is half as long again. A client that pulls actively stores its offset when it likes, so its pull offset must stand
    still too.
    """
    if not queue.unconsumed_since_ts or queue.consumer_lag <= 0 or not _counts(topic, queue):
        return False
    enough_ms = max(least_ms, queue.longest_step_ms * 3 // 2)
    if topic.of_group.consumes == PULLS and queue.stalled_ms < enough_ms:
        return False
    enough_ms += enough_ms // 2 if topic.grace.change_ts > queue.unconsumed_since_ts else 0
    returned_ts = topic.broker(queue.broker).returned_ts
    stands_ms = queue.progress_ts - max(queue.unconsumed_since_ts, returned_ts)
    extra_ms = _orderly_extra(topic, queue, queue.unconsumed_since_ts)
    return min(stands_ms, _has_an_owner_for_ms(topic, queue)) >= enough_ms + extra_ms


def stands_longer_than_a_step(topic: TopicEvidence, index: int, are_owners_silent: bool) -> bool:
    """True if the group's offset stands for longer than its steps have taken lately, though messages may be in hand.

    Who does not answer any more has stopped, if the queue does not move either. Others may only have a long batch.
    Members that do not report what they own may keep their offsets elsewhere.
    """
    if topic.is_left_to_non_reporting(index) and not topic.topic.is_committed:
        return False
    least_ms = topic.timing.stall_ms if are_owners_silent else topic.timing.consume_stall_ms
    return is_not_consumed(topic, topic.queue(index), least_ms)


def _counts(topic: TopicEvidence, queue: Queue) -> bool:
    """True if the queue's offsets can show a stall of the group as it is now."""
    returned_ts = topic.broker(queue.broker).returned_ts
    may_reconnect = returned_ts > 0 and queue.progress_ts - returned_ts < topic.timing.grace_broker_ms
    return queue.broker not in topic.uncovered and not may_reconnect and is_to_be_consumed(topic.of_group, queue)


def _has_an_owner_for_ms(topic: TopicEvidence, queue: Queue) -> int:
    """For how long the present owner, or some member, may have been expected to consume the queue."""
    since_ts = topic.topic.has_members_since_ts
    return queue.progress_ts - max(since_ts, queue.owner_since_ts) if since_ts else 0


def _orderly_extra(topic: TopicEvidence, queue: Queue, still_since_ts: int) -> int:
    """How much longer a queue of an orderly group may stand still: a new owner may wait for a dead client's lock.

    A queue that began to stand still when all changes were over has its owner as before, with the lock. What was found
    to stand still goes on to do so when a client leaves later.
    """
    is_settled = still_since_ts >= topic.grace.shared_out_ts or FINDING_CODES[queue.finding] in BY_OFFSETS
    return 0 if is_settled or not topic.of_group.orderly else topic.timing.grace_orderly_extra_ms


# --- in hand


def held_by(topic: TopicEvidence, index: int, owners: list[int]) -> InHand:
    """By the last report of each owner, while the owner answers. Else by the broker, if it knows what was pulled.

    A member that does not report what it owns may pull when it likes.
    """
    if topic.is_left_to_non_reporting(index):
        return InHand.NOT_KNOWN
    reported = held_by_reports(topic, index, owners)
    return _held_by_pulls(topic, topic.queue(index)) if reported is InHand.NOT_KNOWN else reported


def held_by_reports(topic: TopicEvidence, index: int, owners: list[int]) -> InHand:
    """If no owner is known, a member that has never reported may have messages of the queue."""
    if owners:
        busy = [topic.of_group.busy(topic.members[owner]) for owner in owners]
        if any(one is not None and index in one for one in busy):
            return InHand.SOME
        return InHand.NOT_KNOWN if None in busy else InHand.NOTHING
    return InHand.NOT_KNOWN if topic.may_own_unsaid else InHand.NOTHING


def _held_by_pulls(topic: TopicEvidence, queue: Queue) -> InHand:
    """By a broker that knows what was pulled: all of it is consumed, or a client went on to pull without consuming.

    The second counts only if nothing has changed since: else others pulled it. What was pulled right before the group
    stopped may be in nobody's hand.
    """
    if not topic.broker(queue.broker).reports_pull_offsets:
        return InHand.NOT_KNOWN
    if queue.pull_lag == queue.consumer_lag:
        return InHand.NOTHING
    pulled_ts = queue.progress_ts - max(0, queue.stalled_ms)
    went_on_ms = pulled_ts - queue.unconsumed_since_ts if queue.unconsumed_since_ts else 0
    goes_on = went_on_ms >= topic.timing.stall_ms and topic.grace.change_ts < pulled_ts
    return InHand.SOME if goes_on else InHand.NOT_KNOWN


def has_just_finished(topic: TopicEvidence, queue: Queue) -> bool:
    """True if the owner may have stored newer offsets than the ones that were read last."""
    if FINDING_CODES[queue.finding] is not Kind.SLOW_CONSUMER and _held_by_pulls(topic, queue) is InHand.NOTHING:
        return False
    return queue.progress_ts < queue.idle_since_ts + PERSIST_OFFSETS_MS


def stall_of(topic: TopicEvidence, queues: Iterable[int]) -> Stall:
    """How many messages wait in queues that stand still, and for how long the first has."""
    stalled = [topic.queue(index) for index in queues]
    pulled = all(topic.broker(queue.broker).reports_pull_offsets for queue in stalled)
    return Stall(
        waiting=counted(sum(queue.pull_lag for queue in stalled)),
        # where it is not known since when nothing was pulled, by the group's offset
        stalled_ms=max(queue.stalled_ms if queue.stalled_ms > 0 else unconsumed_ms(queue) for queue in stalled),
        by_pull_offset=pulled and all(queue.stalled_ms > 0 for queue in stalled),
    )
