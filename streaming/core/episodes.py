"""Rebalances: from the change that set one off to the moment when every queue has its expected owner again."""

from collections import Counter

from schemas.facts import Kind, RebalanceFact
from streaming.core.comparison import TopicFindings
from streaming.core.evidence import BROADCASTING, GroupEvidence
from streaming.core.group import Group
from streaming.core.state import Change, Episode, Queue

LONGEST_EPISODE_MS = 600_000
CALM = frozenset({Kind.MATCH, Kind.EXCLUDED, Kind.NO_MEMBERS})


def update_episode(group: Group, evidence: GroupEvidence, found: list[TopicFindings], before: int) -> None:
    """Begin, go on with, or end the group's rebalance. ``before``: the marker before this one."""
    state = group.state
    changes = [change for change in state.changes if change.ts == state.now]
    routes = [topic.name for topic in state.topics if topic.changed_ts > before and topic.changed_ts <= state.now]
    if state.episode is None and not changes and not routes:
        return
    if state.episode is None:
        state.episode = Episode(_trigger(changes), state.now, state.now, owners_before=_owners(state.queues))
    _widen(state.episode, changes, routes)
    _count_harm(state.episode, evidence, found, state.now)
    overdue = state.now - state.episode.from_ts >= LONGEST_EPISODE_MS
    if not changes and _is_calm(found):
        _end(group, state.episode, converged=True)
    elif overdue:
        _end(group, state.episode, converged=False)


def _trigger(changes: list[Change]) -> str:
    if not changes:
        return "route"
    kinds = {change.joined for change in changes}
    return "join and leave" if len(kinds) == 2 else "join" if True in kinds else "leave"


def _owners(queues: list[Queue]) -> list[tuple[int, int]]:
    return [(place, queue.owners[0]) for place, queue in enumerate(queues) if len(queue.owners) == 1]


def _widen(episode: Episode, changes: list[Change], routes: list[str]) -> None:
    for change in changes:
        names = episode.joined if change.joined else episode.left
        if change.client_id not in names:
            names.append(change.client_id)
    episode.topics.extend(topic for topic in routes if topic not in episode.topics)


def _count_harm(episode: Episode, evidence: GroupEvidence, found: list[TopicFindings], now: int) -> None:
    """Queue-milliseconds with two owners, or with none, by the newest reports of each moment."""
    elapsed = now - episode.last_ts
    episode.last_ts = now
    if evidence.message_model == BROADCASTING or not elapsed:
        return
    for findings in found:
        for verdict in findings.verdicts.values():
            if verdict.kind in (Kind.EXCLUDED, Kind.NO_MEMBERS):
                continue
            if len(verdict.owners) > 1:
                episode.duplicated_ms += elapsed
            elif not verdict.owners:
                episode.orphaned_ms += elapsed


def _is_calm(found: list[TopicFindings]) -> bool:
    return all(verdict.kind in CALM for findings in found for verdict in findings.verdicts.values())


def _end(group: Group, episode: Episode, converged: bool) -> None:
    state = group.state
    state.episode = None
    after = dict(_owners(state.queues))
    moved = [queue for queue, owner in episode.owners_before if queue in after and after[queue] != owner]
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
            fewest_moves=_fewest_moves(state.queues, dict(episode.owners_before), after),
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
