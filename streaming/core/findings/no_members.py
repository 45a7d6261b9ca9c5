"""NO_MEMBERS: no broker lists a member of a group that had some, and messages wait."""

from collections.abc import Iterator

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from schemas.observed import NoMemberListed, counted
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.members import away_before_ms, indices_of, missed_since_ts


def no_members(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Every broker answered, and none lists a member, though there were some, they are missed, and messages wait.

    What waits in topics that the group gave up before does not count. If offsets move all the same, somebody consumes
    whom brokers do not list: clients of a proxy in cluster mode.
    """
    state = evidence.group.state
    if evidence.members or evidence.uncovered or not state.brokers or _is_consumed(evidence):
        return
    queues = evidence.group.subscribed_queues()
    known = [queue for queue in queues if queue.progress_ts]
    waiting = sum(queue.consumer_lag for queue in known if queue.consumer_lag > 0)
    is_missed = evidence.has_left_lately and evidence.now >= missed_since_ts(evidence.group)
    if evidence.group.rule.always_on or (waiting and is_missed):
        left = {change.client_id for change in state.membership_changes if not change.joined}
        # a retry topic may have no offsets, if no message was ever retried
        without_offsets = (evidence.group.topic_of(queue).name for queue in queues if not queue.progress_ts)
        at_least = bool(known) and not all(map(is_retry_topic, without_offsets))
        allowed_ms = evidence.group.rule.may_be_empty_ms or None
        observed = NoMemberListed(
            waiting=counted(waiting) if known else None,
            at_least=at_least,
            away_before_ms=None if allowed_ms else away_before_ms(evidence.group) or None,
            allowed_ms=allowed_ms,
        )
        yield GroupFinding(Kind.NO_MEMBERS, "", observed, clients=indices_of(evidence.group, left))


def _is_consumed(evidence: GroupEvidence) -> bool:
    consumed_ts = evidence.group.state.consumed_unlisted_ts
    return consumed_ts > 0 and evidence.now - consumed_ts <= evidence.group.timing.progress_max_gap_ms
