"""Whether a queue has stood still for long enough, and whether some client has messages of it in hand."""

from collections.abc import Iterable
from enum import Enum

from schemas.facts import Kind
from schemas.observed import Stall, counted
from streaming.core.evidence.exclusions import PULLS
from streaming.core.evidence.group_evidence import BROADCASTING
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS
from streaming.core.intake.consume_offsets import is_seen_lately
from streaming.core.state.group_state import FINDING_CODES
from streaming.core.state.views import QueueView

FEW = 100  # messages, of 1,000 that a client caches of a queue


class InHand(Enum):
    """Whether the queue's owner has messages of it that are pulled and not consumed."""

    SOME = "some"
    NOTHING = "nothing"
    NOT_KNOWN = "not known"


def is_not_pulled(topic: TopicEvidence, index: int) -> bool:
    """Messages wait to be pulled, and neither offset has moved for long enough, without a gap between readings.

    Members that do not report what they own pull when they like, and may keep their offsets elsewhere.
    """
    queue = topic.queue(index)
    enough_ms = topic.timing.stall_ms + _orderly_extra(topic, queue, queue.progress_ts - queue.stalled_ms)
    if queue.stalled_ms <= 0 or queue.pull_lag <= 0 or not _counts(topic, queue):
        return False
    if topic.is_left_to_non_reporting(index):
        if not topic.topic.is_committed:
            return False
        enough_ms = max(enough_ms, topic.timing.stall_non_reporting_ms)
    return min(queue.stalled_ms, _has_members_for_ms(topic, queue)) >= enough_ms


def is_not_consumed(topic: TopicEvidence, queue: QueueView) -> bool:
    """Messages wait, and the group's offset has not moved for longer than a batch takes.

    A batch that a rebalance interrupts begins again with another owner. So if anything has changed meanwhile, the time
    is half as long again. A client that pulls actively stores its offset when it likes, so its pull offset must stand
    still too.
    """
    if not queue.unconsumed_since_ts or queue.consumer_lag <= 0 or not _counts(topic, queue):
        return False
    enough_ms = topic.timing.consume_stall_ms
    if topic.of_group.consumes == PULLS and queue.stalled_ms < enough_ms:
        return False
    enough_ms += enough_ms // 2 if topic.change_ts > queue.unconsumed_since_ts else 0
    returned_ts = topic.broker(queue.broker).returned_ts
    stands_ms = queue.progress_ts - max(queue.unconsumed_since_ts, returned_ts)
    extra_ms = _orderly_extra(topic, queue, queue.unconsumed_since_ts)
    return min(stands_ms, _has_members_for_ms(topic, queue)) >= enough_ms + extra_ms


def _counts(topic: TopicEvidence, queue: QueueView) -> bool:
    """Whether the queue's offsets can show a stall of the group as it is now."""
    if topic.of_group.message_model in (None, BROADCASTING):
        return False  # broadcasting clients keep their offsets to themselves
    if not topic.of_group.may_subscribe(topic.topic.name):
        return False  # the offsets of a topic that the group no longer consumes never move
    is_seen = queue.broker not in topic.uncovered and is_seen_lately(topic.group, queue)
    return is_seen and not _may_wait_for_its_broker(topic, queue)


def _may_wait_for_its_broker(topic: TopicEvidence, queue: QueueView) -> bool:
    """Whether its broker was away so lately that members may not have reconnected to it."""
    returned_ts = topic.broker(queue.broker).returned_ts
    return returned_ts > 0 and queue.progress_ts - returned_ts < topic.timing.grace_broker_ms


def _has_members_for_ms(topic: TopicEvidence, queue: QueueView) -> int:
    return queue.progress_ts - topic.topic.has_members_since_ts if topic.topic.has_members_since_ts else 0


def _orderly_extra(topic: TopicEvidence, queue: QueueView, still_since_ts: int) -> int:
    """How much longer a queue of an orderly group may stand still: a new owner may wait for a dead client's lock.

    A queue that began to stand still when all changes were over has its owner as before, with the lock. What was found
    to stand still goes on to do so when a client leaves later.
    """
    is_settled = still_since_ts >= topic.shared_out_ts or FINDING_CODES[queue.finding] in BY_OFFSETS
    return 0 if is_settled or not topic.of_group.orderly else topic.timing.grace_orderly_extra_ms


def held_by(topic: TopicEvidence, index: int, owners: list[int]) -> InHand:
    """By the last report of each owner until it is too old; then by whether the owner still answers.

    One request that timed out says nothing. If no owner is known, a member that has never reported may have messages of
    the queue. A member that has only just joined counts only if no other member has reported either.
    """
    if not owners:
        joined_before = topic.now - topic.timing.report_max_age_ms
        non_reporting = [member for member in topic.members.values() if not member.reports or member.is_non_reporting]
        has_non_reporting = any(member.client.since_ts <= joined_before for member in non_reporting)
        nobody_speaks = len(non_reporting) == len(topic.members) > 0
        return InHand.NOT_KNOWN if has_non_reporting or nobody_speaks else InHand.NOTHING
    of_each = {_held_by_one(topic, index, topic.members[owner]) for owner in owners}
    return next(what for what in (InHand.SOME, InHand.NOT_KNOWN, InHand.NOTHING) if what in of_each)


def _held_by_one(topic: TopicEvidence, index: int, owner: MemberEvidence) -> InHand:
    oldest = topic.now - topic.timing.report_max_age_ms
    fresh = [report for report in owner.reports if report.answered_ts >= oldest]
    if not fresh:
        return InHand.NOTHING if owner.client.unanswered_since_ts else InHand.NOT_KNOWN
    if not any(index in report.busy for report in fresh):
        return InHand.NOTHING
    return InHand.NOTHING if _has_stopped(topic, topic.queue(index), owner) else InHand.SOME


def _has_stopped(topic: TopicEvidence, queue: QueueView, owner: MemberEvidence) -> bool:
    """Whether a client that did not answer two requests had room for more messages and still pulled none.

    Listeners and pulls have different threads: with a slow listener pulls go on until the cache is full
    (DefaultMQPushConsumer.pullThresholdForQueue, 1,000 messages).
    """
    answered_ts = max(report.answered_ts for report in owner.reports)
    is_silent = owner.client.unanswered_since_ts > 0 and topic.now - answered_ts >= topic.timing.unresponsive_client_ms
    is_told = topic.broker(queue.broker).reports_pull_offsets and has_room_for_more(topic, queue)
    return is_silent and is_told and queue.stalled_ms > 0 and queue.pull_lag > 0


def has_room_for_more(topic: TopicEvidence, queue: QueueView) -> bool:
    """Whether its owner would go on pulling, because it has few messages in hand by the broker's offsets."""
    return not topic.broker(queue.broker).reports_pull_offsets or queue.consumer_lag - queue.pull_lag < FEW


def are_all_pulled_consumed(topic: TopicEvidence, queue: QueueView) -> bool:
    """Whether no client can have messages in hand, by a broker that knows what was pulled."""
    return topic.broker(queue.broker).reports_pull_offsets and queue.pull_lag == queue.consumer_lag


def has_just_finished(topic: TopicEvidence, queue: QueueView) -> bool:
    """Whether the owner may have stored newer offsets than the ones that were read last."""
    if FINDING_CODES[queue.finding] is not Kind.SLOW_CONSUMER and are_all_pulled_consumed(topic, queue):
        return False
    return queue.progress_ts < queue.idle_since_ts + topic.timing.persist_offsets_ms


def stall_of(topic: TopicEvidence, queues: Iterable[int]) -> Stall:
    """How many messages wait in queues that stand still, and for how long the first has."""
    stalled = [topic.queue(index) for index in queues]
    return Stall(
        waiting=counted(sum(queue.pull_lag for queue in stalled)),
        stalled_ms=max(queue.stalled_ms for queue in stalled),
        by_pull_offset=all(topic.broker(queue.broker).reports_pull_offsets for queue in stalled),
    )
