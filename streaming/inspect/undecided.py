"""Questions that cannot be decided yet: the possible finding, and when it can be judged."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from schemas.facts import Cause, Kind
from schemas.identity import is_retry_topic
from streaming.core.alerts.candidates import AlertCandidate, candidates_of_queues
from streaming.core.causes.explanation import Found
from streaming.core.causes.table import EXPLAINED, explain
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.finding_kinds import KINDS, UNDECIDED, WRONG, fires_after_ms
from streaming.core.findings.group_findings import severity_of
from streaming.core.findings.queue_facts import recorded_since
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.verdict import GroupFinding, Verdict
from streaming.inspect.observed_groups import ObservedGroup
from streaming.inspect.queues import may_be, undecided_of
from streaming.inspect.snapshot import Undecided
from streaming.inspect.stalling import may_stall
from streaming.notices.evidence_english import in_english, reason_in_english
from streaming.wording.lists import grouped, joined
from streaming.wording.numbers import counted
from streaming.wording.times import age, moment

SHOWN = {
    Kind.DUPLICATED: "more than one instance reports that it owns them",
    Kind.ORPHANED: "no client reports that it owns them",
    Kind.MISPLACED: "owned by another client than the strategy assigns",
    Kind.PHANTOM: "owned, though the topic's route does not have them",
    Kind.NO_MEMBERS: "no client to consume them",
    Kind.UNPOLLED: "no client polls them",
}
SAID_ONCE = "certain once every client and broker concerned has confirmed it"
MESSAGES_NOT_KNOWN = "how many messages wait is not known: its brokers have not given the offsets"
MOST_SILENT = 3
NO_TOPIC = "no topic is known that its members subscribe to"


def found_by_kind(findings: TopicFindings) -> Iterator[tuple[Kind, list[int], AlertCandidate | None]]:
    """Each finding of the core, the indices of its queues, and the alert that the evidence supports."""
    group = findings.evidence.group
    candidates = candidates_of_queues(group, [findings], recorded_since(group, [findings]))
    wrong = [(verdict.kind, index) for index, verdict in findings.verdicts.items() if verdict.kind in WRONG]
    for kind, those in grouped(wrong, lambda one: one[0]).items():
        yield kind, [index for _, index in those], candidates.get((findings.evidence.topic.name, kind.value))


def of_empty(observed: ObservedGroup, evidence: GroupEvidence) -> Iterator[Undecided]:
    """A group without members that messages wait for: a look cannot show since when it has none."""
    waiting = observed.offsets.waiting(evidence.now)
    if waiting.messages == 0:
        return
    wait = f"{waiting.messages} messages wait in {counted(waiting.queues, 'queue')}"
    parts = [
        "no broker lists a member",
        MESSAGES_NOT_KNOWN if waiting.messages is None else wait,
        f"the newest of those consumed was stored {age(evidence.now - waiting.consumed_ts)} ago"
        if waiting.consumed_ts
        else "",
        "since when it has no members is not known: one that was retired looks the same",
    ]
    yield Undecided(kind=Kind.NO_MEMBERS.value, evidence="; ".join(filter(None, parts)))


def is_too_young(evidence: GroupEvidence, found: GroupFinding) -> bool:
    """True if it has not lasted for as long as an alert needs, for a kind that a healthy group may show for a while.

    False if the group is expected to have members at any time. Other kinds are certain as soon as they are seen.
    """
    if KINDS[found.kind].fires_after is None or evidence.group.rule.always_on:
        return False
    return _held_for_ms(evidence, found) > 0


def _held_for_ms(evidence: GroupEvidence, found: GroupFinding) -> int:
    timing = evidence.group.timing
    return fires_after_ms(found.kind, severity_of(evidence, found), timing) - (evidence.now - found.since_ts)


def of_group_finding(evidence: GroupEvidence, found: GroupFinding) -> Undecided:
    """A finding that is so now, and may end soon by itself."""
    left_ms = _held_for_ms(evidence, found)
    return Undecided(
        kind=found.kind.value,
        topic=found.topic or None,
        queues=tuple(evidence.group.message_queue(index)[1:] for index in found.queues),
        cause=None if found.cause is None else found.cause.value,
        evidence=in_english(found.observed, moment),
        judged_in_s=-(-left_ms // 1000),
    )


def of_topic(findings: TopicFindings) -> Iterator[Undecided]:
    """The questions of a topic: possible findings first, then unknown queues, then queues that may stall."""
    yield from _said_once(findings)
    unclear: defaultdict[tuple[Kind, str], list[int]] = defaultdict(list)
    for index, verdict in findings.verdicts.items():
        if verdict.kind in UNDECIDED:
            supposed = may_be(findings.evidence, index, verdict.kind)
            unclear[supposed or Kind.UNKNOWN, _why_unknown(verdict)].append(index)
    for (kind, why), indices in sorted(unclear.items(), key=lambda item: item[0][0] is Kind.UNKNOWN):
        yield _unclear(findings, kind, indices, why)
    yield from may_stall(findings)


def _said_once(findings: TopicFindings) -> Iterator[Undecided]:
    """Questions after one report. Clients are asked one after the other, so a queue that moves looks wrong."""
    for kind, indices, candidate in found_by_kind(findings):
        if candidate is not None and not candidate.has_held_long_enough:
            yield _unclear(findings, kind, indices, SAID_ONCE)


def _why_unknown(verdict: Verdict) -> str:
    if verdict.kind is not Kind.UNKNOWN or verdict.reason is None:
        return ""
    return reason_in_english(*verdict.reason, moment)


def _unclear(findings: TopicFindings, kind: Kind, indices: list[int], why: str) -> Undecided:
    topic = findings.evidence
    cause, words = _cause(findings, kind, indices)
    wait_ms = topic.grace.ready_ts - topic.now
    evidence = joined(SHOWN.get(kind), why, words, by="; ")
    judged_in_s = -(-wait_ms // 1000) if wait_ms > 0 and not why else None
    return undecided_of(findings, kind, indices, evidence, cause, judged_in_s)


def _cause(findings: TopicFindings, kind: Kind, indices: list[int]) -> tuple[str | None, str]:
    """The cause, only if one fits: a finding that may last a moment needs none."""
    if kind not in EXPLAINED:
        return None, ""
    why = explain(findings.evidence, Found(kind, frozenset(indices)), findings.right(kind))
    if why is None or why.cause is Cause.UNEXPLAINED:
        return None, ""
    return why.cause.value, in_english(why.observed, moment)


def of_coverage(observed: ObservedGroup, evidence: GroupEvidence) -> Iterator[Undecided]:
    """The missing answers: brokers without a list of members, members without a report, and refused events."""
    for told, why in observed.refused.items():
        yield of_group(f"{told} was received and refused: {why}")
    for broker in observed.brokers:
        if not broker.answered:
            yield of_group(f"no list of members from {broker.broker_name}: {broker.error or 'no answer'}")
    if not evidence.members or evidence.exclusion is not None:
        return
    silent = [member.client.client_id for member in evidence.members.values() if not member.reports]
    for client_id in silent[:MOST_SILENT]:
        yield of_group(f"no report from {client_id}: {observed.why_silent(client_id)}")
    if len(silent) > MOST_SILENT:
        yield of_group(f"no report from {len(silent) - MOST_SILENT} more")
    if not any(not is_retry_topic(topic.name) for topic in evidence.group.state.topics):
        yield of_group(NO_TOPIC)


def of_unknown_brokers(observed: ObservedGroup, findings: list[TopicFindings]) -> Iterator[Undecided]:
    """Brokers on which members own queues, but without a route: they may have been lost before the look began."""
    hosting = {broker.broker_name for broker in observed.brokers}
    for one in findings:
        state = one.evidence.group.state
        hosting |= {state.brokers[index].name for index in one.evidence.hosts}
    queues = [one.evidence.group.message_queue(index) for one in findings for index in one.verdicts]
    owned = Counter(queue.broker_name for queue in queues if queue.broker_name not in hosting)
    for name, number in sorted(owned.items()):
        yield of_group(
            f"nothing was asked of {name}: no route has it, but members own {counted(number, 'queue')} there; it may "
            "have been lost, with what waits in it"
        )


def of_group(evidence: str) -> Undecided:
    """The whole group, or a part of it, is unknown."""
    return Undecided(kind=Kind.UNKNOWN.value, evidence=evidence)
