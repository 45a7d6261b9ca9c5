"""Reads from a round's evidence whether an open alert goes on, is over or cannot be decided. Changes nothing."""

from typing import NamedTuple

from schemas.facts import Cause, Kind, Severity, WaitsFor
from schemas.reasons import ReasonKind
from streaming.core.alerts.candidates import AlertCandidate
from streaming.core.alerts.deploy_wait import comes_of_members_that_differ
from streaming.core.alerts.details import AlertDetails
from streaming.core.alerts.phases import PENDING_PHASES, AlertReason, Signal
from streaming.core.evidence.exclusions import OF_WHOLE_GROUPS, PERMANENT_EXCLUSIONS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.stalls import has_members_again, has_waited_too_long
from streaming.core.finding_kinds import (
    ALERTING_OF_QUEUES,
    BY_OFFSETS,
    BY_POLLS,
    DECIDED_BY_REPORTS,
    KINDS,
    WHATEVER_MEMBERS_RUN,
)
from streaming.core.findings.consumed_again import is_counted_again, is_read_no_more
from streaming.core.findings.queue_facts import Since
from streaming.core.findings.verdict import Verdict
from streaming.core.state.group import Group
from streaming.core.state.group_state import Alert, EndedAlert
from streaming.core.state.offsets import is_seen_lately, is_seen_to_be_consumed, is_seen_to_move

DEPLOY_WAIT_MS = 540_000  # so that what lasts ten minutes alerts by then
GONE_AFTER_MS = 3_600_000  # a group without members, or a queue without a route, for so long is retired


class RoundResult(NamedTuple):
    """All that was found at this marker, and since when. ``divided``: topics whose brokers list different members.

    ``details``: what facts say of queues, clients and changes, made once for all alerts.
    """

    evidence: GroupEvidence
    verdicts: dict[int, Verdict]
    since: Since
    details: AlertDetails
    divided: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """The signal that the evidence of this round gives for an alert. ``reason``: the signal's own, where it has one."""

    signal: Signal
    reason: AlertReason | None = None


class Wait(NamedTuple):
    """The reason why an alert does not fire yet. A deploy ends by then at the latest, TIME at the earliest."""

    what: WaitsFor
    until_ts: int


def with_candidate(group: Group, alert: Alert, candidate: AlertCandidate) -> Outcome:
    """The evidence supports the alert. It may fire once it has held long enough, or has come again."""
    if alert.phase not in PENDING_PHASES:
        return Outcome(Signal.FOUND)
    wait = wait_of(group, alert, candidate)
    if wait is None:
        return Outcome(Signal.MAY_FIRE)
    may_fire = _may_fire(alert, candidate)
    return Outcome(Signal.HELD_BACK, AlertReason.WAITS_FOR_DEPLOY) if may_fire else Outcome(Signal.FOUND)


def wait_of(group: Group, alert: Alert, candidate: AlertCandidate) -> Wait | None:
    """The reason why it does not fire yet: a deploy, or that it has to last. After ten minutes it waits for nothing.

    Nor does it wait for a deploy where messages wait unread meanwhile: that is harm, whatever the deploy intends.
    """
    if candidate.is_overdue:
        return None
    until_ts = deploy_waited_until(group, alert, candidate)
    if until_ts > group.state.now and not candidate.is_harm:
        return Wait(WaitsFor.DEPLOY, until_ts)
    return None if _may_fire(alert, candidate) else Wait(WaitsFor.TIME, candidate.holds_until_ts)


def _may_fire(alert: Alert, candidate: AlertCandidate) -> bool:
    """It has held for long enough, or has come again after it looked right for a while: that is as good."""
    return candidate.has_held_long_enough or alert.right_since_ts > 0


def deploy_waited_until(group: Group, alert: Alert, candidate: AlertCandidate) -> int:
    """Until when a rolling deploy that may bring the alert about is waited for; 0: there is none."""
    if not candidate.waits_for_deploy:
        return 0
    return _differ_since(group, alert, candidate) + group.timing.deploy_wait_ms


def severity_of(group: Group, alert: Alert, candidate: AlertCandidate) -> Severity:
    """A warning for as long as the deploy is waited for that it did not wait for; what was critical stays so."""
    is_pending = alert.phase in PENDING_PHASES
    is_harm = candidate.is_harm if is_pending else (alert.kind, alert.severity) == (Kind.ORPHANED, Severity.WARNING)
    is_of_a_deploy = is_harm and deploy_waited_until(group, alert, candidate) > group.state.now
    return Severity.WARNING if is_of_a_deploy else candidate.severity


def _differ_since(group: Group, alert: Alert, candidate: AlertCandidate) -> int:
    """Since when the first of the queues has been so, or of those of another alert that waits for the same.

    Or that waited for it beside this one, and fires by now.
    """
    waited = (o for o in group.state.alerts if o.phase in PENDING_PHASES or o.fired_ts > alert.active_ts)
    of_the_same = [other.active_ts for other in waited if comes_of_members_that_differ(other.cause)]
    return min(alert.active_ts, candidate.since_ts, *of_the_same)


def without_candidate(group: Group, alert: Alert, at: RoundResult) -> Outcome:
    """Nothing supports the alert now: is it over, or is the evidence lost?"""
    if _is_gone(group, alert, at):
        return Outcome(Signal.OVER, AlertReason.GONE)
    exclusion = _why_excluded(alert, at)
    is_permanent = exclusion in PERMANENT_EXCLUSIONS
    over_after_ms = KINDS[Kind(alert.kind)].resolves_after(group.timing) if is_permanent else group.timing.gone_after_ms
    # an alert about the whole group is excluded since evidence last supported it
    excluded_since_ts = max([alert.seen_ts, *(at.since[i].since_ts for i in alert.queues if i in at.since)])
    if exclusion is not None and group.state.now - excluded_since_ts >= over_after_ms:
        return Outcome(Signal.OVER, AlertReason.EXCLUDED)
    if is_permanent:
        return Outcome(Signal.NOT_JUDGED)
    if _is_open(group, alert, at):
        return Outcome(Signal.SEEN_TO_STALL if _stands_still(group, alert) else Signal.UNDECIDED)
    return _looks_right(group, alert, at)


def _looks_right(group: Group, alert: Alert, at: RoundResult) -> Outcome:
    lists_differ = _comes_of_lists_that_differ(alert, at)
    if alert.phase in PENDING_PHASES:
        return Outcome(Signal.RIGHT_IN_TURN if lists_differ else Signal.RIGHT)
    right_ms = group.state.now - (alert.right_since_ts or group.state.now)
    if right_ms < KINDS[Kind(alert.kind)].resolves_after(group.timing):
        return Outcome(Signal.RIGHT)
    if lists_differ:
        return Outcome(Signal.KEPT_OPEN, AlertReason.LISTS_DIFFER)
    if is_flapping(alert) and right_ms < ALERT_RETURNS_WITHIN_MS:  # one incident, told once
        return Outcome(Signal.KEPT_OPEN, AlertReason.COMES_AND_GOES)
    return Outcome(Signal.RIGHT_FOR_LONG)


def _comes_of_lists_that_differ(alert: Alert, at: RoundResult) -> bool:
    """True if it is one incident for as long as they do, however often it looks right in between.

    At every rebalance each client asks any one broker of the topic (MQClientInstance.findConsumerIdList), so queues
    look right by chance, and change hands again; often before those who own them could be asked a second time.
    """
    return alert.cause == Cause.VIEW_DIVERGENCE and alert.topic in at.divided


def _is_gone(group: Group, alert: Alert, at: RoundResult) -> bool:
    """Absent from every covered broker, or not read, for so long that nobody waits for it any more."""
    state = group.state
    if alert.queues and all(_is_long_gone(group, index, at) for index in alert.queues):
        return True
    if alert.kind == Kind.CONSUMED_AGAIN and is_read_no_more(at.evidence, alert.topic):
        return True
    is_absent = not at.evidence.members and not at.evidence.uncovered  # also where the route is not known any more
    if alert.kind in ALERTING_OF_QUEUES and alert.queues:
        is_absent |= all(p in at.verdicts and at.verdicts[p].kind is Kind.NO_MEMBERS for p in alert.queues)
    needs_no_member = alert.kind in (Kind.NO_MEMBERS, Kind.UNREADABLE_QUEUES)  # seen as long as the group is empty
    since = state.empty_since if needs_no_member else max(state.empty_since, alert.seen_ts)
    return is_absent and state.now - since >= group.timing.gone_after_ms


def _is_long_gone(group: Group, index: int, at: RoundResult) -> bool:
    """True if the queue left the route so long ago, or its broker is down for so long, that nobody waits for it."""
    if index in at.verdicts or index not in at.since:
        return False
    queue, since = group.state.queues[index], at.since[index]
    left_ts = since.since_ts if since.has_left_route else group.state.now
    since_ts = group.broker_of(queue).lost_ts or left_ts
    return group.state.now - since_ts >= group.timing.gone_after_ms


def _why_excluded(alert: Alert, at: RoundResult) -> ReasonKind | None:
    """Why evenkeel judges nothing any more that the alert is about. That it is not judged does not say it is right."""
    if alert.kind not in ALERTING_OF_QUEUES:
        is_left_out = at.evidence.exclusion in OF_WHOLE_GROUPS
        is_judged = Kind(alert.kind) in WHATEVER_MEMBERS_RUN and not is_left_out
        return None if is_judged else at.evidence.exclusion
    verdicts = [at.verdicts[index] for index in alert.queues if index in at.verdicts]
    is_excluded = bool(verdicts) and all(verdict.kind is Kind.EXCLUDED for verdict in verdicts)
    why = verdicts[0].reason if is_excluded else None
    return None if why is None else why.kind


def _is_open(group: Group, alert: Alert, at: RoundResult) -> bool:
    """True if the evidence that would end the alert is lacking."""
    if alert.kind in ALERTING_OF_QUEUES:
        return any(is_undecided(group, alert, index, at) for index in alert.queues)
    if _why_excluded(alert, at) is not None:
        return True
    if alert.kind == Kind.INCONSISTENT_SUBSCRIPTION and alert.observed.subscriptions_in_turn is None:
        heard = [one.as_of and at.evidence.is_described(one) for one in at.evidence.balancing]
        return not at.evidence.members or not all(heard)
    if alert.kind == Kind.INCONSISTENT_SUBSCRIPTION:  # it rests on what brokers show, not on reports
        return not at.evidence.members or bool(at.evidence.uncovered)
    if alert.kind == Kind.NO_MEMBERS and _may_be_gone_again(group, at.evidence):
        return True
    if alert.kind == Kind.CONSUMED_AGAIN and is_counted_again(at.evidence, alert.topic):
        return True
    return bool(at.evidence.uncovered) or any(is_undecided(group, alert, index, at) for index in alert.queues)


def _may_be_gone_again(group: Group, evidence: GroupEvidence) -> bool:
    """True if members are there again, and have had no time yet to consume what has waited for ten minutes."""
    queues = group.state.queues
    return any(has_waited_too_long(evidence, queue) and has_members_again(evidence, queue) for queue in queues)


def is_undecided(group: Group, alert: Alert, index: int, at: RoundResult) -> bool:
    """True if the evidence at hand does not say that the queue has left the alert's finding."""
    if alert.kind == Kind.OFFSETS_WENT_BACK:  # over once the offset has passed its old height
        return any(setback.queue == index for setback in group.state.setbacks)
    if alert.kind == Kind.REVIVE_STUCK:  # over once it goes on, and not late
        revival = next((one for one in group.state.revivals if one.queue == index), None)
        return revival is None or not revival.moved_ts or revival.is_stuck or revival.late_since_ts > 0
    verdict = at.verdicts.get(index)
    if verdict is None and alert.kind == Kind.UNREADABLE_QUEUES and _is_left_with_messages(group, index, at):
        return True
    if verdict is None or (verdict.reason is not None and verdict.reason.kind is ReasonKind.UNREADABLE):
        return _is_lost_with_its_broker(group, index)
    if alert.kind not in ALERTING_OF_QUEUES:  # UNREADABLE_QUEUES: over once what waited is consumed
        return verdict.kind is not Kind.EXCLUDED and not is_seen_to_move(group, group.state.queues[index])
    if alert.kind in BY_OFFSETS:
        # a slow consumer goes on when something is consumed, a stall is over already when something is pulled
        goes_on = is_seen_to_be_consumed if alert.kind == Kind.SLOW_CONSUMER else is_seen_to_move
        return verdict.kind not in BY_OFFSETS and not goes_on(group, group.state.queues[index])
    if alert.kind == Kind.HEAD_BLOCKED:  # over once something is acknowledged
        return verdict.kind is not Kind.HEAD_BLOCKED and not is_seen_to_be_consumed(group, group.state.queues[index])
    if alert.kind == Kind.UNPOLLED and (verdict.kind in BY_POLLS or is_seen_to_move(group, group.state.queues[index])):
        return False  # remoting clients took the place of gRPC clients where it moves
    return (verdict.by_reports or verdict.kind) not in DECIDED_BY_REPORTS


def _is_left_with_messages(group: Group, index: int, at: RoundResult) -> bool:
    """True if it left the route, and was not seen to be empty since: a route or offsets that are lost say nothing."""
    since = at.since.get(index)
    return since is not None and since.has_left_route and group.state.queues[index].consumer_lag > 0


def _is_lost_with_its_broker(group: Group, index: int) -> bool:
    """Name servers drop a broker that is down from the routes: that its queues vanish then says nothing of them."""
    lost_ts = group.broker_of(group.state.queues[index]).lost_ts
    return lost_ts > 0 and group.state.now - lost_ts < group.timing.gone_after_ms


def _stands_still(group: Group, alert: Alert) -> bool:
    """True if a stall is still seen, though its queues are by now found to be in a worse state."""
    queues = group.queues_at(alert.queues)
    stand = all((q.stalled_ms > 0 or q.unconsumed_since_ts) and is_seen_lately(group, q) for q in queues)
    return alert.kind in BY_OFFSETS and stand


ALERT_RETURNS_WITHIN_MS = 3_600_000  # an alert that fires again within this time is the same incident
TWICE_MAY_BE_CHANCE = 2


def times_before(group: Group, alert: Alert) -> int:
    """How often the alert had fired when it was last resolved; 0 if that was too long before it was found again."""
    since = alert.active_ts - ALERT_RETURNS_WITHIN_MS
    before = [
        e for e in group.state.ended_alerts if (e.topic, e.kind) == (alert.topic, alert.kind) and e.ended_ts >= since
    ]
    return before[-1].times if before else 0


def is_flapping(alert: Alert) -> bool:
    """True if it has fired so often that it stays open until it stays right."""
    return alert.times > TWICE_MAY_BE_CHANCE


def note_end(group: Group, alert: Alert) -> None:
    """Notes that the alert was resolved, because it may come back, and drops what was resolved long ago."""
    state = group.state
    oldest = state.now - ALERT_RETURNS_WITHIN_MS
    others = [e for e in state.ended_alerts if (e.topic, e.kind) != (alert.topic, alert.kind) and e.ended_ts >= oldest]
    state.ended_alerts = [*others, EndedAlert(alert.topic, alert.kind, state.now, alert.times)]
