"""The alerts that the present evidence supports, with their queues, and whether they may fire yet."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from schemas.facts import Kind, Severity
from schemas.observed import Part
from streaming.core.alerts.deploy_wait import are_members_moving, is_rolling_deploy, waits_for_deploy
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.stalls import is_harm, is_not_pulled, is_overdue, stall_of
from streaming.core.finding_kinds import ALERTING, ALERTING_OF_QUEUES, BY_OFFSETS, fires_after_ms
from streaming.core.findings.group_findings import severity_of
from streaming.core.findings.polled import head_blocked_of, not_polled_of
from streaming.core.findings.queue_facts import QueueSince, Since
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group import Group
from streaming.core.state.members import expected_back_by, missed_since_ts

# Evidence of all queues of an alert, made from that of each.
OF_ALL_QUEUES: dict[Kind, Callable[[Iterable[Part | None]], Part]] = {
    Kind.UNPOLLED: not_polled_of,
    Kind.HEAD_BLOCKED: head_blocked_of,
}
_WORST_FIRST = tuple(Severity)
# Findings about members that a rolling deploy may bring about, and end.
COME_OF_DEPLOYS = frozenset({Kind.INCONSISTENT_SUBSCRIPTION, Kind.MEMBERS_SPLIT})


class AlertCandidate(Struct, frozen=True):
    """One alert as the present evidence supports it. ``has_held_long_enough``: to fire.

    ``holds_until_ts``: when it has, if it is still found then. ``is_overdue``: messages wait in one of its
    queues for so long that it fires whatever else goes on. ``waits_for_deploy``: it may be brought about by a rolling
    deploy that is under way; ``is_harm``: messages wait unread meanwhile in a queue that is proven to have no owner.
    ``of_finding`` shows the finding, ``of_cause`` the cause. ``clients`` are those that the cause names, ``since_ts``
    is since when the first of the queues has been so.
    """

    severity: Severity
    cause: str | None
    of_finding: Part | None
    of_cause: Part | None
    queues: tuple[int, ...]
    has_held_long_enough: bool
    holds_until_ts: int
    is_overdue: bool
    is_harm: bool
    waits_for_deploy: bool
    clients: tuple[int, ...]
    since_ts: int


def candidates_of_queues(
    group: Group, found: list[TopicFindings], since: Since
) -> dict[tuple[str, str], AlertCandidate]:
    candidates = {}
    for findings in found:
        by_kind: dict[Kind, list[int]] = {}
        for index, verdict in findings.verdicts.items():
            if verdict.kind in ALERTING_OF_QUEUES:
                by_kind.setdefault(verdict.kind, []).append(index)
        for kind, queues in by_kind.items():
            if findings.evidence.is_retry and all(queue.consumer_lag <= 0 for queue in group.queues_at(queues)):
                continue
            candidates[findings.evidence.name, kind.value] = _candidate(group, findings, kind, queues, since)
    return candidates


def _candidate(group: Group, findings: TopicFindings, kind: Kind, queues: list[int], since: Since) -> AlertCandidate:
    of_group, why = findings.evidence.of_group, findings.why.get(kind)
    cause = None if why is None else why.cause
    verdicts = [findings.verdicts[index] for index in queues]
    # a stall of queues that are left to these has waited for longer already than a deploy leaves a queue to nobody
    is_left_to_non_reporting = all(findings.evidence.is_left_to_non_reporting(index) for index in queues)
    may_wait = kind is not Kind.SLOW_CONSUMER and not is_left_to_non_reporting
    return AlertCandidate(
        severity=min((verdict.severity for verdict in verdicts), key=_WORST_FIRST.index),
        cause=None if cause is None else cause.value,
        of_finding=_of_finding(findings, kind, queues),
        of_cause=None if why is None else why.observed,
        queues=tuple(sorted(queues, key=group.message_queue)),
        has_held_long_enough=any(_has_held_long_enough(group, index, findings, since[index]) for index in queues),
        holds_until_ts=min(since[index].since_ts + _hold_ms(group, index, findings) for index in queues),
        is_harm=kind is Kind.ORPHANED and any(is_harm(of_group, queue) for queue in group.queues_at(queues)),
        is_overdue=kind is not Kind.MISPLACED and any(is_overdue(of_group, queue) for queue in group.queues_at(queues)),
        waits_for_deploy=may_wait and waits_for_deploy(of_group, cause),
        clients=() if why is None else tuple(sorted(why.clients)),
        since_ts=min(since[index].began_ts for index in queues),
    )


def _of_finding(findings: TopicFindings, kind: Kind, queues: list[int]) -> Part | None:
    """Evidence of the finding: how much waits in all of its queues, where they wait; else that of one of its queues."""
    if kind is Kind.STALLED:
        return stall_of(findings.evidence, queues)
    if kind in OF_ALL_QUEUES:
        return OF_ALL_QUEUES[kind](findings.verdicts[index].observed for index in queues)
    return next((v.observed for index in queues if (v := findings.verdicts[index]).observed is not None), None)


def _has_held_long_enough(group: Group, index: int, findings: TopicFindings, since: QueueSince) -> bool:
    """True if it has been found for long enough, and every client that it rests on has reported it again since.

    Clients are asked at different instants: a queue that moves between two of them looks lost, or owned twice, until
    the one asked first has been asked again. Where members change faster than that, a queue may move to and fro, and it
    must look owned twice for as long as a report may be old. A queue that nobody owns need not be said again to have no
    owner if its offsets stand still for as long as a stall takes.
    """
    verdict = findings.verdicts[index]
    if verdict.kind in BY_OFFSETS or (verdict.kind is Kind.ORPHANED and is_not_pulled(findings.evidence, index)):
        return True
    is_repeated = verdict.oldest_ts >= since.evidence_ts
    return is_repeated and group.state.now - since.since_ts >= _hold_ms(group, index, findings)


def _hold_ms(group: Group, index: int, findings: TopicFindings) -> int:
    verdict, timing = findings.verdicts[index], group.timing
    hold_ms = fires_after_ms(verdict.kind, verdict.severity, timing)
    if verdict.kind is Kind.DUPLICATED and verdict.oldest_ts < findings.evidence.grace.ready_ts:
        return max(hold_ms, timing.report_max_age_ms)
    return hold_ms


def _is_group_overdue(evidence: GroupEvidence) -> bool:
    """True if people have not been called yet for a queue that has stood still for ten minutes.

    Not before the group is due back, where it has no members for a while on purpose.
    """
    state, told = evidence.group.state, dict[int, int]()
    for alert in state.alerts:
        if Kind(alert.kind) in BY_OFFSETS:
            told |= dict.fromkeys(alert.queues, alert.fired_ts)
    told_ts = max((ended.ended_ts for ended in state.ended_alerts if ended.kind == Kind.NO_MEMBERS), default=0)
    is_new = any(
        is_overdue(evidence, queue) and max(told_ts, told.get(index, 0)) < queue.unconsumed_since_ts
        for index, queue in enumerate(state.queues)
    )
    is_away_on_purpose = missed_since_ts(evidence.group) > state.empty_since
    return is_new and (not is_away_on_purpose or evidence.now >= expected_back_by(evidence.group))


def _waits_for_deploy(evidence: GroupEvidence, kind: Kind) -> bool:
    if kind is Kind.MEMBERS_SPLIT and are_members_moving(evidence):
        return True
    return kind in COME_OF_DEPLOYS and is_rolling_deploy(evidence)


def candidates_of_group(
    group: Group, evidence: GroupEvidence, of_group: list[GroupFinding]
) -> dict[tuple[str, str], AlertCandidate]:
    candidates = {}
    for found in of_group:
        if found.kind not in ALERTING:
            continue
        severity = severity_of(evidence, found)
        hold_ms = fires_after_ms(found.kind, severity, group.timing)
        candidates[found.topic, found.kind.value] = AlertCandidate(
            severity=severity,
            cause=None if found.cause is None else found.cause.value,
            of_finding=found.observed if found.cause is None else None,
            of_cause=None if found.cause is None else found.observed,
            queues=found.queues,
            has_held_long_enough=group.state.now - found.since_ts >= hold_ms,
            holds_until_ts=found.since_ts + hold_ms,
            is_harm=False,
            is_overdue=found.kind is Kind.NO_MEMBERS and _is_group_overdue(evidence),
            waits_for_deploy=_waits_for_deploy(evidence, found.kind),
            clients=found.clients,
            since_ts=found.since_ts,
        )
    return candidates
