"""Rebalances: from the change that set one off to the moment when every queue has its expected owner again."""

from collections import Counter

from schemas.facts import Kind, RebalanceFact
from schemas.identity import is_retry_topic
from streaming.core.comparison import TopicFindings
from streaming.core.evidence import BROADCASTING, GroupEvidence
from streaming.core.findings import Verdict
from streaming.core.group import Group
from streaming.core.kinds import RIGHT, WRONG_OWNERS
from streaming.core.queue import Queue
from streaming.core.state import Change, Episode

LONGEST_EPISODE_MS = 600_000
IN_REBALANCE = WRONG_OWNERS | {Kind.SETTLING}


def update_episode(group: Group, evidence: GroupEvidence, found: list[TopicFindings], before: int) -> None:
    """Begin, go on with, or end the group's rebalance. ``before``: the marker before this one.

    Who is listed at the first marker had joined before it, nobody knows when: that sets nothing off.
    Retry topics are left out: clients learn of a new one by their route poll only, and nothing waits for it.
    """
    state = group.state
    judged = [(f, v) for f in found if not f.evidence.is_retry for v in f.verdicts.values()]
    told = [(findings, verdict) for findings, verdict in judged if _is_told_of(findings, verdict)]
    verdicts = [verdict for _, verdict in told]
    if judged and not verdicts:
        state.episode = None  # nobody says who owns what, so nobody sees that it changes hands
        return
    changes = [change for change in state.changes if change.ts == state.now > state.began_ts]
    changed = [t for t in state.topics if before < t.changed_ts <= state.now and t.previous_hosts]
    routes = [topic.name for topic in changed if not is_retry_topic(topic.name)]
    unseen = state.at_rest and any(verdict.kind in IN_REBALANCE for verdict in verdicts)
    if state.episode is None and (changes or routes or unseen):
        state.episode = Episode(_trigger(changes, routes), state.now, state.now)
        state.at_rest = False
    calm = not changes and all(verdict.kind in RIGHT for verdict in verdicts)
    if state.episode is not None:
        _widen(state.episode, changes, routes)
        _count_harm(state.episode, evidence, told, state.now)
        if calm or state.now - state.episode.from_ts >= LONGEST_EPISODE_MS:
            _end(group, state.episode, converged=calm)
    if calm and state.episode is None:
        state.at_rest = True
        for queue in state.queues:
            queue.settled = queue.owners


def _is_told_of(findings: TopicFindings, verdict: Verdict) -> bool:
    """Whether members say who owns the queue, or may still do so. Where they do not, that nobody does is not seen."""
    if verdict.kind is not Kind.UNKNOWN:
        return True
    return not findings.evidence.mutes and findings.evidence.of_group.message_model is not None


NOT_SEEN = "not seen"


def _trigger(changes: list[Change], routes: list[str]) -> str:
    kinds = {change.joined for change in changes}
    if len(kinds) == 2:
        return "join and leave"
    if kinds:
        return "join" if True in kinds else "leave"
    return "route" if routes else NOT_SEEN


def _widen(episode: Episode, changes: list[Change], routes: list[str]) -> None:
    if episode.trigger == NOT_SEEN:  # owners may be seen to move one round before the list is seen to change
        episode.trigger = _trigger(changes, routes)
    for change in changes:
        names = episode.joined if change.joined else episode.left
        if change.client_id not in names:
            names.append(change.client_id)
    episode.topics.extend(topic for topic in routes if topic not in episode.topics)


def _count_harm(
    episode: Episode, evidence: GroupEvidence, judged: list[tuple[TopicFindings, Verdict]], now: int
) -> None:
    """Queue-milliseconds with two owners, or with none, by the newest reports of each moment.

    While some member has not said what it owns, it may own the queue that nobody names.
    """
    elapsed = now - episode.last_ts
    episode.last_ts = now
    if evidence.message_model == BROADCASTING:
        return
    for findings, verdict in judged:
        if verdict.kind in (Kind.EXCLUDED, Kind.NO_MEMBERS):
            continue
        if len(verdict.owners) > 1:
            episode.duplicated_ms += elapsed
        elif not verdict.owners and findings.evidence.reports_as_of:
            episode.orphaned_ms += elapsed


def _end(group: Group, episode: Episode, converged: bool) -> None:
    state = group.state
    state.episode = None
    judged = [(p, q) for p, q in enumerate(state.queues) if not is_retry_topic(state.topics[q.topic].name)]
    before = {place: queue.settled[0] for place, queue in judged if len(queue.settled) == 1}
    after = {place: queue.owners[0] for place, queue in judged if len(queue.owners) == 1}
    moved = [queue for queue, owner in before.items() if queue in after and after[queue] != owner]
    topics = {state.topics[state.queues[queue].topic].name for queue in moved}
    group.tell(
        RebalanceFact(
            trigger=episode.trigger,
            joined=tuple(sorted(episode.joined)),
            left=tuple(sorted(episode.left)),
            topics=tuple(sorted(topics.union(episode.topics))),
            from_ts=episode.from_ts,
            to_ts=state.now,
            converged=converged,
            queues_moved=len(moved),
            fewest_moves=_fewest_moves(state.queues, before, after),
            duplicated_ms=episode.duplicated_ms,
            orphaned_ms=episode.orphaned_ms,
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
