"""One evaluation of a group at a round marker: evidence, findings, alerts, rebalance, member facts, status."""

from schemas.facts import EvaluationFailedFact, GroupFact, Kind
from schemas.reasons import ReasonKind
from streaming.core.alerts.deploy_wait import note_mismatch
from streaming.core.alerts.lifecycle import is_any_undecided, update_alerts
from streaming.core.alerts.phases import PENDING_PHASES
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.observation import observe
from streaming.core.finding_kinds import RIGHT
from streaming.core.findings.group_findings import find_group_findings, lasting_group_findings
from streaming.core.findings.queue_facts import record_findings
from streaming.core.findings.queue_findings import TopicFindings, judge_topics
from streaming.core.findings.rebalance_storm import FLAPPING_CLIENT_MS
from streaming.core.findings.verdict import GroupFinding
from streaming.core.group_status import REPEAT_STATUS_MS, emit_group_status
from streaming.core.member_facts import emit_member_facts
from streaming.core.rebalances import update_rebalance
from streaming.core.retention import KEEP_LEFT_CLIENT_MS, abandoned_topics, forget_what_is_gone
from streaming.core.state.group import UNSUBSCRIBED_AFTER_MS, Group
from streaming.core.state.members import is_listed
from streaming.core.state.routes import hosting_brokers
from streaming.core.waiting import has_group_news, may_have_news


def evaluate(group: Group, before: int) -> None:
    """Evaluate if anything could have changed. ``before``: the marker before this one.

    If the evaluation raises, a fact says so, the group is UNKNOWN until it succeeds again, and other groups go on.
    """
    state = group.state
    if state.now < state.evaluation_due_ts:
        _note_how_long_evidence_lasts(group)
        is_at_rest = not 0 < state.evidence_lasts_until_ts <= state.now
        if is_at_rest and not may_have_news(group) and not has_group_news(group, before):
            for alert in state.alerts:  # all are supported now: with one that is not, no evaluation is skipped
                alert.seen_ts = state.now
            return
    try:
        _evaluate(group, before)
        state.failed = False
    except Exception as error:  # an error of evenkeel in one group must not end the query for all groups
        _emit_failure(group, error)
        state.evaluation_due_ts = 0


def _evaluate(group: Group, before: int) -> None:
    abandoned = abandoned_topics(group)
    evidence = GroupEvidence(group)
    found = judge_topics(observe(group, evidence, abandoned))
    since = record_findings(group, found)
    group_findings = find_group_findings(evidence, since)
    note_mismatch(group, _causes(found, group_findings))
    update_alerts(evidence, found, since, group_findings)
    group.state.group_findings = lasting_group_findings(evidence, group_findings)
    update_rebalance(group, evidence, found, before)
    emit_member_facts(group, evidence)
    emit_group_status(group, evidence, found, group_findings, is_any_undecided(group), before)
    group.state.evaluation_due_ts = _due(group, evidence, found)
    group.state.evidence_lasts_until_ts = 0
    forget_what_is_gone(group, abandoned)


def _causes(found: list[TopicFindings], group_findings: list[GroupFinding]) -> set[str]:
    named = {finding.cause for finding in group_findings if finding.cause is not None}
    return named | {why.cause.value for findings in found for why in findings.why.values()}


def _emit_failure(group: Group, error: Exception) -> None:
    if group.state.failed:
        return
    group.state.failed = True
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = "" if frame is None else f"{frame.tb_frame.f_code.co_name}:{frame.tb_lineno}"
    group.emit(EvaluationFailedFact(error=f"{type(error).__name__}: {error}"[:500], where=where))
    group.state.status, group.state.status_ts = ReasonKind.EVALUATION_FAILED.value, group.state.now
    group.emit(
        GroupFact(
            status="unknown",
            members=0,
            queues=len(group.state.queues),
            counts={Kind.UNKNOWN.value: len(group.state.queues)},
            brokers_covered=0,
            brokers_known=len(group.state.brokers),
            members_reporting=0,
            reason=ReasonKind.EVALUATION_FAILED.value,
        )
    )


def _due(group: Group, evidence: GroupEvidence, found: list[TopicFindings]) -> int:
    """Until when an evaluation would find the same if no event brings a change; 0: evaluate at the next marker.

    Not here is when reports and routes become too old: at rest they are confirmed again and again before that.
    """
    if _is_changing(group, found):
        return 0
    state, timing = group.state, group.timing
    members = evidence.members.values()
    due = [state.status_ts + REPEAT_STATUS_MS]
    due += [m.as_of + timing.report_max_age_ms for m in members if m.as_of and m.entries > 1]
    due += [m.client.two_addresses_since_ts + timing.second_address_proof_ms for m in members if m.entries > 1]
    due += [change.ts + timing.storm_window_ms for change in state.membership_changes[:1]]
    due += [client.since_ts + KEEP_LEFT_CLIENT_MS for client in state.clients if not is_listed(client)]
    return min(due + [ts for ts in _may_be_past(group, found) if ts > state.now])


def _note_how_long_evidence_lasts(group: Group) -> None:
    """Notes until when the newest report of each listed client and the route of each topic count.

    What comes between two evaluations is newer evidence only. So what lasts until a time need not be searched before.
    """
    state, timing = group.state, group.timing
    if state.now < state.evidence_lasts_until_ts:
        return
    single = (client for client in state.clients if client.reports and max(client.entries, default=0) == 1)
    ends = [client.reports[0].answered_ts + timing.report_max_age_ms for client in single]
    ends += [topic.confirmed_ts + timing.route_max_age_ms for topic in state.topics if topic.confirmed_ts]
    polls = (one.read_ts for topic in state.topics for one in topic.polls)
    ends += [ts + timing.progress_max_gap_ms for ts in polls if state.now - ts <= timing.gone_after_ms]
    state.evidence_lasts_until_ts = min(ends, default=0)


def _is_changing(group: Group, found: list[TopicFindings]) -> bool:
    """True if the next marker alone may change what is found, though no event brings a change."""
    state = group.state
    kinds = {verdict.kind for findings in found for verdict in findings.verdicts.values()}
    return (
        not kinds <= RIGHT
        or state.rebalance is not None
        or any(a.phase in PENDING_PHASES or a.seen_ts < state.now or a.next_cause_since_ts for a in state.alerts)
        or any(finding.since_ts == state.now for finding in state.group_findings)
        or bool(state.empty_since)
        or any(state.brokers[index].lost_ts for index in hosting_brokers(state))
    )


def _may_be_past(group: Group, found: list[TopicFindings]) -> list[int]:
    """When something else ends or becomes proven; if that is past, it has been found already."""
    state, timing = group.state, group.timing
    flapping = [client for client in state.flapping_clients if client.times > timing.storm_changes]
    return [
        *(findings.evidence.grace.ready_ts for findings in found),
        *(t.unsubscribed_ts + UNSUBSCRIBED_AFTER_MS for t in state.topics if t.unsubscribed_ts),
        *(client.since_ts + FLAPPING_CLIENT_MS for client in flapping),
    ]
