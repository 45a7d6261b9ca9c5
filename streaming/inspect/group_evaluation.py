"""Evaluates a group by the core's own rules, and makes its snapshot. No rule here is stricter than the core's."""

from collections.abc import Iterator

from msgspec.structs import replace

from schemas.facts import Kind, Severity
from schemas.identity import is_retry_topic
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.observation import observe
from streaming.core.finding_kinds import BY_OFFSETS
from streaming.core.findings.group_findings import find_group_findings, severity_of
from streaming.core.findings.queue_facts import recorded_since
from streaming.core.findings.queue_findings import TopicFindings, judge_topics
from streaming.core.findings.verdict import GroupFinding, Verdict
from streaming.core.group_status import GroupStatus, group_status, is_excluded
from streaming.core.polls_told import polls_of_group
from streaming.core.waiting import pop_lag
from streaming.inspect import members, queues, stalling, undecided
from streaming.inspect.notes import notes_on
from streaming.inspect.observed_groups import ObservedGroup
from streaming.inspect.snapshot import AskedBroker, Finding, InspectedGroup, Undecided
from streaming.notices.english import ENGLISH
from streaming.notices.evidence_english import in_english, reason_in_english
from streaming.wording.times import moment

NO_ROUND = "no round of it has ended"


def snapshot_of(observed: ObservedGroup) -> InspectedGroup:
    """The snapshot at the newest round. A group that cannot be evaluated is unknown, and does not affect others."""
    state = observed.group.state
    if not state.now:
        return _unknown(observed, "; ".join([NO_ROUND, *(f"{told}: {why}" for told, why in observed.refused.items())]))
    try:
        return _evaluate(observed)
    except Exception as error:  # a fault of evenkeel in one group must not hide the others
        return _unknown(observed, f"evaluation failed: {type(error).__name__}: {error}")


def _evaluate(observed: ObservedGroup) -> InspectedGroup:
    group, evidence = observed.group, GroupEvidence(observed.group)
    found = judge_topics(observe(group, evidence))
    of_group = find_group_findings(evidence, recorded_since(group, found))
    held = [one for one in of_group if not undecided.is_too_young(evidence, one)]
    findings = (*_of_group(evidence, held), *(finding for topic in found for finding in _of_topic(topic)))
    too_young = [one for one in of_group if one not in held]
    open_questions = tuple(_undecided(observed, evidence, found, too_young))
    rows = [row for topic in found for row in queues.rows_of(topic, observed.offsets)]
    all_members, lag = members.rows_of(observed, evidence, rows), pop_lag(evidence)
    return InspectedGroup(
        cluster=group.state.cluster,
        group=observed.name,
        ts=group.state.now,
        looked_s=_looked_s(observed),
        status=_status(evidence, found, findings, open_questions).value,
        reason=_exclusion(evidence, found),
        message_model=evidence.message_model,
        orderly=_orderly(evidence),
        consume_enable=group.state.consume_enable,
        strategies=tuple(sorted(filter(None, evidence.classes))) or None,
        polls=polls_of_group(group),
        fifo=lag.fifo,
        in_flight=lag.in_flight,
        in_flight_ts=lag.in_flight_ts,
        findings=tuple(sorted(findings, key=lambda one: (one.severity != "critical", one.severity != "warning"))),
        undecided=open_questions,
        notes=tuple(notes_on(evidence, found, rows, all_members)),
        members=tuple(all_members) if all_members or any(one.answered for one in observed.brokers) else None,
        queues=tuple(sorted(rows, key=lambda row: (is_retry_topic(row.topic), row.topic))) or None,
        brokers=tuple(_brokers(observed)),
    )


def _orderly(evidence: GroupEvidence) -> bool | None:
    """True if the group is orderly; None if neither the group's settings nor a member have reported it."""
    is_known = evidence.group.state.orderly is not None or any(
        member.running is not None and member.running.orderly is not None for member in evidence.members.values()
    )
    return evidence.orderly if is_known or evidence.orderly else None


def _is_empty(observed: ObservedGroup, evidence: GroupEvidence) -> bool:
    """True if every broker has answered, and none lists a member."""
    return not evidence.members and bool(observed.brokers) and all(one.answered for one in observed.brokers)


def _undecided(
    observed: ObservedGroup, evidence: GroupEvidence, found: list[TopicFindings], too_young: list[GroupFinding]
) -> Iterator[Undecided]:
    if is_excluded(evidence, found):
        return
    yield from undecided.of_coverage(observed, evidence)
    yield from (undecided.of_group_finding(evidence, one) for one in too_young)
    if _is_empty(observed, evidence):
        if not evidence.group.state.group_findings:
            yield from undecided.of_empty(observed, evidence)
        return
    yield from undecided.of_unknown_brokers(observed, found)
    for topic in found:
        yield from undecided.of_topic(topic)
        yield from stalling.falls_behind(topic, observed.offsets)
    yield from stalling.without_offsets(observed, found)


def _of_group(evidence: GroupEvidence, held: list[GroupFinding]) -> Iterator[Finding]:
    for one in held:
        yield Finding(
            kind=one.kind.value,
            severity=severity_of(evidence, one).value,
            topic=one.topic or None,
            queues=tuple(evidence.group.message_queue(index)[1:] for index in one.queues),
            cause=None if one.cause is None else one.cause.value,
            evidence=in_english(one.observed, moment),
        )


def _of_topic(findings: TopicFindings) -> Iterator[Finding]:
    """One finding for each kind, with all its queues. Retry queues without waiting messages have the severity INFO."""
    for kind, indices, candidate in undecided.found_by_kind(findings):
        if candidate is not None and not candidate.has_held_long_enough:
            continue
        why, verdict = findings.why.get(kind), findings.verdicts[indices[0]]
        parts = [verdict.observed, None if why is None else why.observed]
        said = [in_english(part, moment) for part in parts if part is not None]
        if candidate is not None and candidate.waits_for_deploy:
            said.append("a rolling deploy may be the reason: until it ends, the job waits with the alert")
        yield Finding(
            kind=kind.value,
            severity=Severity.INFO.value if candidate is None else candidate.severity.value,
            topic=findings.evidence.topic.name,
            queues=queues.names_of(findings, indices),
            cause=None if why is None else why.cause.value,
            evidence="; ".join([*said, *_of_reason(verdict)]),
        )


def _of_reason(verdict: Verdict) -> Iterator[str]:
    """The reason why its expected owners are not known, or why it does no harm that it is not consumed."""
    if verdict.reason is not None:
        why = reason_in_english(*verdict.reason, moment)
        yield why if verdict.kind in BY_OFFSETS else ENGLISH.expected_not_known.format(why=why).lstrip(", ")


def _status(
    evidence: GroupEvidence,
    found: list[TopicFindings],
    findings: tuple[Finding, ...],
    open_questions: tuple[Undecided, ...],
) -> GroupStatus:
    """The status in the core's order. A healthy group must be judged completely, so undecided things count, too."""
    wrong = any(finding.severity in ("critical", "warning") for finding in findings)
    unknown = any(one.kind == Kind.UNKNOWN.value for one in open_questions)
    empty = not evidence.members and not wrong and not unknown and not evidence.uncovered
    says_nothing = not wrong and not unknown and bool(evidence.members)
    judged = any(verdict.kind in (Kind.MATCH, Kind.POLLED) for topic in found for verdict in topic.verdicts.values())
    return group_status(
        excluded=is_excluded(evidence, found) or (says_nothing and _exclusion(evidence, found) is not None),
        empty=empty,
        wrong=wrong,
        unknown=unknown or not (evidence.members or empty) or not (judged or open_questions),
        undecided=bool(open_questions),
    )


def _exclusion(evidence: GroupEvidence, found: list[TopicFindings]) -> str | None:
    """The reason why all of the group is excluded: the group itself, or each of its topics but the retry topic."""
    if evidence.exclusion is not None and is_excluded(evidence, found):
        return evidence.exclusion
    reasons = [topic.evidence.exclusion for topic in found if topic.verdicts and not topic.evidence.is_retry]
    return reasons[0] if reasons and None not in reasons else None


def _brokers(observed: ObservedGroup) -> Iterator[AskedBroker]:
    for one in observed.brokers:
        yield AskedBroker(
            broker_name=one.broker_name,
            answered=one.answered,
            error=None if one.answered else one.error or "no answer",
            listed=len(one.client_ids) if one.answered else None,
        )


def _looked_s(observed: ObservedGroup) -> float:
    return round(max(0, observed.group.state.now - observed.first_ts) / 1000, 1) if observed.first_ts else 0.0


def absent(cluster: str, name: str, ts: int, why: str, is_certain: bool) -> InspectedGroup:
    """A group that was asked for and that no broker has named. ``is_certain``: every broker has answered."""
    return InspectedGroup(
        cluster=cluster,
        group=name,
        ts=ts,
        looked_s=0.0,
        status="absent" if is_certain else "unknown",
        reason=why,
        undecided=(undecided.of_group(why),),
    )


def _unknown(observed: ObservedGroup, why: str) -> InspectedGroup:
    state = observed.group.state
    known = {"looked_s": _looked_s(observed), "brokers": tuple(_brokers(observed))}
    return replace(absent(state.cluster, observed.name, state.now, why, False), **known)
