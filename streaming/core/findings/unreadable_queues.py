"""Messages that wait in queues that no client can read: by the route as it is, or because the queue has left it."""

from collections.abc import Iterator

from schemas.facts import Cause, Kind
from schemas.observed import QueueName, Unreadable, UnreadableQueues, counted
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.queue_facts import QueueSince, Since
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group_state import PERM_WRITE, HostedQueues, Topic
from streaming.core.state.queue_state import Queue
from streaming.core.state.routes import is_known

CAUSES = (Cause.NO_READ_PERM, Cause.READ_LT_WRITE, Cause.LEFT_ROUTE)  # the first is named as the alert's


def unreadable_queues(evidence: GroupEvidence, since: Since) -> Iterator[GroupFinding]:
    """No read permission, fewer read than write queues, or queues that left the route with messages in them."""
    state = evidence.group.state
    if not evidence.members and not evidence.uncovered and not evidence.has_left_lately:
        return  # there is nobody who would read them
    hosts = {(index, host.broker): host for index, topic in enumerate(state.topics) for host in topic.hosts}
    by_topic: dict[int, dict[Cause, list[int]]] = {}
    for index, queue in enumerate(state.queues):
        if queue.consumer_lag <= 0:
            continue
        cause = _why(evidence, queue, hosts.get((queue.topic, queue.broker)), since.get(index))
        if cause is not None:
            by_topic.setdefault(queue.topic, {}).setdefault(cause, []).append(index)
    for topic, by_cause in sorted(by_topic.items()):
        name = state.topics[topic].name
        if evidence.may_subscribe(name):
            causes = [cause for cause in CAUSES if cause in by_cause]
            observed = Unreadable(causes=tuple(_of_one_cause(evidence, cause, by_cause[cause]) for cause in causes))
            queues = sorted((i for those in by_cause.values() for i in those), key=evidence.group.message_queue)
            yield GroupFinding(Kind.UNREADABLE_QUEUES, name, observed, causes[0], tuple(queues))


def _why(evidence: GroupEvidence, queue: Queue, hosted: HostedQueues | None, since: QueueSince | None) -> Cause | None:
    """``hosted``: what the queue's broker has of its topic; None: nothing."""
    topic = evidence.group.topic_of(queue)
    if topic.is_static:
        return None
    if hosted is None or not hosted.has(queue.broker, queue.queue_id):
        return Cause.LEFT_ROUTE if since is not None and _is_left_with_messages(evidence, topic, queue, since) else None
    if not hosted.is_readable:
        return Cause.NO_READ_PERM
    return Cause.READ_LT_WRITE if queue.queue_id >= hosted.read else None


def _is_left_with_messages(evidence: GroupEvidence, topic: Topic, queue: Queue, since: QueueSince) -> bool:
    """True if it left the route lately, and messages are known to be left in it: told once, for an hour.

    What was in the queue when it left may have been consumed just before. So its offsets must have been read since
    then, of a broker that still answers: one that is down takes its queues out of the route too, and brings them back.
    If producers were kept from the broker before it left (``wipeWritePerm``), it was taken out on purpose, and its last
    offsets say what remained.
    """
    state, timing = evidence.group.state, evidence.group.timing
    broker = evidence.group.broker_of(queue)
    is_lately = since.has_left_route and state.now - since.since_ts <= timing.gone_after_ms
    if not is_lately or not topic.hosts or not is_known(state, topic, timing):
        return False
    if broker.lost_ts:
        return any(host.broker == queue.broker and not host.perm & PERM_WRITE for host in topic.previous_hosts)
    return broker.answered_ts > since.since_ts and queue.progress_ts > since.since_ts


def _of_one_cause(evidence: GroupEvidence, cause: Cause, indices: list[int]) -> UnreadableQueues:
    queues = evidence.group.queues_at(indices)
    return UnreadableQueues(
        cause,
        tuple(QueueName(one.broker_name, one.queue_id) for one in sorted(map(evidence.group.message_queue, indices))),
        waiting=counted(sum(queue.consumer_lag for queue in queues)),
        read_ts=min(queue.progress_ts for queue in queues),
        at_least=any(queue.counted_since_ts for queue in queues),
    )
