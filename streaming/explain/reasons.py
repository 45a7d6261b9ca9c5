"""The named reasons in words: the reasons for an alert's change of state, and for a queue without an alert."""

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from schemas.reasons import EXCLUSIONS
from streaming.core.alerts.phases import AlertReason
from streaming.core.finding_kinds import ALERTING_OF_QUEUES
from streaming.explain.snapshot import ExplainedGroup, ExplainedQueue, UnalertedQueues
from streaming.notices.evidence import Clock
from streaming.notices.evidence_english import reason_in_english, reason_in_short
from streaming.wording.times import moment

WHY: dict[str, str] = {
    AlertReason.FOUND: "found; the alert fires once every client and broker concerned has confirmed it",
    AlertReason.HELD_LONG_ENOUGH: "every client and broker concerned has confirmed it",
    AlertReason.QUEUES_CHANGED: "other queues are affected now; it is the same alert, so there is no new page",
    AlertReason.CAUSE_CHANGED: "another cause is named now; it is the same alert, so there is no new page",
    AlertReason.SEVERITY_CHANGED: "the severity has changed",
    AlertReason.WAITING_CHANGED: "the number of waiting messages has changed",
    AlertReason.EVIDENCE_LOST: "the clients or brokers that showed it do not answer now; the alert stays open"
    " until they do",
    AlertReason.EVIDENCE_BACK: "the evidence is back, and the fault is still there",
    AlertReason.COMES_AND_GOES: (
        "the fault is gone for now, but has come back before; the alert stays open until it has been gone for an hour"
    ),
    AlertReason.LISTS_DIFFER: (
        "the fault is gone for now, but brokers list different members; the alert stays open until the lists agree"
    ),
    AlertReason.CAME_BACK: "found again; it is the same alert, so there is no new page",
    AlertReason.RIGHT_AGAIN: "new evidence shows that the fault is over",
    AlertReason.CLEARED_BEFORE_FIRING: "it was over before it fired, so no page was sent",
    AlertReason.GONE: "no broker has listed a member of the group for an hour",
    AlertReason.FORGOTTEN: "an operator retired the group (evenkeel forget)",
    AlertReason.EXCLUDED: "evenkeel no longer judges it; this does not mean that it is right",
    AlertReason.WAITS_FOR_DEPLOY: (
        "the fault has lasted long enough, but members are being replaced; evenkeel waits until the deploy ends"
    ),
}
UNALERTED = {
    Kind.UNKNOWN: "evidence is missing, and evenkeel does not alert on what it does not know",
    Kind.SETTLING: "a healthy rebalance may look like this for a moment, so evenkeel waits for the end of the grace",
    Kind.NO_MEMBERS: "the group has no members; if that is a fault, the alert is one of the whole group",
    Kind.CONSUME_DISABLED: "consuming is forbidden on purpose (consumeEnable=false), so there is no alert",
}

NOT_JUDGED = "evenkeel does not judge these queues"


def why_of(reason: str) -> str:
    """The reason in words. A reason of another version is shown unchanged."""
    return WHY.get(reason, reason)


def why_no_alert(topic: str, finding: str, reason: str | None) -> str:
    if finding == Kind.EXCLUDED:
        return reason_in_english(reason, None, moment) if reason in EXCLUSIONS else NOT_JUDGED
    if finding in UNALERTED:
        return UNALERTED[Kind(finding)]
    if is_retry_topic(topic):
        return "a retry topic; it alerts only while messages wait in it"
    if finding in ALERTING_OF_QUEUES:
        return "its alert had not been written yet at that time"
    return "such a finding does not alert"


def reason_of(it: ExplainedGroup | ExplainedQueue | UnalertedQueues, clock: Clock) -> str | None:
    """The reason why it is not judged, with times in the reader's zone."""
    return reason_in_short(it.reason_kind, it.reason_details, clock)
