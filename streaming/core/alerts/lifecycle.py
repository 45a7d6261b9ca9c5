"""The life of an alert: INACTIVE, PENDING, FIRING, RESOLVED, with Prometheus' meaning.

One alert per (topic, kind) of a group; its queues may change while it lives. Every decision has a named reason.
Evidence that is lost in the middle never resolves an alert: it becomes stale, and goes on.
"""

from hashlib import blake2b
from typing import NamedTuple

from schemas.facts import AlertFact, AlertState, Cause, Kind, Word
from streaming.core.alerts.candidates import AlertCandidate, candidates_of_group, candidates_of_queues
from streaming.core.alerts.deploy_wait import MISMATCHES
from streaming.core.alerts.details import changes_of, clients_of, queues_of, waiting_of
from streaming.core.alerts.flapping import comes_and_goes, evidence_of, note_end, times_before
from streaming.core.causes.explanation import Explanation
from streaming.core.evidence.exclusions import STANDS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.group_findings import SHOWN_IN_TURN, GroupFinding
from streaming.core.findings.kinds import ALERTING_OF_QUEUES, BY_OFFSETS, DECIDED_BY_REPORTS, KINDS, WRONG_OWNERS
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.queue_rules import Verdict
from streaming.core.intake.consume_offsets import is_seen_lately, is_seen_to_be_consumed, is_seen_to_move
from streaming.core.state.group import Group
from streaming.core.state.group_state import Alert

UNTIL_PROVEN = BY_OFFSETS | {Kind.MISPLACED}
SAYS_MORE_THAN_STALLED = WRONG_OWNERS - {Kind.MISPLACED}


class Reason(Word):
    """Why an alert did what it did."""

    FOUND = "found"
    WAITS_FOR_DEPLOY = "waits_for_deploy"
    WAITS_FOR_PROOF = "waits_for_proof"
    TOLD_ALREADY = "told_already"
    HELD_LONG_ENOUGH = "held_long_enough"
    QUEUES_CHANGED = "queues_changed"
    CAUSE_CHANGED = "cause_changed"
    SEVERITY_CHANGED = "severity_changed"
    EVIDENCE_LOST = "evidence_lost"
    EVIDENCE_BACK = "evidence_back"
    COMES_AND_GOES = "comes_and_goes"
    LISTS_DIFFER = "lists_differ"
    CAME_BACK = "came_back"
    RIGHT_AGAIN = "right_again"
    CLEARED_BEFORE_FIRING = "cleared_before_firing"
    GONE = "gone"
    FORGOTTEN = "forgotten"
    EXCLUDED = "excluded"


class Judged(NamedTuple):
    """What is known at this marker."""

    evidence: GroupEvidence
    verdicts: dict[int, Verdict]
    why: dict[tuple[str, Kind], Explanation]
    divided: frozenset[str] = frozenset()  # topics whose brokers list different members


def fingerprint(cluster: str, group: str, topic: str, kind: str) -> str:
    """The alert's identity: it never changes, whatever restarts."""
    return blake2b("\n".join((cluster, group, topic, kind)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def update_alerts(group: Group, evidence: GroupEvidence, found: list[TopicFindings], held: list[GroupFinding]) -> None:
    """Take every open alert, and everything found, one step on."""
    candidates = candidates_of_queues(group, found)
    candidates.update(candidates_of_group(group, evidence, held))
    verdicts = {index: verdict for findings in found for index, verdict in findings.verdicts.items()}
    why = {(f.evidence.topic.name, kind): explained for f in found for kind, explained in f.why.items()}
    divided = frozenset(f.evidence.topic.name for f in found if f.evidence.views_differ)
    at = Judged(evidence, verdicts, why, divided)
    known = {(alert.topic, alert.kind) for alert in group.state.alerts}
    for alert in list(group.state.alerts):
        candidate = candidates.get((alert.topic, alert.kind))
        if candidate is not None:
            _support(group, alert, candidate, at)
        else:
            _doubt(group, alert, at)
    for (topic, kind), candidate in candidates.items():
        if (topic, kind) not in known:
            _begin(group, topic, kind, candidate, at)


def end_forgotten(group: Group, who: str) -> None:
    """An operator says that nobody waits for the group any more: all its alerts end as they are."""
    at = Judged(GroupEvidence(group), {}, {})
    for alert in list(group.state.alerts):
        alert.evidence = f"forgotten by {who or 'somebody'}; it was: {alert.evidence}"
        _end(group, alert, Reason.FORGOTTEN, at)


def _begin(group: Group, topic: str, kind: str, candidate: AlertCandidate, at: Judged) -> None:
    now = group.state.now
    alert = Alert(topic, kind, AlertState.PENDING.value, candidate.severity.value, now)
    _adopt(alert, candidate, now)
    group.state.alerts.append(alert)
    _tell(group, alert, Reason.FOUND, at)
    _fire_unless_held_back(group, alert, candidate, at)


def _fire_unless_held_back(
    group: Group,
    alert: Alert,
    candidate: AlertCandidate,
    at: Judged,
    news: Reason | None = None,
    has_come_again: bool = False,
) -> None:
    """It fires once its claim is ripe, or has come again while lists differ.

    What keeps it from that is told once; ``news`` is told if it does not fire.
    """
    is_ripe = alert.state == AlertState.PENDING.value and (candidate.is_ripe or has_come_again)
    held_back = _what_holds_back(group, alert, candidate)
    if is_ripe and held_back is None:
        _fire(group, alert, at)
        return
    if news is not None:
        _tell(group, alert, news, at)
    if is_ripe and held_back is not None and not alert.waits:
        alert.waits = True
        _tell(group, alert, held_back, at)


def _what_holds_back(group: Group, alert: Alert, candidate: AlertCandidate) -> Reason | None:
    """A deploy is waited for, but not for longer than one may take since members were first found to differ."""
    if candidate.waits and group.state.now - _differ_since(group, alert, candidate) < group.timing.deploy_wait_ms:
        return Reason.WAITS_FOR_DEPLOY
    if _may_be_over_by_itself(group, alert, candidate):
        return Reason.WAITS_FOR_PROOF
    return Reason.TOLD_ALREADY if _is_told_already(group, alert, candidate) else None


def _differ_since(group: Group, alert: Alert, candidate: AlertCandidate) -> int:
    """Since when the first of the queues has been so, or of those of another alert that waits for the same."""
    waiting = (a for a in group.state.alerts if a.state == AlertState.PENDING.value and a.cause in MISMATCHES)
    return min(alert.active_ts, candidate.since_ts, *(other.active_ts for other in waiting))


def _may_be_over_by_itself(group: Group, alert: Alert, candidate: AlertCandidate) -> bool:
    """An id is listed twice. A dead connection goes by itself; what does not is a second instance, and then proven."""
    is_unproven = candidate.cause == Cause.STALE_CONNECTION and alert.kind in UNTIL_PROVEN
    return is_unproven and group.state.now - alert.active_ts < group.timing.second_address_proof_ms


def _is_told_already(group: Group, alert: Alert, candidate: AlertCandidate) -> bool:
    """Whether queues that stand still are in a firing alert that says more: that nobody owns them, or two do."""
    if alert.kind not in BY_OFFSETS:
        return False
    told = [a for a in group.state.alerts if a.topic == alert.topic and a.kind in SAYS_MORE_THAN_STALLED and a.fired_ts]
    return set(candidate.queues) <= {index for other in told for index in other.queues}


def _fire(group: Group, alert: Alert, at: Judged) -> None:
    alert.state = AlertState.FIRING.value
    alert.fired_ts = group.state.now
    alert.waits = False
    alert.times = 1 + times_before(group, alert)
    _tell(group, alert, Reason.HELD_LONG_ENOUGH, at)


def _adopt(alert: Alert, candidate: AlertCandidate, now: int) -> None:
    alert.severity = candidate.severity.value
    alert.cause = candidate.cause
    alert.evidence = candidate.evidence
    alert.queues = list(candidate.queues)
    alert.clients = list(candidate.clients)
    alert.since_ts = min(alert.since_ts or candidate.since_ts, candidate.since_ts)
    alert.seen_ts = now
    alert.right_since_ts = 0
    alert.stale = False


def _support(group: Group, alert: Alert, candidate: AlertCandidate, at: Judged) -> None:
    """The evidence still says so. Queues that it cannot decide on at present stay in the alert."""
    claimed = set(candidate.queues)
    undecided = [p for p in alert.queues if p not in claimed and _is_undecided(group, alert, p, at)]
    has_come_again = alert.right_since_ts > 0  # of a pending alert: else it was over
    queues = sorted([*candidate.queues, *undecided], key=group.message_queue)
    reason = _what_changed(alert, candidate, queues)
    if reason is Reason.CAME_BACK:
        alert.waits = False
        alert.times += comes_and_goes(alert)
    _adopt(alert, candidate, group.state.now)
    alert.queues = queues
    _fire_unless_held_back(group, alert, candidate, at, reason, has_come_again)


def _what_changed(alert: Alert, candidate: AlertCandidate, queues: list[int]) -> Reason | None:
    if alert.stale:
        return Reason.EVIDENCE_BACK
    if alert.waits and alert.fired_ts:
        return Reason.CAME_BACK
    if alert.severity != candidate.severity.value:
        return Reason.SEVERITY_CHANGED
    if alert.queues != queues:
        return Reason.QUEUES_CHANGED
    return Reason.CAUSE_CHANGED if alert.cause != candidate.cause else None


def _is_undecided(group: Group, alert: Alert, index: int, at: Judged) -> bool:
    """Whether the evidence at hand does not say that the queue has left the alert's finding."""
    verdict = at.verdicts.get(index)
    if verdict is None:
        return _is_lost_with_its_broker(group, index)
    if alert.kind in BY_OFFSETS:
        return verdict.kind not in BY_OFFSETS and not _is_seen_to_go_on(group, alert, index)
    return (verdict.by_reports or verdict.kind) not in DECIDED_BY_REPORTS


def _is_seen_to_go_on(group: Group, alert: Alert, index: int) -> bool:
    """What is slow is over when something is consumed, a stall already when something is pulled."""
    queue = group.state.queues[index]
    if alert.kind == Kind.SLOW_CONSUMER:
        return is_seen_to_be_consumed(group, queue)
    return is_seen_to_move(group, queue)


def _is_lost_with_its_broker(group: Group, index: int) -> bool:
    """Name servers drop a broker that is down from the routes: that its queues vanish then says nothing of them."""
    lost_ts = group.state.brokers[group.state.queues[index].broker].lost_ts
    return lost_ts > 0 and group.state.now - lost_ts < group.timing.gone_after_ms


def _doubt(group: Group, alert: Alert, at: Judged) -> None:
    """Nothing supports the alert now: is it over, or is the evidence lost?"""
    now = group.state.now
    if _is_gone(group, alert, at):
        _end(group, alert, Reason.GONE, at)
    elif (exclusion := _why_excluded(alert, at)) is not None and exclusion in STANDS:
        if _excluded_for(group, alert) >= _resolves_after_ms(group, alert):
            _end(group, alert, Reason.EXCLUDED, at)
    elif exclusion is not None and _excluded_for(group, alert) >= group.timing.gone_after_ms:
        _end(group, alert, Reason.EXCLUDED, at)
    elif _is_open(group, alert, at):
        alert.right_since_ts = 0
        _follow_cause(group, alert, at)
        if not alert.stale and alert.state == AlertState.FIRING.value and not _stands_still(group, alert):
            alert.stale, alert.waits = True, False
            _tell(group, alert, Reason.EVIDENCE_LOST, at)
    elif alert.state == AlertState.PENDING.value and not _comes_of_lists_that_differ(alert, at):
        _end(group, alert, Reason.CLEARED_BEFORE_FIRING, at)
    elif alert.state == AlertState.PENDING.value:
        alert.right_since_ts = alert.right_since_ts or now
    else:
        alert.right_since_ts, alert.stale = alert.right_since_ts or now, False
        _end_if_it_stays_right(group, alert, at)


def _end_if_it_stays_right(group: Group, alert: Alert, at: Judged) -> None:
    right_ms = group.state.now - alert.right_since_ts
    if right_ms < _resolves_after_ms(group, alert):
        return
    kept_open = _what_keeps_open(group, alert, right_ms, at)
    if kept_open is None:
        _end(group, alert, Reason.RIGHT_AGAIN, at)
    elif not alert.waits:
        alert.waits = True
        _tell(group, alert, kept_open, at)


def _resolves_after_ms(group: Group, alert: Alert) -> int:
    return KINDS[Kind(alert.kind)].resolves_after(group.timing)


def _what_keeps_open(group: Group, alert: Alert, right_ms: int, at: Judged) -> Reason | None:
    """What comes and goes is one incident, told once: it stays open until it has been right for long."""
    if _comes_of_lists_that_differ(alert, at):
        return Reason.LISTS_DIFFER
    return Reason.COMES_AND_GOES if comes_and_goes(alert) and right_ms < group.timing.alert_returns_within_ms else None


def _comes_of_lists_that_differ(alert: Alert, at: Judged) -> bool:
    """Whether it is one incident for as long as they do, however often it looks right in between.

    At every rebalance each client asks any one broker of the topic (MQClientInstance.findConsumerIdList), so queues
    look right by chance, and change hands again; often before those who own them could be asked a second time.
    """
    return alert.cause == Cause.VIEW_DIVERGENCE.value and alert.topic in at.divided


def _follow_cause(group: Group, alert: Alert, at: Judged) -> None:
    """A stall whose queues are by now found to be nobody's, or two's: why they are is why they stand still."""
    if alert.kind not in BY_OFFSETS:
        return
    kinds = {at.verdicts[index].kind for index in alert.queues if index in at.verdicts}
    known = [why for kind in kinds & WRONG_OWNERS if (why := at.why.get((alert.topic, kind))) is not None]
    if len(kinds) == len(known) == 1 and known[0].cause != alert.cause:
        alert.cause, alert.evidence, alert.clients = known[0].cause.value, known[0].evidence, sorted(known[0].clients)
        _tell(group, alert, Reason.CAUSE_CHANGED, at)


def _is_gone(group: Group, alert: Alert, at: Judged) -> bool:
    """Absent from every covered broker for so long that nobody waits for it any more."""
    state = group.state
    is_absent = not at.evidence.members and not at.evidence.uncovered  # also where the route is not known any more
    if alert.kind in ALERTING_OF_QUEUES and alert.queues:
        is_absent |= all(p in at.verdicts and at.verdicts[p].kind is Kind.NO_MEMBERS for p in alert.queues)
    needs_no_member = alert.kind in (Kind.NO_MEMBERS, Kind.UNREADABLE_QUEUES)  # seen as long as the group is empty
    since = state.empty_since if needs_no_member else max(state.empty_since, alert.seen_ts)
    return is_absent and state.now - since >= group.timing.gone_after_ms


def _why_excluded(alert: Alert, at: Judged) -> str | None:
    """Why nothing that the alert is about is ours to judge any more. That it is not judged does not say it is right."""
    if alert.kind not in ALERTING_OF_QUEUES:
        return None if alert.kind == Kind.NO_MEMBERS else at.evidence.exclusion
    verdicts = [at.verdicts[index] for index in alert.queues if index in at.verdicts]
    is_excluded = bool(verdicts) and all(verdict.kind is Kind.EXCLUDED for verdict in verdicts)
    return verdicts[0].reason if is_excluded else None


def _excluded_for(group: Group, alert: Alert) -> int:
    """For how long, in milliseconds; of an alert about the whole group: since evidence last supported it."""
    queues = group.state.queues
    return group.state.now - max([alert.seen_ts, *(queues[index].since_ts for index in alert.queues)])


def _is_open(group: Group, alert: Alert, at: Judged) -> bool:
    """Whether the evidence that would end the alert is lacking."""
    if alert.kind in ALERTING_OF_QUEUES:
        return any(_is_undecided(group, alert, index, at) for index in alert.queues)
    if _why_excluded(alert, at) is not None:
        return True
    if alert.kind == Kind.INCONSISTENT_SUBSCRIPTION and alert.evidence.startswith(SHOWN_IN_TURN):
        return not at.evidence.members or bool(at.evidence.uncovered)  # it rests on what brokers show, not on reports
    if alert.kind == Kind.INCONSISTENT_SUBSCRIPTION:
        heard = [member.as_of for member in at.evidence.members.values() if member.exclusion is None]
        return not at.evidence.members or not all(heard)
    return bool(at.evidence.uncovered)


def _stands_still(group: Group, alert: Alert) -> bool:
    """Whether a stall is still seen, though its queues are by now found to be in a worse state."""
    queues = [group.state.queues[index] for index in alert.queues]
    stand = all((q.stalled_ms > 0 or q.unconsumed_since_ts) and is_seen_lately(group, q) for q in queues)
    return alert.kind in BY_OFFSETS and stand


def _end(group: Group, alert: Alert, reason: Reason, at: Judged) -> None:
    alert.state = AlertState.RESOLVED.value
    group.state.alerts.remove(alert)
    if reason is Reason.RIGHT_AGAIN:
        note_end(group, alert)
    _tell(group, alert, reason, at)


def _tell(group: Group, alert: Alert, reason: Reason, at: Judged) -> None:
    state = group.state
    waiting, oldest_ts = waiting_of(at.evidence, alert)
    group.emit(
        AlertFact(
            fingerprint=fingerprint(state.cluster, state.group, alert.topic, alert.kind),
            state=alert.state,
            severity=alert.severity,
            kind=alert.kind,
            cause=alert.cause,
            evidence=evidence_of(alert),
            queues=queues_of(at.evidence, alert, at.verdicts),
            reason=reason.value,
            active_ts=alert.active_ts,
            fired_ts=alert.fired_ts or None,
            resolved_ts=state.now if alert.state == AlertState.RESOLVED.value else None,
            stale=alert.stale,
            since_ts=alert.since_ts,
            clients=clients_of(group, alert, at.verdicts, alert.clients),
            changes=changes_of(group, alert),
            waiting=waiting,
            oldest_ts=oldest_ts,
        ),
        alert.topic or None,
    )
