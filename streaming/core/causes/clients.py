"""CLIENT_STALLED, RESTART_LOOP, LOCK_STUCK and MEMBER_GONE: what single clients do, or no longer do."""

from schemas.facts import Cause
from schemas.observed import ClientsComeAndGo, ClientsStuck, MemberGone, NotAnswering, NotLocked, OwnersDoNotReport
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.evidence.topic_evidence import TopicEvidence

NAMES_AT_MOST = 3


def restart_loop(topic: TopicEvidence, found: Found) -> Explanation | None:
    """All who should consume the queue are started again and again, and have consumed nothing of it meanwhile."""
    restarting = topic.of_group.restarting
    if not restarting:
        return None
    supposed = {q: set(topic.owners(q) or _expected(topic, q) or topic.members) for q in found.queues}
    explained = {q for q, those in supposed.items() if those and those <= restarting.keys()}
    clients = {index for q in explained for index in supposed[q]}
    names = sorted({restarting[index].who for index in clients})
    since_ts = min((restarting[index].since_ts for index in clients), default=topic.now)
    observed = ClientsComeAndGo(names=tuple(names[:NAMES_AT_MOST]), changes=None, within_ms=topic.now - since_ts)
    return explanation(Cause.RESTART_LOOP, explained, observed, clients)


def client_silent(topic: TopicEvidence, found: Found) -> Explanation | None:
    """The owner has answered before, is still listed, and has not answered for as long as a stall takes.

    Not if its id is listed twice: brokers then may forward the request to a dead connection, which says nothing of it.
    """
    latest = topic.now - topic.timing.stall_ms
    silent = {member.index for member in topic.listed.unanswered if 0 < _answered_ts(member) <= latest}
    explained = {q for q in found.queues if silent & set(topic.owners(q))}
    if not explained:
        return None
    owners = {index for q in explained for index in topic.owners(q)} & silent
    since = min(_answered_ts(topic.members[index]) for index in owners)
    observed = NotAnswering(clients=topic.clients(owners), silent_ms=topic.now - since)
    predicted = (q for q in topic.queues if len(having := set(topic.owners(q))) > 0 and having <= owners)
    return explanation(Cause.CLIENT_STALLED, explained, observed, owners, predicted)


def _answered_ts(member: MemberEvidence) -> int:
    return max((report.answered_ts for report in member.reports), default=0)


def client_stuck(topic: TopicEvidence, found: Found) -> Explanation | None:
    """The owner answers, and all of its queues stand still while others move."""
    at_work = {member for member, _ in topic.at_work}
    return _stuck(topic, {q: _owners_while_still(topic, q) - at_work for q in found.queues})


def cut_off_from_broker(topic: TopicEvidence, found: Found) -> Explanation | None:
    """All of the owner's queues on one broker stand still, while its others move."""
    brokers = {q: topic.queue(q).broker for q in found.queues}
    idle = {q: {m for m in _owners_while_still(topic, q) if (m, brokers[q]) not in topic.at_work} for q in brokers}
    return _stuck(topic, idle, _brokers_of(topic, idle))


def _brokers_of(topic: TopicEvidence, idle: dict[int, set[int]]) -> tuple[str, ...]:
    return tuple(sorted({topic.broker_name(topic.queue(q).broker) for q, owners in idle.items() if owners}))


def _owners_while_still(topic: TopicEvidence, queue: int) -> set[int]:
    """Its owners, but for those that may have released it before it began to stand still.

    They have not reported since the last change, and it began to stand still after that.
    """
    still_since_ts = topic.queue(queue).progress_ts - max(0, topic.queue(queue).stalled_ms)
    since = 0 if topic.grace.change_ts > still_since_ts else topic.grace.change_ts + 1
    return set(topic.owners(queue, since))


def _stuck(topic: TopicEvidence, idle: dict[int, set[int]], broker_names: tuple[str, ...] = ()) -> Explanation:
    """``idle``: of each queue the owners that do nothing."""
    explained = {queue for queue, owners in idle.items() if owners}
    stuck = {index for owners in idle.values() for index in owners}
    observed = ClientsStuck(clients=topic.clients(stuck), broker_names=broker_names)
    return explanation(Cause.CLIENT_STALLED, explained, observed, stuck)


def expected_owner_cut_off(topic: TopicEvidence, found: Found) -> Explanation:
    """The member that should own the queue pulls from none of its queues on the same broker, though messages wait.

    Where a member cannot reach a broker it takes over no further queue there: it cannot ask for the group's offset
    (RebalancePushImpl.computePullFromWhereWithException).
    """
    nothing = topic.pulls_nothing
    idle = {q: {one for one in _expected(topic, q) if (one, topic.queue(q).broker) in nothing} for q in found.queues}
    at_work = {member for member, _ in topic.at_work}
    is_one_broker = all(owners & at_work for owners in idle.values() if owners)
    return _stuck(topic, idle, _brokers_of(topic, idle) if is_one_broker else ())


def _expected(topic: TopicEvidence, queue: int) -> list[int]:
    return [] if topic.expected is None else topic.expected.get(queue, [])


def owner_does_not_report(topic: TopicEvidence, found: Found) -> Explanation | None:
    """No client reports to own the queue, and the member that should own it pulls actively and reports no queues."""
    owners = topic.left_to_non_reporting(found.queues, excluded=False)
    named = {index for indices in owners.values() for index in indices}
    return explanation(Cause.CLIENT_STALLED, owners, OwnersDoNotReport(clients=topic.clients(named)), named)


def lock_stuck(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Orderly: the member that should own the queue could not lock it at the broker."""
    expected = topic.expected
    if not topic.of_group.orderly or expected is None:
        return None
    explained = {q for q in found.queues if set(expected.get(q, ())) - set(topic.owners(q))}
    owners = {index for q in explained for index in expected[q]}
    return explanation(Cause.LOCK_STUCK, explained, NotLocked(clients=topic.clients(owners)), owners)


def member_gone(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Its last owner has left the list, and the member that should take it over has not, nor any queue like it."""
    gone = topic.of_group.left_lately - topic.members.keys()
    left = {q for q in topic.queues if gone & set(topic.queue(q).last_stable_owners)}
    explained = found.queues & left
    owners = gone & {index for q in explained for index in topic.queue(q).last_stable_owners}
    take_over = {index for q in left for index in topic.owners(q)}
    predicted = {q for q in left if (heirs := set(_expected(topic, q))) and not heirs & take_over}
    return explanation(Cause.MEMBER_GONE, explained, MemberGone(clients=topic.clients(owners)), owners, predicted)
