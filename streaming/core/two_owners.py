"""Two owners that go on saying so while others come and go: what no series of hand-overs can explain."""

from collections.abc import Sequence

from streaming.core.findings import Verdict
from streaming.core.kinds import RIGHT
from streaming.core.topic_evidence import TopicEvidence


def note_two_owners(topic: TopicEvidence, place: int, verdict: Verdict) -> None:
    """Count how often one instance says that it owns the queue after another has, and what changed meanwhile.

    A client that gives a queue up says so in its next report. So for x, y, x, y ... to be well, the queue must have
    changed hands each time, and it changes hands only after a change of members or routes. Nobody else need be heard.
    """
    queue = topic.group.state.queues[place]
    claims = () if verdict.kind in RIGHT else _claims(topic, place)
    if len(claims) < 2:
        if queue.unrest is not None:
            queue.twice_ts = queue.said_ts = queue.spare = 0
        return
    if not queue.twice_ts:
        queue.twice_ts, queue.said_ts = topic.now, max(claims)
        return
    new = [ts for ts in claims if ts > queue.said_ts]
    if new:
        # he who spoke last may be one of these: then the first of them proves nothing
        queue.spare += len(new) if queue.said_ts in claims else len(new) - 1
        queue.said_ts = max(new)
    if topic.change_ts > topic.now - topic.group.state.interval:
        queue.spare -= 1


def _claims(topic: TopicEvidence, place: int) -> Sequence[int]:
    """When each instance that says so, in its newest report and lately, was heard."""
    holders = topic.of_group.holders.get(place, ())
    if len(holders) < 2:
        return ()
    oldest = topic.now - topic.group.timing.report_max_age
    return [ts for member, ts in holders if ts >= oldest and member.place in topic.members]
