"""Two owners in a group that changes all the time: both report a queue more often than rebalances can explain."""

from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import RIGHT
from streaming.core.findings.verdict import Verdict
from streaming.core.state.queue_state import Queue


def note_two_owners(topic: TopicEvidence, index: int, queue: Queue, verdict: Verdict) -> None:
    """Count how often one instance reports the queue after another instance has, less the changes meanwhile.

    A client that releases a queue says so in its next report. So if x, y, x, y ... report it in turn, the queue has
    changed hands each time, or has two owners. It changes hands only after a change of members or routes. No other
    client needs to report for this. Between two instances under one id it never changes hands: both compute one share.
    """
    holders = [] if verdict.kind in RIGHT else _holders(topic, index)
    reported = [ts for _, ts in holders]
    if len(reported) < 2:
        if queue.anomaly is not None:
            queue.two_owners_since_ts = queue.newest_owner_report_ts = queue.unexplained_reports = 0
        return
    if not queue.two_owners_since_ts:
        queue.two_owners_since_ts, queue.newest_owner_report_ts = topic.now, max(reported)
        return
    new = [ts for ts in reported if ts > queue.newest_owner_report_ts]
    if new:
        # the instance that reported last may be one of these: then its new report proves nothing
        queue.unexplained_reports += len(new) if queue.newest_owner_report_ts in reported else len(new) - 1
        queue.newest_owner_report_ts = max(new)
    are_of_one_id = len({member for member, _ in holders}) == 1
    if topic.grace.change_ts > topic.now - topic.of_group.interval and not are_of_one_id:
        queue.unexplained_reports -= 1


def _holders(topic: TopicEvidence, index: int) -> list[tuple[int, int]]:
    """Each instance that owns the queue by its newest report, if that is recent: its client, and when it answered."""
    holders = topic.of_group.holders.get(index, ())
    if len(holders) < 2:
        return []
    oldest = topic.now - topic.timing.report_max_age_ms
    return [(member.index, ts) for member, ts in holders if ts >= oldest and member.index in topic.members]
