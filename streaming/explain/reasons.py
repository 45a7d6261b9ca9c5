"""The named reasons in words: why an alert changed its state, and why a queue has no alert."""

from schemas.facts import AlertState, Kind
from schemas.identity import is_retry_topic
from schemas.reasons import EXCLUSIONS
from streaming.core.alerts.phases import AlertReason
from streaming.core.finding_kinds import ALERTING_OF_QUEUES
from streaming.explain.snapshot import ExplainedGroup, ExplainedQueue, UnalertedQueues
from streaming.notices.evidence import Clock
from streaming.notices.reasons_english import reason_in_english, reason_in_short
from streaming.wording.times import moment

WHY: dict[str, str] = {
    AlertReason.FOUND: "it begins, and fires when it has held and all that it rests on have said it again",
    AlertReason.HELD_LONG_ENOUGH: "it held, and everybody it rests on has said it again since",
    AlertReason.QUEUES_CHANGED: "the same alert with other queues, so no new page",
    AlertReason.CAUSE_CHANGED: "the same alert with another cause, so no new page",
    AlertReason.SEVERITY_CHANGED: "the same alert with another severity",
    AlertReason.WAITING_CHANGED: "the same alert with another number of messages that wait",
    AlertReason.EVIDENCE_LOST: "what would decide it is not known now, which never resolves an alert",
    AlertReason.EVIDENCE_BACK: "it is seen again, and still found",
    AlertReason.COMES_AND_GOES: (
        "right for now, but it has come back before: it stays open until it is right for an hour"
    ),
    AlertReason.LISTS_DIFFER: "right for now, by chance: it stays open until the topic's brokers list the same members",
    AlertReason.CAME_BACK: "found again while it was right for now: the same alert, so no new page",
    AlertReason.RIGHT_AGAIN: "the evidence has said for long enough that it is over",
    AlertReason.CLEARED_BEFORE_FIRING: "it was over while still pending, so no page was sent",
    AlertReason.GONE: "no covered broker has listed a member for an hour",
    AlertReason.FORGOTTEN: "an operator had the group forgotten",
    AlertReason.EXCLUDED: "it is not evenkeel's to judge any more, which does not say that it is right",
    AlertReason.WAITS_FOR_DEPLOY: "it has held long enough, but members are being replaced: a deploy is waited for",
}
UNALERTED = {
    Kind.UNKNOWN: "evidence is missing, and what is not known never alarms",
    Kind.SETTLING: "a healthy rebalance may look like this: it is not judged before the grace is over",
    Kind.NO_MEMBERS: "the group has no members: that is an alert of the whole group, if it is one",
    Kind.CONSUME_DISABLED: "the subscription group forbids consuming (consumeEnable=false) on purpose, so no alert",
}

NOT_JUDGED = "they are not evenkeel's to judge"


def why_of(reason: str) -> str:
    """In words. A reason of another version is shown as it is."""
    return WHY.get(reason, reason)


def why_no_alert(topic: str, finding: str, reason: str | None) -> str:
    """Why queues with this finding are in no alert."""
    if finding == Kind.EXCLUDED:
        return reason_in_english(reason, None, moment) if reason in EXCLUSIONS else NOT_JUDGED
    if finding in UNALERTED:
        return UNALERTED[Kind(finding)]
    if is_retry_topic(topic):
        return "a retry topic: it alerts only while messages wait in it"
    if finding in ALERTING_OF_QUEUES:
        return "its alert had not been written yet at that time"
    return "such a finding does not alert"


def reason_of(it: ExplainedGroup | ExplainedQueue | UnalertedQueues, clock: Clock) -> str | None:
    """Why it is not judged, with times as the reader has them; in facts of evenkeel 0.1 as it stands there."""
    if it.reason_kind is None:
        return it.reason
    return reason_in_short(it.reason_kind, it.reason_details, clock)


def is_open(state: str) -> bool:
    return state != AlertState.RESOLVED
