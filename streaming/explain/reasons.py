"""The named reasons in words: why an alert changed its state, and why a queue has no alert."""

from schemas.facts import AlertState, Kind
from schemas.identity import is_retry_topic
from streaming.core.alerts.phases import Reason
from streaming.core.finding_kinds import ALERTING_OF_QUEUES
from streaming.wording.exclusions import why_excluded

WHY: dict[str, str] = {
    Reason.FOUND: "it begins, and fires when it has held and all that it rests on have said it again",
    Reason.HELD_LONG_ENOUGH: "it held, and everybody it rests on has said it again since",
    Reason.QUEUES_CHANGED: "the same alert with other queues, so no new page",
    Reason.CAUSE_CHANGED: "the same alert with another cause, so no new page",
    Reason.SEVERITY_CHANGED: "the same alert with another severity",
    Reason.EVIDENCE_LOST: "what would decide it is not known now, which never resolves an alert",
    Reason.EVIDENCE_BACK: "it is seen again, and still found",
    Reason.COMES_AND_GOES: "right for now, but it has come back before: it stays open until it is right for an hour",
    Reason.LISTS_DIFFER: "right for now, by chance: it stays open until the topic's brokers list the same members",
    Reason.CAME_BACK: "found again while it was right for now: the same alert, so no new page",
    Reason.RIGHT_AGAIN: "the evidence has said for long enough that it is over",
    Reason.CLEARED_BEFORE_FIRING: "it was over while still pending, so nobody was told of it",
    Reason.GONE: "no covered broker has listed a member for an hour",
    Reason.FORGOTTEN: "an operator had the group forgotten",
    Reason.EXCLUDED: "it is not evenkeel's to judge any more, which does not say that it is right",
    Reason.WAITS_FOR_DEPLOY: "it has held long enough, but members are being replaced: a deploy is waited for",
    Reason.WAITS_FOR_PROOF: "a client id is listed twice: a dead connection goes by itself, a second instance does not",
    Reason.TOLD_ALREADY: "a firing alert tells already that nobody owns these queues, or two do",
}
UNALERTED = {
    Kind.UNKNOWN: "evidence is missing, and what is not known never alarms",
    Kind.SETTLING: "a healthy rebalance may look like this: it is not judged before the grace is over",
    Kind.NO_MEMBERS: "the group has no members: that is an alert of the whole group, if it is one",
    Kind.CONSUME_DISABLED: "the subscription group forbids consuming (consumeEnable=false): meant, so no alert",
}


def why_of(reason: str) -> str:
    """In words. A reason of another version is shown as it is."""
    return WHY.get(reason, reason)


def why_no_alert(topic: str, finding: str, reason: str | None) -> str:
    """Why queues with this finding are in no alert."""
    if finding == Kind.EXCLUDED:
        return why_excluded(reason)
    if finding in UNALERTED:
        return UNALERTED[Kind(finding)]
    if is_retry_topic(topic):
        return "a retry topic: it alerts only while messages wait in it"
    if finding in ALERTING_OF_QUEUES:
        return "its alert has not been told yet at that time"
    return "such a finding does not alert"


def is_open(state: str) -> bool:
    return state != AlertState.RESOLVED
