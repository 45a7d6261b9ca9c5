"""Takes every alert to its next phase at each round marker, and emits the facts of it.

There is one alert per (topic, kind) of a group. Its queues may change while it is open. ``phases`` has the transitions,
``signals`` says what the evidence says. How long a finding must hold before its alert fires, and be right before it is
resolved, stands in the row of its kind in ``core/finding_kinds``; when it ends as gone, in ``signals``. Missing
evidence never resolves an alert: the alert becomes stale.
"""

from collections.abc import Iterable
from hashlib import blake2b

from msgspec.structs import replace

from schemas.facts import AlertFact, AlertState, Cause, Kind, Severity, WaitsFor
from schemas.observed import observed, with_part
from streaming.core.alerts import signals
from streaming.core.alerts.candidates import AlertCandidate, candidates_of_group, candidates_of_queues
from streaming.core.alerts.details import AlertDetails
from streaming.core.alerts.phases import PENDING_PHASES, STATES, AlertReason, Phase, Signal, after
from streaming.core.alerts.signals import Outcome, RoundResult, is_flapping
from streaming.core.causes.table import CAUSES
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.finding_kinds import is_less_than_usual
from streaming.core.findings.queue_facts import Since
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group import Group
from streaming.core.state.group_state import Alert
from streaming.core.waiting import has_news, note_told, waiting_of


def fingerprint(cluster: str, group: str, topic: str, kind: str) -> str:
    """The alert's identity: it never changes, also after restarts."""
    return blake2b("\n".join((cluster, group, topic, kind)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def update_alerts(
    evidence: GroupEvidence, found: list[TopicFindings], since: Since, of_group: list[GroupFinding]
) -> None:
    group = evidence.group
    candidates = candidates_of_queues(group, found, since)
    candidates.update(candidates_of_group(group, evidence, of_group))
    verdicts = {index: verdict for findings in found for index, verdict in findings.verdicts.items()}
    divided = frozenset(findings.evidence.name for findings in found if findings.evidence.listed.views_differ)
    at = RoundResult(evidence, verdicts, since, AlertDetails(evidence, verdicts), divided)
    known = {(alert.topic, alert.kind) for alert in group.state.alerts}
    for alert in list(group.state.alerts):
        candidate = candidates.get((alert.topic, alert.kind))
        if candidate is None:
            _go_on_without_candidate(group, alert, at)
        else:
            _go_on(group, alert, candidate, at)
    for (topic, kind), candidate in candidates.items():
        if (topic, kind) not in known:
            _begin(group, topic, kind, candidate, at)
    for alert in group.state.alerts:
        if has_news(evidence, alert):
            _emit(group, alert, AlertReason.WAITING_CHANGED, at)


def is_any_undecided(group: Group) -> bool:
    """True if an alert fires that nothing supports now, and that nothing has shown to be over."""
    undecided = (Phase.FIRING.value, Phase.STALE.value)
    return any(alert.phase in undecided and alert.seen_ts < group.state.now for alert in group.state.alerts)


def end_forgotten(group: Group, who: str) -> None:
    """An operator says that the group is retired: all its alerts end."""
    evidence = GroupEvidence(group)
    at = RoundResult(evidence, {}, {}, AlertDetails(evidence, {}))
    for alert in list(group.state.alerts):
        alert.observed = replace(alert.observed, forgotten_by=who or "somebody")
        _move(group, alert, Outcome(Signal.OVER, AlertReason.FORGOTTEN), at)


def _begin(group: Group, topic: str, kind: str, candidate: AlertCandidate, at: RoundResult) -> None:
    alert = Alert(topic, kind, Phase.PENDING.value, candidate.severity.value, group.state.now)
    _adopt_cause(alert, candidate, at)
    _adopt(group, alert, candidate, list(candidate.queues), at)
    group.state.alerts.append(alert)
    _emit(group, alert, AlertReason.FOUND, at)
    _move(group, alert, signals.with_candidate(group, alert, candidate), at)


def _go_on(group: Group, alert: Alert, candidate: AlertCandidate, at: RoundResult) -> None:
    """The evidence supports the alert. Queues that cannot be decided now stay in it."""
    before = alert.severity, alert.queues, alert.cause, alert.waits_until_ts
    was_less = alert.fired_ts > 0 and _is_less(alert)
    _adopt_cause(alert, candidate, at)
    outcome = signals.with_candidate(group, alert, candidate)
    supported = set(candidate.queues)
    undecided = [p for p in alert.queues if p not in supported and signals.is_undecided(group, alert, p, at)]
    queues = sorted([*candidate.queues, *undecided], key=group.message_queue)
    _adopt(group, alert, candidate, queues, at)
    alert.times += was_less and not _is_less(alert)
    changed = _what_changed(alert, *before)
    transition = after(Phase(alert.phase), outcome.signal)
    if changed is not None and (transition is None or transition.reason is None):
        _emit(group, alert, changed, at)
    _move(group, alert, outcome, at)


def _adopt_cause(alert: Alert, candidate: AlertCandidate, at: RoundResult) -> None:
    if _takes_cause(alert, candidate.cause, candidate.queues, at):
        alert.cause = candidate.cause
        alert.observed = observed(candidate.of_finding, candidate.of_cause)
        alert.clients = list(candidate.clients)
    elif candidate.of_finding is not None:
        alert.observed = with_part(alert.observed, candidate.of_finding)


def _adopt(group: Group, alert: Alert, candidate: AlertCandidate, queues: list[int], at: RoundResult) -> None:
    alert.severity = signals.severity_of(group, alert, candidate).value
    _note_wait(group, alert, candidate)
    alert.queues = queues
    alert.since_ts = min(alert.since_ts or candidate.since_ts, candidate.since_ts)
    alert.seen_ts = at.evidence.now
    alert.right_since_ts = 0


def _note_wait(group: Group, alert: Alert, candidate: AlertCandidate) -> None:
    """Notes why a pending alert waits, and the deploy that it waits for, or because of which it is but a warning."""
    wait = signals.wait_of(group, alert, candidate) if alert.phase in PENDING_PHASES else None
    alert.waits_for, alert.waits_until_ts = ("", 0) if wait is None else (wait.what.value, wait.until_ts)
    is_excused = alert.severity != candidate.severity or alert.waits_for == WaitsFor.DEPLOY
    deploy = group.state.deploy
    alert.deploy_since_ts = deploy.began_ts if deploy is not None and is_excused else 0


def _takes_cause(alert: Alert, cause: str | None, queues: Iterable[int], at: RoundResult) -> bool:
    """True if the cause that is found now is to be that of the alert. ``queues``: those that it was found with.

    Once an alert fires, another cause must have been found in each round for longer than a rebalance takes, with all of
    the alert's queues; unless it is proven by itself. What ends a fault looks like another fault for a moment: a stuck
    client has left the list, and some of its queues have been taken over already.
    """
    now = at.evidence.now
    is_proven = cause is not None and CAUSES[Cause(cause)].is_independent
    if alert.phase in PENDING_PHASES or cause == alert.cause or is_proven:
        _drop_next_cause(alert)
        return True
    is_another = not alert.next_cause_since_ts or alert.next_cause != cause
    if is_another or not set(alert.queues) <= set(queues):
        alert.next_cause, alert.next_cause_since_ts = cause, now
    if now - alert.next_cause_since_ts < _longest_rebalance_ms(at.evidence):
        return False
    _drop_next_cause(alert)
    return True


def _is_less(alert: Alert) -> bool:
    """An alert that notifies nobody does not count as fired (``Alert.times``)."""
    return is_less_than_usual(Kind(alert.kind), Severity(alert.severity))


def _drop_next_cause(alert: Alert) -> None:
    alert.next_cause, alert.next_cause_since_ts = None, 0


def _longest_rebalance_ms(evidence: GroupEvidence) -> int:
    """Until a queue is taken over from a member that has left, and its offsets, which are read each 20 s, show it."""
    timing = evidence.group.timing
    extra_ms = timing.grace_orderly_extra_ms if evidence.orderly else 0
    return timing.grace_membership_ms + extra_ms + timing.hold_warning_ms


def _what_changed(
    alert: Alert, severity: str, queues: list[int], cause: str | None, waits_until_ts: int
) -> AlertReason | None:
    if alert.severity != severity:
        return AlertReason.SEVERITY_CHANGED
    if alert.queues != queues:
        return AlertReason.QUEUES_CHANGED
    if alert.cause != cause:
        return AlertReason.CAUSE_CHANGED
    is_held_back = alert.phase == Phase.HELD_BACK and alert.waits_for == WaitsFor.DEPLOY
    return AlertReason.WAITS_FOR_DEPLOY if is_held_back and alert.waits_until_ts != waits_until_ts else None


def _go_on_without_candidate(group: Group, alert: Alert, at: RoundResult) -> None:
    outcome = signals.without_candidate(group, alert, at)
    if outcome.signal in (Signal.UNDECIDED, Signal.SEEN_TO_STALL):
        alert.right_since_ts = 0
    elif outcome.signal not in (Signal.NOT_JUDGED, Signal.OVER):
        alert.right_since_ts = alert.right_since_ts or group.state.now
    _drop_next_cause(alert)
    _move(group, alert, outcome, at)


def _move(group: Group, alert: Alert, outcome: Outcome, at: RoundResult) -> None:
    """Moves the alert to its next phase, and emits a fact if the table has a reason for it."""
    before = Phase(alert.phase)
    transition = after(before, outcome.signal)
    if transition is None:
        return
    alert.phase = transition.to.value
    reason = transition.reason or outcome.reason
    alert.kept_open = reason.value if reason is not None and transition.to is Phase.KEPT_OPEN else ""
    if reason is AlertReason.HELD_LONG_ENOUGH:
        alert.fired_ts = group.state.now
        alert.times = signals.times_before(group, alert) + (not _is_less(alert))
    elif reason is AlertReason.CAME_BACK:
        alert.times += is_flapping(alert) and not _is_less(alert)
    elif reason is AlertReason.RIGHT_AGAIN:
        signals.note_end(group, alert)
    if transition.to is Phase.RESOLVED:
        group.state.alerts.remove(alert)
    if reason is not None:
        _emit(group, alert, reason, at, was_stale=before is Phase.STALE and outcome.signal is Signal.OVER)


def _emit(group: Group, alert: Alert, reason: AlertReason, at: RoundResult, was_stale: bool = False) -> None:
    """``was_stale``: the alert was stale before it ended; its last fact then says so, too."""
    state, phase = group.state, Phase(alert.phase)
    waiting = waiting_of(at.evidence, alert)
    note_told(group, alert, waiting)
    is_resolved, is_pending = STATES[phase] is AlertState.RESOLVED, phase in PENDING_PHASES
    group.emit(
        AlertFact(
            fingerprint=fingerprint(state.cluster, state.group, alert.topic, alert.kind),
            state=STATES[phase].value,
            severity=alert.severity,
            kind=alert.kind,
            cause=alert.cause,
            observed=replace(alert.observed, fired_times=alert.times) if is_flapping(alert) else alert.observed,
            queues=at.details.queues(alert),
            reason=reason.value,
            active_ts=alert.active_ts,
            fired_ts=alert.fired_ts or None,
            resolved_ts=state.now if is_resolved else None,
            stale=was_stale or phase is Phase.STALE,
            since_ts=alert.since_ts,
            clients=at.details.clients(alert),
            changes=at.details.changes(alert),
            waiting=waiting.messages,
            oldest_ts=waiting.oldest_ts,
            read_ts=waiting.read_ts,
            seen_ts=alert.seen_ts or None,
            kept_open=alert.kept_open or None,
            right_since_ts=alert.right_since_ts or None,
            waits_for=(is_pending and alert.waits_for) or None,
            waits_until_ts=(is_pending and alert.waits_until_ts) or None,
            deploy_since_ts=(not is_resolved and alert.deploy_since_ts) or None,
        ),
        alert.topic or None,
    )
