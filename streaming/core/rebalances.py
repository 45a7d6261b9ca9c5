"""Rebalances: from the change that began one to the time when every queue has its expected owner again.

How many changes are a REBALANCE_STORM stands in ``findings/rebalance_storm``.
"""

from collections import Counter

from schemas.facts import Kind, RebalanceFact
from schemas.identity import is_retry_topic
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.finding_kinds import RIGHT, WRONG_OWNERS
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.verdict import Verdict
from streaming.core.state.group import Group
from streaming.core.state.group_state import MembershipChange, Rebalance
from streaming.core.state.queue_state import Queue

LONGEST_REBALANCE_MS = 600_000  # one that lasts longer ends as not converged
IN_REBALANCE = WRONG_OWNERS | {Kind.SETTLING}


def update_rebalance(group: Group, evidence: GroupEvidence, found: list[TopicFindings], before: int) -> None:
    """Begin, go on with, or end the group's rebalance. ``before``: the marker before this one.

    Members that are listed at the first marker had joined before it, so they begin no rebalance.
    Retry topics do not count: clients learn a new one only by their route poll, and no message waits for it.
    """
    state = group.state
    judged = [(f, v) for f in found if not f.evidence.is_retry for v in f.verdicts.values()]
    told = [(findings, verdict) for findings, verdict in judged if _is_told_of(findings, verdict)]
    verdicts = [verdict for _, verdict in told]
    if judged and not verdicts:
        state.rebalance = None  # no member reports who owns what, so a change of owner cannot be seen
        return
    changes = [change for change in state.membership_changes if change.ts == state.now > state.first_round_ts]
    changed = [t for t in state.topics if before < t.changed_ts <= state.now and t.previous_hosts]
    routes = [topic.name for topic in changed if not is_retry_topic(topic.name)]
    unseen = state.is_stable and any(verdict.kind in IN_REBALANCE for verdict in verdicts)
    if state.rebalance is None and (changes or routes or unseen):
        state.rebalance = Rebalance(_trigger(changes, routes), state.now, state.now)
        state.is_stable = False
    calm = not changes and all(verdict.kind in RIGHT for verdict in verdicts)
    if state.rebalance is not None:
        _widen(state.rebalance, changes, routes)
        _count_harm(state.rebalance, evidence, told, state.now)
        if calm or state.now - state.rebalance.from_ts >= LONGEST_REBALANCE_MS:
            _end(group, state.rebalance, converged=calm)
    if calm and state.rebalance is None:
        state.is_stable = True
        for queue in state.queues:
            queue.last_stable_owners = queue.owners


def _is_told_of(findings: TopicFindings, verdict: Verdict) -> bool:
    """True if members report the owner of the queue, or may still do so. Otherwise a lost owner cannot be seen."""
    if verdict.kind is not Kind.UNKNOWN:
        return True
    return not findings.evidence.non_reporting and findings.evidence.of_group.message_model is not None


NOT_SEEN = "not seen"


def _trigger(changes: list[MembershipChange], routes: list[str]) -> str:
    kinds = {change.joined for change in changes}
    if len(kinds) == 2:
        return "join and leave"
    if kinds:
        return "join" if True in kinds else "leave"
    return "route" if routes else NOT_SEEN


def _widen(rebalance: Rebalance, changes: list[MembershipChange], routes: list[str]) -> None:
    if rebalance.trigger == NOT_SEEN:  # a change of owner may be seen one round before the change of the list
        rebalance.trigger = _trigger(changes, routes)
    for change in changes:
        names = rebalance.joined if change.joined else rebalance.left
        if change.client_id not in names:
            names.append(change.client_id)
    rebalance.topics.extend(topic for topic in routes if topic not in rebalance.topics)


def _count_harm(
    rebalance: Rebalance, evidence: GroupEvidence, judged: list[tuple[TopicFindings, Verdict]], now: int
) -> None:
    """Queue-milliseconds with two owners, or with none, by the newest reports at each marker.

    While some member has not reported, it may own a queue that no other member reports.
    """
    elapsed = now - rebalance.last_ts
    rebalance.last_ts = now
    if evidence.broadcasts:
        return
    for findings, verdict in judged:
        if verdict.kind in (Kind.EXCLUDED, Kind.NO_MEMBERS) or findings.evidence.is_polled:
            continue
        if len(verdict.owners) > 1:
            rebalance.duplicated_ms += elapsed
        elif not verdict.owners and findings.evidence.reports_as_of:
            rebalance.orphaned_ms += elapsed


def _end(group: Group, rebalance: Rebalance, converged: bool) -> None:
    state = group.state
    state.rebalance = None
    judged = [(p, q) for p, q in enumerate(state.queues) if not is_retry_topic(group.topic_of(q).name)]
    before = {index: queue.last_stable_owners[0] for index, queue in judged if len(queue.last_stable_owners) == 1}
    after = {index: queue.owners[0] for index, queue in judged if len(queue.owners) == 1}
    moved = [queue for queue, owner in before.items() if queue in after and after[queue] != owner]
    topics = {group.topic_of(queue).name for queue in group.queues_at(moved)}
    group.emit(
        RebalanceFact(
            trigger=rebalance.trigger,
            joined=tuple(sorted(rebalance.joined)),
            left=tuple(sorted(rebalance.left)),
            topics=tuple(sorted(topics.union(rebalance.topics))),
            from_ts=rebalance.from_ts,
            to_ts=state.now,
            converged=converged,
            queues_moved=len(moved),
            fewest_moves=_fewest_moves(state.queues, before, after),
            duplicated_ms=rebalance.duplicated_ms,
            orphaned_ms=rebalance.orphaned_ms,
        )
    )


def _fewest_moves(queues: list[Queue], before: dict[int, int], after: dict[int, int]) -> int:
    """How many queues had to change owner, given how many each member ends up with, topic by topic.

    Members are interchangeable: the largest old share keeps as much as the largest new one allows.
    """
    fewest = 0
    stayed = [queue for queue in before if queue in after]
    remaining = set(after.values())
    for topic in {queues[queue].topic for queue in stayed}:
        of_topic = [queue for queue in stayed if queues[queue].topic == topic]
        old = Counter(before[queue] for queue in of_topic if before[queue] in remaining)
        new = Counter(after[queue] for queue in after if queues[queue].topic == topic)
        kept = sum(min(pair) for pair in zip(sorted(old.values()), sorted(new.values())[-len(old) :], strict=False))
        fewest += len(of_topic) - kept
    return fewest
