"""The life of an alert: INACTIVE, PENDING, FIRING, RESOLVED, with Prometheus' meaning.

One alert per (topic, kind) of a group; its queues may change while it lives. Every decision has a named reason.
Evidence that is lost in the middle never resolves an alert: it becomes stale, and goes on.
"""

from hashlib import blake2b

from msgspec import Struct

from schemas.facts import AlertFact, AlertQueue, AlertState, Kind, Severity, Word
from schemas.identity import is_retry_topic
from streaming.core.comparison import TopicFindings
from streaming.core.conditions import Found, severity_of
from streaming.core.evidence import GroupEvidence
from streaming.core.findings import Verdict
from streaming.core.group import Group
from streaming.core.progress import is_seen_to_move
from streaming.core.state import Alert

ALERTING = (Kind.DUPLICATED, Kind.ORPHANED, Kind.STALLED, Kind.SLOW_CONSUMER, Kind.PHANTOM, Kind.MISPLACED)
ALERTING_CONDITIONS = (
    Kind.INCONSISTENT_SUBSCRIPTION,
    Kind.UNREADABLE_QUEUES,
    Kind.NO_MEMBERS,
    Kind.REBALANCE_STORM,
)
BY_OFFSETS = frozenset({Kind.STALLED, Kind.SLOW_CONSUMER})  # the finding itself has waited: fire at once
UNDECIDED = frozenset({Kind.UNKNOWN, Kind.SETTLING})
WAITS_FOR_DEPLOY = frozenset({"SUBSCRIPTION_MISMATCH", "STRATEGY_MISMATCH"})
NO_MEMBERS_HOLD_MS = 120_000


class Reason(Word):
    """Why an alert did what it did."""

    FOUND = "found"
    HELD_LONG_ENOUGH = "held_long_enough"
    QUEUES_CHANGED = "queues_changed"
    CAUSE_CHANGED = "cause_changed"
    SEVERITY_CHANGED = "severity_changed"
    EVIDENCE_LOST = "evidence_lost"
    EVIDENCE_BACK = "evidence_back"
    RIGHT_AGAIN = "right_again"
    CLEARED_BEFORE_FIRING = "cleared_before_firing"
    GONE = "gone"


class Claim(Struct, frozen=True):
    """What the present evidence says of one alert. ``is_ripe``: it may fire; ``waits``: but for a deploy under way."""

    severity: Severity
    cause: str | None
    evidence: str
    queues: tuple[int, ...]
    is_ripe: bool
    waits: bool


def fingerprint(cluster: str, group: str, topic: str, kind: str) -> str:
    """The alert's identity: it never changes, whatever restarts."""
    return blake2b("\n".join((cluster, group, topic, kind)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def update_alerts(group: Group, evidence: GroupEvidence, found: list[TopicFindings], held: list[Found]) -> None:
    """Take every open alert, and everything found, one step on."""
    claims = _claims_of_queues(group, found)
    claims.update(_claims_of_conditions(group, evidence, held))
    verdicts = {place: verdict for findings in found for place, verdict in findings.verdicts.items()}
    known = {(alert.topic, alert.kind) for alert in group.state.alerts}
    for alert in list(group.state.alerts):
        claim = claims.get((alert.topic, alert.kind))
        if claim is not None:
            _support(group, alert, claim, verdicts)
        else:
            _doubt(group, evidence, alert, verdicts)
    for (topic, kind), claim in claims.items():
        if (topic, kind) not in known:
            _begin(group, topic, kind, claim, verdicts)


def _claims_of_queues(group: Group, found: list[TopicFindings]) -> dict[tuple[str, str], Claim]:
    claims = {}
    for findings in found:
        by_kind: dict[Kind, list[int]] = {}
        for place, verdict in findings.verdicts.items():
            if verdict.kind in ALERTING:
                by_kind.setdefault(verdict.kind, []).append(place)
        for kind, queues in by_kind.items():
            if is_retry_topic(findings.evidence.topic.name) and not _messages_wait(group, queues):
                continue
            claims[findings.evidence.topic.name, kind.value] = _claim(group, findings, kind, queues)
    return claims


def _messages_wait(group: Group, queues: list[int]) -> bool:
    return any(group.state.queues[place].consumer_lag > 0 for place in queues)


def _claim(group: Group, findings: TopicFindings, kind: Kind, queues: list[int]) -> Claim:
    cause, words = findings.words.get(kind, (None, ""))
    verdicts = [findings.verdicts[place] for place in queues]
    is_ripe = any(_is_ripe(group, place, findings.verdicts[place]) for place in queues)
    waits = cause in WAITS_FOR_DEPLOY and is_rolling_deploy(group)
    severity = Severity.CRITICAL if any(v.severity is Severity.CRITICAL for v in verdicts) else verdicts[0].severity
    evidence = words or next((v.reason for v in verdicts if v.reason), "")
    if kind is Kind.STALLED:
        evidence = f"{_waiting(group, queues)}; {words}"
    return Claim(severity, cause, evidence, tuple(sorted(queues, key=group.message_queue)), is_ripe, waits)


def _waiting(group: Group, queues: list[int]) -> str:
    messages = sum(group.state.queues[place].pull_lag for place in queues)
    longest = max(group.state.queues[place].still_ms for place in queues) // 1000
    return f"{messages} messages wait, none pulled for {longest} s"


def _is_ripe(group: Group, place: int, verdict: Verdict) -> bool:
    """Held long enough, and everybody it rests on has said it again since it was first seen.

    Clients are asked at different instants: a queue that moves between two of them looks lost, or owned twice, until
    the one asked first has been asked again.
    """
    if verdict.kind in BY_OFFSETS:
        return True
    queue, timing = group.state.queues[place], group.timing
    hold = timing.hold_critical if verdict.severity is Severity.CRITICAL else timing.hold_warning
    return group.state.now - queue.since_ts >= hold and verdict.oldest_ts >= queue.evidence_ts


def is_rolling_deploy(group: Group) -> bool:
    """Members both come and go, different ones."""
    state, timing = group.state, group.timing
    recent = [c for c in state.changes if state.now - c.ts <= timing.grace_membership * 2]
    joined = {change.client_id for change in recent if change.joined}
    left = {change.client_id for change in recent if not change.joined}
    return bool(joined - left and left - joined)


def _claims_of_conditions(group: Group, evidence: GroupEvidence, held: list[Found]) -> dict[tuple[str, str], Claim]:
    claims = {}
    for found in held:
        if found.kind not in ALERTING_CONDITIONS:
            continue
        hold = NO_MEMBERS_HOLD_MS if found.kind is Kind.NO_MEMBERS else group.timing.hold_warning
        is_ripe = group.state.now - found.since_ts >= hold
        waits = found.kind is Kind.INCONSISTENT_SUBSCRIPTION and is_rolling_deploy(group)
        severity = severity_of(evidence, found.kind)
        claims[found.topic, found.kind.value] = Claim(
            severity, found.cause, found.evidence, found.queues, is_ripe, waits
        )
    return claims


def _begin(group: Group, topic: str, kind: str, claim: Claim, verdicts: dict[int, Verdict]) -> None:
    now = group.state.now
    alert = Alert(topic, kind, AlertState.PENDING.value, claim.severity.value, now)
    _adopt(alert, claim, now)
    group.state.alerts.append(alert)
    _tell(group, alert, Reason.FOUND, verdicts)
    if _may_fire(group, alert, claim):
        _fire(group, alert, verdicts)


def _may_fire(group: Group, alert: Alert, claim: Claim) -> bool:
    """A deploy is waited for, but not for longer than one may take."""
    return claim.is_ripe and (not claim.waits or group.state.now - alert.active_ts >= group.timing.deploy_wait)


def _fire(group: Group, alert: Alert, verdicts: dict[int, Verdict]) -> None:
    alert.state = AlertState.FIRING.value
    alert.fired_ts = group.state.now
    _tell(group, alert, Reason.HELD_LONG_ENOUGH, verdicts)


def _adopt(alert: Alert, claim: Claim, now: int) -> None:
    alert.severity = claim.severity.value
    alert.cause = claim.cause
    alert.evidence = claim.evidence
    alert.queues = list(claim.queues)
    alert.seen_ts = now
    alert.clear_ts = 0
    alert.stale = False


def _support(group: Group, alert: Alert, claim: Claim, verdicts: dict[int, Verdict]) -> None:
    """The evidence still says so. Queues that it cannot decide on at present stay in the alert."""
    undecided = [p for p in alert.queues if p not in claim.queues and _is_undecided(group, alert, p, verdicts)]
    queues = sorted([*claim.queues, *undecided], key=group.message_queue)
    reason = _what_changed(alert, claim, queues)
    _adopt(alert, claim, group.state.now)
    alert.queues = queues
    if alert.state == AlertState.PENDING.value and _may_fire(group, alert, claim):
        _fire(group, alert, verdicts)
    elif reason is not None:
        _tell(group, alert, reason, verdicts)


def _what_changed(alert: Alert, claim: Claim, queues: list[int]) -> Reason | None:
    if alert.stale:
        return Reason.EVIDENCE_BACK
    if alert.severity != claim.severity.value:
        return Reason.SEVERITY_CHANGED
    if alert.queues != queues:
        return Reason.QUEUES_CHANGED
    return Reason.CAUSE_CHANGED if alert.cause != claim.cause else None


def _is_undecided(group: Group, alert: Alert, place: int, verdicts: dict[int, Verdict]) -> bool:
    """Whether the evidence at hand says neither that the queue is still in the alert's finding nor that it is not."""
    verdict = verdicts.get(place)
    if verdict is None or verdict.kind not in (*UNDECIDED, Kind.NO_MEMBERS, Kind.MATCH, Kind.MISPLACED):
        return False
    if alert.kind in BY_OFFSETS:
        return not is_seen_to_move(group, group.state.queues[place])
    return verdict.kind in UNDECIDED or verdict.kind is Kind.NO_MEMBERS


def _doubt(group: Group, evidence: GroupEvidence, alert: Alert, verdicts: dict[int, Verdict]) -> None:
    """Nothing supports the alert now: is it over, or is the evidence lost?"""
    now = group.state.now
    if _is_gone(group, evidence, alert, verdicts):
        _end(group, alert, Reason.GONE, verdicts)
    elif _is_open(group, evidence, alert, verdicts):
        alert.clear_ts = 0
        if not alert.stale and alert.state == AlertState.FIRING.value:
            alert.stale = True
            _tell(group, alert, Reason.EVIDENCE_LOST, verdicts)
    elif alert.state == AlertState.PENDING.value:
        _end(group, alert, Reason.CLEARED_BEFORE_FIRING, verdicts)
    else:
        alert.clear_ts, alert.stale = alert.clear_ts or now, False
        if now - alert.clear_ts >= group.timing.hold_critical:
            _end(group, alert, Reason.RIGHT_AGAIN, verdicts)


def _is_gone(group: Group, evidence: GroupEvidence, alert: Alert, verdicts: dict[int, Verdict]) -> bool:
    """Absent from every covered broker for so long that nobody waits for it any more."""
    state = group.state
    if alert.kind in ALERTING and alert.queues:
        is_absent = all(p in verdicts and verdicts[p].kind is Kind.NO_MEMBERS for p in alert.queues)
    else:
        is_absent = not evidence.members and not evidence.uncovered
    since = state.empty_since if alert.kind == Kind.NO_MEMBERS else max(state.empty_since, alert.seen_ts)
    return is_absent and state.now - since >= group.timing.gone_after


def _is_open(group: Group, evidence: GroupEvidence, alert: Alert, verdicts: dict[int, Verdict]) -> bool:
    """Whether the evidence that would end the alert is lacking."""
    if alert.kind in ALERTING:
        return any(_is_undecided(group, alert, place, verdicts) for place in alert.queues)
    if alert.kind == Kind.INCONSISTENT_SUBSCRIPTION:
        return not evidence.members or not all(member.as_of for member in evidence.members.values())
    return bool(evidence.uncovered)


def _end(group: Group, alert: Alert, reason: Reason, verdicts: dict[int, Verdict]) -> None:
    alert.state = AlertState.RESOLVED.value
    group.state.alerts.remove(alert)
    _tell(group, alert, reason, verdicts)


def _tell(group: Group, alert: Alert, reason: Reason, verdicts: dict[int, Verdict]) -> None:
    state = group.state
    group.tell(
        AlertFact(
            fingerprint=fingerprint(state.cluster, state.group, alert.topic, alert.kind),
            state=alert.state,
            severity=alert.severity,
            kind=alert.kind,
            cause=alert.cause,
            evidence=alert.evidence,
            queues=tuple(_alert_queue(group, place, verdicts) for place in alert.queues),
            reason=reason.value,
            active_ts=alert.active_ts,
            fired_ts=alert.fired_ts or None,
            resolved_ts=state.now if alert.state == AlertState.RESOLVED.value else None,
            stale=alert.stale,
        ),
        alert.topic or None,
    )


def _alert_queue(group: Group, place: int, verdicts: dict[int, Verdict]) -> AlertQueue:
    queue = group.message_queue(place)
    verdict = verdicts.get(place)
    owners = () if verdict is None else group.client_ids(verdict.owners)
    expected = None if verdict is None or verdict.expected is None else group.client_ids(verdict.expected)
    return AlertQueue(queue.broker_name, queue.queue_id, owners, expected)
