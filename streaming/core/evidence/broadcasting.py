"""Broadcasting: whether members share the queues out (CLUSTERING), or each member consumes every queue (BROADCASTING).

In a broadcasting group no owner is expected of a queue, so it has neither two owners nor a wrong one. Clients keep
their offsets to themselves (``LocalFileOffsetStore``), so no queue is seen to stand still. What is wrong with a queue
then is in ``findings.broadcasting``. A member that broadcasts in a CLUSTERING group is in ``causes.members_differ``.
"""

from collections.abc import Collection, Iterable

from streaming.core.evidence.listed_members import ListedMembers
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.state.group_state import Topic

CLUSTERING, BROADCASTING = "CLUSTERING", "BROADCASTING"


def message_model(
    balancing: Iterable[MemberEvidence], members: Iterable[MemberEvidence], topics: Iterable[Topic]
) -> str | None:
    """CLUSTERING or BROADCASTING, by the newest reports, else by heartbeats; None where nothing says.

    CLUSTERING if any member is: it shares queues out, whatever the others do. Go names it in heartbeats only, and a
    broker shows that of the group's last heartbeat (ConsumerGroupInfo.updateChannel). A group whose offsets brokers
    see to move does not broadcast.
    """
    reported = {member.running.message_model for member in balancing if member.running is not None}
    listed = {member.heartbeat.message_model for member in members if member.heartbeat is not None}
    for models in (reported, listed):
        if models - {None}:
            return CLUSTERING if CLUSTERING in models else BROADCASTING
    return CLUSTERING if any(topic.is_committed for topic in topics) else None


def broadcasting_members(balancing: Iterable[MemberEvidence]) -> frozenset[int]:
    return frozenset(one.index for one in balancing if one.running and one.running.message_model == BROADCASTING)


def is_owned_by_all(listed: ListedMembers, owners: Collection[int]) -> bool:
    return listed.reporting.keys() <= set(owners)
