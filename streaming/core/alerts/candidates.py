"""What the present evidence says of alerts: which it supports, with which queues, and whether they may fire yet."""

from msgspec import Struct

from schemas.facts import Kind, Severity
from schemas.identity import is_retry_topic
from streaming.core.alerts.deploy_wait import is_rolling_deploy, waits_for_deploy
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.group_findings import GroupFinding, severity_of
from streaming.core.findings.kinds import ALERTING, ALERTING_OF_QUEUES, BY_OFFSETS, KINDS, fires_after_ms
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.intake.consume_offsets import how_it_waits
from streaming.core.state.group import Group


class AlertCandidate(Struct, frozen=True):
    """What the present evidence says of one alert. ``is_ripe``: it may fire; ``waits``: but for a deploy under way.

    ``clients`` are those that the cause names, ``since_ts`` is since when the first of the queues has been so.
    """

    severity: Severity
    cause: str | None
    evidence: str
    queues: tuple[int, ...]
    is_ripe: bool
    waits: bool
    clients: tuple[int, ...]
    since_ts: int


def candidates_of_queues(group: Group, found: list[TopicFindings]) -> dict[tuple[str, str], AlertCandidate]:
    candidates = {}
    for findings in found:
        by_kind: dict[Kind, list[int]] = {}
        for index, verdict in findings.verdicts.items():
            if verdict.kind in ALERTING_OF_QUEUES:
                by_kind.setdefault(verdict.kind, []).append(index)
        for kind, queues in by_kind.items():
            if is_retry_topic(findings.evidence.topic.name) and not _messages_wait(group, queues):
                continue
            candidates[findings.evidence.topic.name, kind.value] = _claim(group, findings, kind, queues)
    return candidates


def _messages_wait(group: Group, queues: list[int]) -> bool:
    return any(group.state.queues[index].consumer_lag > 0 for index in queues)


def _claim(group: Group, findings: TopicFindings, kind: Kind, queues: list[int]) -> AlertCandidate:
    why = findings.why.get(kind)
    cause, words = (None, "") if why is None else (why.cause.value, why.evidence)
    verdicts = [findings.verdicts[index] for index in queues]
    is_ripe = any(_is_ripe(group, index, findings) for index in queues)
    may_wait = kind is not Kind.SLOW_CONSUMER and not _is_left_to_mutes(findings, queues)
    waits = may_wait and waits_for_deploy(findings.evidence.of_group, cause)
    severity = Severity.CRITICAL if any(v.severity is Severity.CRITICAL for v in verdicts) else verdicts[0].severity
    evidence = words or next((v.reason for v in verdicts if v.reason), "")
    if kind is Kind.STALLED:
        evidence = f"{how_it_waits(group, [group.state.queues[index] for index in queues])}; {words}"
    clients = () if why is None else tuple(sorted(why.clients))
    since_ts = min(_since(group, kind, index) for index in queues)
    in_order = tuple(sorted(queues, key=group.message_queue))
    return AlertCandidate(severity, cause, evidence, in_order, is_ripe, waits, clients, since_ts)


def _is_left_to_mutes(findings: TopicFindings, queues: list[int]) -> bool:
    """A stall of these has waited for longer already than a deploy leaves a queue to nobody."""
    return all(findings.evidence.is_left_to_non_reporting(index) for index in queues)


def _since(group: Group, kind: Kind, index: int) -> int:
    queue = group.state.queues[index]
    if kind is Kind.SLOW_CONSUMER:
        return queue.unconsumed_since_ts or queue.since_ts
    return queue.progress_ts - queue.stalled_ms if kind is Kind.STALLED else queue.unhealthy_since_ts or queue.since_ts


def _is_ripe(group: Group, index: int, findings: TopicFindings) -> bool:
    """Held long enough, and everybody it rests on has said it again since it was first seen.

    Clients are asked at different instants: a queue that moves between two of them looks lost, or owned twice, until
    the one asked first has been asked again. Where members change faster than that, a queue may move to and fro, and it
    must look owned twice for as long as a report may be old.
    """
    verdict, queue, timing = findings.verdicts[index], group.state.queues[index], group.timing
    if verdict.kind in BY_OFFSETS:
        return True
    hold_ms = fires_after_ms(verdict.kind, verdict.severity, timing)
    if verdict.kind is Kind.DUPLICATED and verdict.oldest_ts < findings.evidence.ready_ts:
        hold_ms = max(hold_ms, timing.report_max_age_ms)
    return group.state.now - queue.since_ts >= hold_ms and verdict.oldest_ts >= queue.evidence_ts


def candidates_of_group(
    group: Group, evidence: GroupEvidence, held: list[GroupFinding]
) -> dict[tuple[str, str], AlertCandidate]:
    candidates = {}
    for found in held:
        if found.kind not in ALERTING:
            continue
        hold_ms = fires_after_ms(found.kind, KINDS[found.kind].severity, group.timing)
        is_ripe = group.state.now - found.since_ts >= hold_ms
        waits = found.kind is Kind.INCONSISTENT_SUBSCRIPTION and is_rolling_deploy(evidence)
        severity = severity_of(evidence, found.kind)
        candidates[found.topic, found.kind.value] = AlertCandidate(
            severity, found.cause, found.evidence, found.queues, is_ripe, waits, found.clients, found.since_ts
        )
    return candidates
