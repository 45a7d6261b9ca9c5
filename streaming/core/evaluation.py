"""One evaluation of a group, at a round marker: evidence, findings, conditions, alerts, rebalance, members, status."""

from collections import Counter

from schemas.facts import AlertState, EvaluationFailedFact, GroupFact, Kind
from streaming.core.abandoned import abandoned_topics
from streaming.core.alerting import update_alerts
from streaming.core.clock import as_text
from streaming.core.comparison import TopicFindings, compare
from streaming.core.conditions import RESTLESS_FOR_MS, Found, find_conditions, lasting_conditions
from streaming.core.deploys import note_mismatch
from streaming.core.episodes import update_episode
from streaming.core.evidence import GroupEvidence
from streaming.core.group import Group
from streaming.core.kinds import RIGHT, WRONG
from streaming.core.membership import hosting_brokers, is_listed
from streaming.core.roster import KEPT_AFTER_LEAVING_MS, forget_the_gone, tell_members
from streaming.core.state import Topic
from streaming.core.topic_evidence import UNSUBSCRIBED_AFTER_MS

STATUS_AGAIN_MS = 3_600_000  # so that a reader can tell a group at rest from one of which no round comes any more


def evaluate(group: Group, before: int) -> None:
    """Evaluate if anything could have changed. ``before``: the marker before this one.

    A group whose evaluation raises is UNKNOWN until it succeeds again: a fact, and no harm to others.
    """
    state = group.state
    if state.now < state.due_ts:
        return
    try:
        _evaluate(group, before)
        state.failed = False
    except Exception as error:  # a fault of ours in one group must not end the query for all
        _tell_failure(group, error)
        state.due_ts = 0


def _evaluate(group: Group, before: int) -> None:
    group.abandoned = abandoned_topics(group)
    evidence = GroupEvidence(group)
    found = compare(group, evidence)
    conditions = find_conditions(evidence)
    note_mismatch(group, _causes(found, conditions))
    update_alerts(group, evidence, found, conditions)
    group.state.conditions = lasting_conditions(evidence, conditions)
    update_episode(group, evidence, found, before)
    tell_members(group, evidence)
    _tell_status(group, evidence, found, conditions)
    group.state.due_ts = _due(group, evidence, found)
    forget_the_gone(group)


def _causes(found: list[TopicFindings], conditions: list[Found]) -> set[str]:
    named = {condition.cause for condition in conditions if condition.cause is not None}
    return named | {why.cause.value for findings in found for why in findings.why.values()}


def _tell_failure(group: Group, error: Exception) -> None:
    if group.state.failed:
        return
    group.state.failed = True
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = "" if frame is None else f"{frame.tb_frame.f_code.co_name}:{frame.tb_lineno}"
    group.tell(EvaluationFailedFact(error=f"{type(error).__name__}: {error}"[:500], where=where))
    group.state.status, group.state.status_ts = "evaluation failed", group.state.now
    group.tell(
        GroupFact(
            status="unknown",
            members=0,
            queues=len(group.state.queues),
            counts={Kind.UNKNOWN.value: len(group.state.queues)},
            brokers_covered=0,
            brokers_known=len(group.state.brokers),
            members_reporting=0,
            reason="evaluation failed",
        )
    )


def _tell_status(group: Group, evidence: GroupEvidence, found: list[TopicFindings], conditions: list[Found]) -> None:
    state = group.state
    counts = Counter(verdict.kind.value for findings in found for verdict in findings.verdicts.values())
    kinds = Counter(condition.kind.value for condition in conditions)
    fact = GroupFact(
        status=_status(evidence, found, counts, conditions),
        members=sum(member.entries for member in evidence.members.values()),
        queues=sum(counts.values()),
        counts=dict(sorted((counts + kinds).items())),
        brokers_covered=len(state.brokers) - len(evidence.uncovered),
        brokers_known=len(state.brokers),
        members_reporting=sum(1 for member in evidence.members.values() if member.as_of),
        reason=_why(evidence, found),
    )
    shown = f"{fact.status} {fact.members} {fact.counts} {fact.brokers_covered}"
    if any(findings.evidence.untold for findings in found):
        shown += f" {fact.reason}"  # it lasts
    if shown != state.status or state.now - state.status_ts >= STATUS_AGAIN_MS:
        state.status, state.status_ts = shown, state.now
        group.tell(fact)


def _status(evidence: GroupEvidence, found: list[TopicFindings], counts: Counter[str], conditions: list[Found]) -> str:
    if evidence.exclusion is not None:
        return "excluded"
    if not evidence.members and not evidence.uncovered:
        return "empty"
    if WRONG & set(map(Kind, counts)):
        return "findings"
    if any(found.kind is not Kind.IDLE_MEMBERS for found in conditions):
        return "findings"
    if evidence.uncovered or not counts or any(_is_unknown(findings) for findings in found):
        return "unknown"
    return "settling" if counts[Kind.SETTLING.value] or counts[Kind.UNKNOWN.value] else "healthy"


def _why(evidence: GroupEvidence, found: list[TopicFindings]) -> str | None:
    """Why nothing more can be said: of the whole group, or of its first queue that is UNKNOWN, else SETTLING."""
    if evidence.exclusion is not None:
        return evidence.exclusion
    if not evidence.members and not evidence.uncovered:
        since = evidence.group.state.empty_since
        return f"no broker has listed a member since {as_text(since)}" if since else "no broker lists a member"
    reasons = {v.kind: v.reason for f in reversed(found) for v in reversed(f.verdicts.values())}
    return reasons.get(Kind.UNKNOWN) or reasons.get(Kind.SETTLING)


def _is_unknown(findings: TopicFindings) -> bool:
    """Some queue is UNKNOWN, and not merely because the topic has just changed."""
    is_settling = findings.evidence.route_known and findings.evidence.now < findings.evidence.ready_ts
    return not is_settling and any(verdict.kind is Kind.UNKNOWN for verdict in findings.verdicts.values())


def _due(group: Group, evidence: GroupEvidence, found: list[TopicFindings]) -> int:
    """Until when, without news, evaluating would find the same; 0: evaluate at the next marker."""
    state, timing = group.state, group.timing
    kinds = {verdict.kind for findings in found for verdict in findings.verdicts.values()}
    restless = (
        not kinds <= RIGHT
        or state.episode is not None
        or any(alert.state == AlertState.PENDING.value or alert.seen_ts < state.now for alert in state.alerts)
        or any(condition.since_ts == state.now for condition in state.conditions)
        or state.empty_since
        or any(state.brokers[place].lost_ts for place in hosting_brokers(state))
    )
    if restless:
        return 0
    due = [m.as_of + timing.report_max_age for m in evidence.members.values() if m.as_of]
    due.append(state.status_ts + STATUS_AGAIN_MS)
    due += [topic.confirmed_ts + timing.route_max_age for topic in state.topics if topic.confirmed_ts]
    due += [f.evidence.ready_ts for f in found if f.evidence.ready_ts > state.now]
    due += [m.client.double_ts + timing.second_address_proof for m in evidence.members.values() if m.entries > 1]
    due += [
        topic.unsubscribed_ts + UNSUBSCRIBED_AFTER_MS for topic in state.topics if _is_soon_given_up(topic, state.now)
    ]
    due += [change.ts + timing.storm_window for change in state.changes[:1]]
    often = [one for one in state.restless if one.times > timing.storm_changes]
    due += [one.since_ts + RESTLESS_FOR_MS for one in often if one.since_ts + RESTLESS_FOR_MS > state.now]
    due += [client.since_ts + KEPT_AFTER_LEAVING_MS for client in state.clients if not is_listed(client)]
    return min(due)


def _is_soon_given_up(topic: Topic, now: int) -> bool:
    return topic.unsubscribed_ts > 0 and now < topic.unsubscribed_ts + UNSUBSCRIBED_AFTER_MS
