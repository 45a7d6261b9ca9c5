"""The evidence of a queue whose consumers own none: they poll brokers for messages.

Proxies do so for gRPC clients, at any queue of a broker. Remoting clients that pop do so themselves, at any queue or at
single ones (``allocate4Pop``).

Signs of a client are a poll that waits at the broker, and an offset there that has moved: a message was taken. Neither
need be seen of a client that is busy with what it has taken. So it is proven only of some queues that nobody polls:
the last sign was a poll that waited, so its client was free; or nothing was ever taken there. It is probable, and needs
a longer silence, if clients take messages at other brokers all the while (a client that is full of those of one broker
may do so, too); or if the last sign came before a proxy stopped answering. A SimpleConsumer polls one broker of one
topic after the other, and only while its application calls receive(): its silence proves nothing.

Of FIFO groups an offset moves only when messages are acknowledged, and no other message of a queue is handed out before
(``ConsumerOrderInfoManager.checkBlock``). So where a poll waits although messages do, the first of them was handed out.

A remoting client that pops stops only at the places where it has many messages in hand (``popThresholdForQueue``). So
that messages are taken elsewhere does not show that it is alive and free. Those who poll a single queue may all have
crashed while clients at other queues are alive.
"""

from collections.abc import Iterable, Set
from typing import NamedTuple

from msgspec import Struct

from schemas.events import ANY_QUEUE
from schemas.facts import Kind, Severity
from schemas.identity import proxy_address
from schemas.observed import BlockedQueue, HeadBlocked, counted
from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.evidence.exclusions import PULLS
from streaming.core.evidence.stalls import is_not_consumed, is_overdue, is_to_be_consumed
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import HOLD_NO_MEMBERS_MS
from streaming.core.state.group_state import FINDING_CODES, SEVERITY_CODES, Polls
from streaming.core.state.offsets import unconsumed_ms
from streaming.core.state.queue_state import Queue

LONGEST_POLL_MS = 20_000  # ProxyConfig.grpcClientConsumerMaxLongPollingTimeoutMillis; of remoting clients 15 s
COUNTED_AFTER_MS = 30_000  # for so long a poll of a client that is gone may be seen: the longest poll, read late
LISTED_AFTER_MS = 130_000  # a proxy lists a client that was killed: channelExpiredTimeout, and a scan every 10 s
# How soon clients poll again when their proxy is back, by their SDK (docs/clients.md), and a reading more
COME_BACK_SOON_MS = 60_000
COME_BACK_MS = 330_000
COME_BACK_LATE_MS = 630_000  # Python, and SDKs that are not known
BACK_IN_SECONDS = frozenset({"JAVA", "CPP", "HTTP"})  # a proxy shows Node.js as HTTP
BACK_IN_MINUTES = BACK_IN_SECONDS | {"GO", "RUST", "DOTNET"}  # that of C# never is


class ProxyAway(NamedTuple):
    """A proxy, in local mode its broker, that gives no list, or gave none the last time.

    ``back_ts`` 0: it still gives none.
    ``wait_until_ts``: by then every client that comes back by itself polls again.
    ``lacks_members``: since it came back it does not list members that another one lists, so it was restarted.
    """

    name: str
    since_ts: int
    back_ts: int
    wait_until_ts: int
    lacks_members: bool = False


class PolledQueue(Struct, frozen=True, kw_only=True, gc=False):
    """A queue as its rules read it: a flat record of plain values."""

    is_consume_enabled: bool  # by the subscription group
    is_broker_covered: bool
    is_popped_in_part: bool  # only some of the topic's brokers hand out its messages by POP
    uncovered: tuple[str, ...]  # brokers of its topic that have given no list of members for long
    is_known: bool  # its broker has said lately how many polls wait there
    is_seen: bool  # a sign of a client was seen there lately
    was_seen: bool  # or a while ago; of a SimpleConsumer at any broker
    waiting: int  # messages that no client has taken
    stands_still: bool  # there are some, and the offset has not moved between two readings
    is_to_be_consumed: bool  # its offsets can show whether the group consumes it
    silent_ms: int  # for how long messages had waited without a sign of a client, at the last reading
    is_missed: bool  # a client that is not on its way would have been seen
    is_overdue: bool  # messages have waited for ten minutes
    enough_ms: int  # of silence: a client that is alive would have been seen
    is_closed: bool  # the broker lets nobody of the group consume
    was_free: bool  # by the last sign no client there was busy
    is_in_no_report: bool  # every member has said what it pops, and none pops the queue
    is_taken_elsewhere: bool  # messages were taken at other brokers all the while
    is_alive_elsewhere: bool  # a client was seen at another broker after one that is alive would have been seen here
    is_orderly: bool
    head_blocked: HeadBlocked | None  # messages wait behind one that is not acknowledged; None: that is not proven
    is_blocked_for_long: bool  # for clearly longer than a message takes
    pulls: bool  # by a SimpleConsumer
    is_silent_since_proxy: bool  # the last sign came before a proxy stopped answering
    last_change: Reason | None  # of members or routes, while clients may not have followed it; None: they have
    proxy_away: Reason | None  # a proxy was away, and clients may be on their way back; None: none is


def polled_queue(topic: TopicEvidence, index: int) -> PolledQueue:
    queue, timing = topic.queue(index), topic.timing
    polls, pulls = _polls_of(topic, queue), topic.of_group.consumes == PULLS
    seen_ts, silent_ts = _seen_ts(polls), _silent_ts(topic, queue, polls)
    is_at_any = polls.queue_id == ANY_QUEUE
    elsewhere = [one for one in topic.topic.polls if one.broker != queue.broker] if is_at_any else []
    elsewhere_ts, is_alive_elsewhere = max(map(_seen_ts, elsewhere), default=0), bool(seen_elsewhere(topic, queue))
    taken_ts = max((one.moved_ts for one in elsewhere), default=0) if _is_by_proxy(topic) else 0
    is_in_no_report = not is_at_any and topic.popped is not None and index not in topic.popped
    was_free = 0 < polls.polled_ts >= polls.moved_ts or _is_untouched(topic, queue, polls)
    blocked = _head_blocked(topic, queue, polls)
    is_free = (was_free or is_in_no_report) and not topic.of_group.orderly
    silent_ms = max(0, polls.read_ts - silent_ts) if silent_ts else 0
    return PolledQueue(
        is_consume_enabled=topic.of_group.consume_enable is not False,
        is_broker_covered=queue.broker not in topic.uncovered,
        is_popped_in_part=topic.name in topic.group.state.popped_in_part and not _is_by_proxy(topic),
        uncovered=tuple(map(topic.broker_name, topic.uncovered)),
        is_known=topic.now - polls.read_ts <= timing.progress_max_gap_ms,
        is_seen=polls.read_ts - seen_ts < timing.stall_ms,
        was_seen=polls.read_ts - max(seen_ts, elsewhere_ts if pulls else 0) <= timing.progress_max_gap_ms,
        waiting=max(0, queue.pull_lag),
        stands_still=queue.unconsumed_since_ts > 0 and queue.pull_lag > 0,
        is_to_be_consumed=is_to_be_consumed(topic.of_group, queue),
        silent_ms=silent_ms,
        is_missed=silent_ms >= max(timing.stall_ms, _usual_ms(queue)),
        is_overdue=is_overdue(topic.of_group, queue),
        enough_ms=_enough_ms(topic, queue, polls, is_free, is_alive_elsewhere or is_in_no_report),
        is_closed=polls.is_closed,
        was_free=was_free,
        is_in_no_report=is_in_no_report,
        is_taken_elsewhere=taken_ts - silent_ts >= timing.consume_stall_ms - timing.stall_ms,
        is_alive_elsewhere=is_alive_elsewhere,
        is_orderly=topic.of_group.orderly,
        head_blocked=blocked,
        is_blocked_for_long=blocked is not None and _is_blocked_for_long(topic, queue),
        pulls=pulls,
        is_silent_since_proxy=bool(silent_since_proxies(topic, queue)),
        last_change=topic.why_settling if topic.now < topic.grace.ready_ts else None,
        proxy_away=_waits_for(topic, queue.broker),
    )


def _polls_of(topic: TopicEvidence, queue: Queue) -> Polls:
    """The polls that would take messages of the queue. Both kinds count while clients change from one to the other."""
    at_any = topic.polls.get((queue.broker, ANY_QUEUE))
    at_queue = topic.polls.get((queue.broker, queue.queue_id))
    if at_queue is None or at_any is None:
        return at_queue or at_any or Polls(queue.broker)
    newer, older = sorted((at_queue, at_any), key=lambda polls: -polls.read_ts)
    if newer.read_ts - older.read_ts > topic.timing.progress_max_gap_ms:
        return newer
    return Polls(
        queue.broker,
        newer.read_ts,
        at_queue.waiting + at_any.waiting,
        max(at_queue.polled_ts, at_any.polled_ts),
        max(at_queue.moved_ts, at_any.moved_ts),
        queue_id=queue.queue_id,
        is_closed=newer.is_closed,
    )


def _is_by_proxy(topic: TopicEvidence) -> bool:
    return topic.of_group.exclusion is ReasonKind.PROXY_CLIENT


def _head_blocked(topic: TopicEvidence, queue: Queue, polls: Polls) -> HeadBlocked | None:
    """None if it is not proven, or if no message waits behind the first one, unless that has taken ten minutes.

    A poll must have waited lately, after the offset had stopped. What was found goes on though members change.
    Remoting clients pop in no order.
    """
    behind = queue.consumer_lag - 1
    is_polled = polls.read_ts - polls.polled_ts < topic.timing.stall_ms and polls.polled_ts > queue.unconsumed_since_ts
    is_fifo = topic.of_group.orderly and _is_by_proxy(topic)
    if not is_fifo or not queue.unconsumed_since_ts or not is_polled:
        return None
    if behind <= 0 and not is_overdue(topic.of_group, queue):
        return None
    was_blocked = FINDING_CODES[queue.finding] is Kind.HEAD_BLOCKED and is_to_be_consumed(topic.of_group, queue)
    if not was_blocked and not is_not_consumed(topic, queue, topic.timing.stall_ms):
        return None
    head = queue.broker_offset - queue.consumer_lag
    named = BlockedQueue(topic.broker_name(queue.broker), queue.queue_id, head, counted(behind))
    stands_ms = unconsumed_ms(queue)
    return HeadBlocked(queues=(named,), waiting=named.behind, stands_ms=stands_ms, polled_ts=polls.polled_ts)


def _is_blocked_for_long(topic: TopicEvidence, queue: Queue) -> bool:
    """A listener may work on one message for long, and a client that is gone may have had it for three minutes."""
    was_long = (FINDING_CODES[queue.finding], SEVERITY_CODES[queue.severity]) == (Kind.HEAD_BLOCKED, Severity.WARNING)
    is_long = is_not_consumed(topic, queue, topic.timing.consume_stall_ms)
    return was_long or is_long or is_overdue(topic.of_group, queue)


def are_polls_known(topic: TopicEvidence, queue: Queue) -> bool:
    """True if the queue's broker has said how many polls wait there, and not so long ago that it does not any more."""
    read_ts = _polls_of(topic, queue).read_ts
    return read_ts > 0 and topic.now - read_ts <= topic.timing.gone_after_ms


def seen_elsewhere(topic: TopicEvidence, queue: Queue) -> list[int]:
    """Brokers at which a client was seen after one that is alive would have been seen at the queue's own.

    Those who poll single queues are not the same clients. In local mode a poll at one broker says nothing of others.
    """
    polls = _polls_of(topic, queue)
    if polls.queue_id != ANY_QUEUE or _is_local(topic):
        return []
    alive_ts = _silent_ts(topic, queue, polls) + topic.timing.stall_ms + LONGEST_POLL_MS
    return [one.broker for one in topic.topic.polls if one.broker != queue.broker and _seen_ts(one) >= alive_ts]


def is_closed(topic: TopicEvidence, queue: Queue) -> bool:
    """True if the queue's broker lets nobody of the group consume."""
    return _polls_of(topic, queue).is_closed


def _seen_ts(polls: Polls) -> int:
    """When a sign of a client was last seen; 0: none was."""
    return max(polls.polled_ts, polls.moved_ts)


def _silent_ts(topic: TopicEvidence, queue: Queue, polls: Polls) -> int:
    """Since when messages have waited without a sign of a client; 0: they do not wait, or the topic has no member."""
    since_ts = topic.topic.has_members_since_ts
    if not queue.unconsumed_since_ts or not since_ts:
        return 0
    return max(_seen_ts(polls), queue.unconsumed_since_ts, since_ts)


def _enough_ms(topic: TopicEvidence, queue: Queue, polls: Polls, was_free: bool, lives_elsewhere: bool) -> int:
    """How long a client that is alive may not be seen: on its way to the broker, or busy with what it has taken.

    If none is seen anywhere they may have crashed, which is found when they are listed no more, or be on their way back
    to a proxy that was seen to answer all the time. Where the broker lets nobody consume none of this matters.
    """
    least_ms = topic.timing.stall_ms if was_free or polls.is_closed else topic.timing.consume_stall_ms
    if not polls.is_closed and not lives_elsewhere:
        least_ms = max(least_ms, LISTED_AFTER_MS + HOLD_NO_MEMBERS_MS, come_back_ms(topic.listed.by_language.keys()))
    return max(least_ms, _usual_ms(queue))


def _usual_ms(queue: Queue) -> int:
    """For how long nobody need be seen because the queue has stood still for nearly as long twice in the last hour."""
    return queue.longest_step_ms * 3 // 2


def _is_untouched(topic: TopicEvidence, polled: Queue, polls: Polls) -> bool:
    """True if the group has never taken a message where these polls take them: it has no offset there.

    With popConsumerKVServiceEnable the consumer offset is that of the last batch's begin, the pull offset of its end.
    """
    there = [queue for index in topic.queues if (queue := topic.queue(index)).broker == polled.broker]
    there = there if polls.queue_id == ANY_QUEUE else [polled]
    return all(queue.progress_ts and queue.broker_offset <= min(queue.consumer_lag, queue.pull_lag) for queue in there)


def come_back_ms(languages: Set[str]) -> int:
    """How long after a proxy was away clients of these SDKs may be on their way back to it."""
    if languages <= BACK_IN_SECONDS:
        return COME_BACK_SOON_MS
    return COME_BACK_MS if languages <= BACK_IN_MINUTES else COME_BACK_LATE_MS


def _is_local(topic: TopicEvidence) -> bool:
    """True if proxies run in brokers: then these list the clients."""
    return _is_by_proxy(topic) and any(one.listed for one in topic.group.state.brokers if not one.is_proxy)


def _proxies_away(topic: TopicEvidence, broker: int) -> list[ProxyAway]:
    """Those by which clients reach the broker. In local mode that is its own. Remoting clients need none."""
    if not _is_by_proxy(topic):
        return []
    wait_ms, brokers = come_back_ms(topic.listed.by_language.keys()), topic.group.state.brokers
    is_local = _is_local(topic)
    away = []
    for index, one in enumerate(brokers):
        if not one.is_proxy and not (is_local and index == broker):
            continue
        if one.lost_ts:
            away.append(ProxyAway(one.name, one.lost_ts, 0, one.lost_ts + wait_ms))
        elif one.back_ts:
            lacks_members = one.changed_ts >= one.back_ts and set(topic.listed.listed_by(index)) < set(topic.members)
            away.append(ProxyAway(one.name, one.gone_ts, one.back_ts, one.back_ts + wait_ms, lacks_members))
    return away


def _waits_for(topic: TopicEvidence, broker: int) -> Reason | None:
    away = [one for one in _proxies_away(topic, broker) if topic.now < one.wait_until_ts]
    if not away:
        return None
    details = ReasonDetails(
        broker_names=addresses(away),
        changed_ts=max(one.back_ts or one.since_ts for one in away),
        counts_from_ts=max(one.wait_until_ts for one in away),
    )
    return Reason(ReasonKind.PROXY_AWAY, details)


def silent_since_proxies(topic: TopicEvidence, queue: Queue) -> list[ProxyAway]:
    """Proxies that stopped answering just when the last sign of a client was seen at the queue's broker.

    A poll of a client that is gone is counted until its time is over. A proxy that gives no list for a few seconds may
    serve its clients all the while: it was slow, and was left in peace for a moment. It was not if it lacks some since.
    """
    seen_ts = _seen_ts(_polls_of(topic, queue))
    return [
        one
        for one in _proxies_away(topic, queue.broker)
        if one.since_ts - topic.timing.stall_ms <= seen_ts <= one.since_ts + COUNTED_AFTER_MS
        and (one.lacks_members or (one.back_ts or topic.now) - one.since_ts >= topic.timing.view_max_age_ms)
    ]


def addresses(away: Iterable[ProxyAway]) -> tuple[str, ...]:
    return tuple(sorted({proxy_address(one.name) for one in away}))
