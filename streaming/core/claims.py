"""What the present evidence says of alerts: which it supports, with which queues, and whether they may fire yet."""

from msgspec import Struct

from schemas.facts import Kind, Severity
from schemas.identity import is_retry_topic
from streaming.core.comparison import TopicFindings
from streaming.core.conditions import Found, severity_of
from streaming.core.deploys import is_rolling_deploy, waits_for_deploy
from streaming.core.evidence import GroupEvidence
from streaming.core.group import Group
from streaming.core.kinds import ALERTING, ALERTING_OF_QUEUES, BY_OFFSETS, KINDS, fires_after_ms
from streaming.core.progress import how_it_waits


class Claim(Struct, frozen=True):
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


def claims_of_queues(group: Group, found: list[TopicFindings]) -> dict[tuple[str, str], Claim]:
    claims = {}
    for findings in found:
        by_kind: dict[Kind, list[int]] = {}
        for place, verdict in findings.verdicts.items():
            if verdict.kind in ALERTING_OF_QUEUES:
                by_kind.setdefault(verdict.kind, []).append(place)
        for kind, queues in by_kind.items():
            if is_retry_topic(findings.evidence.topic.name) and not _messages_wait(group, queues):
                continue
            claims[findings.evidence.topic.name, kind.value] = _claim(group, findings, kind, queues)
    return claims


def _messages_wait(group: Group, queues: list[int]) -> bool:
    return any(group.state.queues[place].consumer_lag > 0 for place in queues)


def _claim(group: Group, findings: TopicFindings, kind: Kind, queues: list[int]) -> Claim:
    why = findings.why.get(kind)
    cause, words = (None, "") if why is None else (why.cause.value, why.evidence)
    verdicts = [findings.verdicts[place] for place in queues]
    is_ripe = any(_is_ripe(group, place, findings) for place in queues)
    may_wait = kind is not Kind.SLOW_CONSUMER and not _is_left_to_mutes(findings, queues)
    waits = may_wait and waits_for_deploy(findings.evidence.of_group, cause)
    severity = Severity.CRITICAL if any(v.severity is Severity.CRITICAL for v in verdicts) else verdicts[0].severity
    evidence = words or next((v.reason for v in verdicts if v.reason), "")
    if kind is Kind.STALLED:
        evidence = f"{how_it_waits(group, [group.state.queues[place] for place in queues])}; {words}"
    clients = () if why is None else tuple(sorted(why.clients))
    since_ts = min(_since(group, kind, place) for place in queues)
    in_order = tuple(sorted(queues, key=group.message_queue))
    return Claim(severity, cause, evidence, in_order, is_ripe, waits, clients, since_ts)


def _is_left_to_mutes(findings: TopicFindings, queues: list[int]) -> bool:
    """A stall of these has waited for longer already than a deploy leaves a queue to nobody."""
    return all(findings.evidence.is_left_to_mutes(place) for place in queues)


def _since(group: Group, kind: Kind, place: int) -> int:
    queue = group.state.queues[place]
    if kind is Kind.SLOW_CONSUMER:
        return queue.stands_ts or queue.since_ts
    return queue.progress_ts - queue.still_ms if kind is Kind.STALLED else queue.wrong_ts or queue.since_ts


def _is_ripe(group: Group, place: int, findings: TopicFindings) -> bool:
    """Held long enough, and everybody it rests on has said it again since it was first seen.

    Clients are asked at different instants: a queue that moves between two of them looks lost, or owned twice, until
    the one asked first has been asked again. Where members change faster than that, a queue may move to and fro, and it
    must look owned twice for as long as a report may be old.
    """
    verdict, queue, timing = findings.verdicts[place], group.state.queues[place], group.timing
    if verdict.kind in BY_OFFSETS:
        return True
    hold_ms = fires_after_ms(verdict.kind, verdict.severity, timing)
    if verdict.kind is Kind.DUPLICATED and verdict.oldest_ts < findings.evidence.ready_ts:
        hold_ms = max(hold_ms, timing.report_max_age)
    return group.state.now - queue.since_ts >= hold_ms and verdict.oldest_ts >= queue.evidence_ts


def claims_of_conditions(group: Group, evidence: GroupEvidence, held: list[Found]) -> dict[tuple[str, str], Claim]:
    claims = {}
    for found in held:
        if found.kind not in ALERTING:
            continue
        hold_ms = fires_after_ms(found.kind, KINDS[found.kind].severity, group.timing)
        is_ripe = group.state.now - found.since_ts >= hold_ms
        waits = found.kind is Kind.INCONSISTENT_SUBSCRIPTION and is_rolling_deploy(evidence)
        severity = severity_of(evidence, found.kind)
        claims[found.topic, found.kind.value] = Claim(
            severity, found.cause, found.evidence, found.queues, is_ripe, waits, found.clients, found.since_ts
        )
    return claims
