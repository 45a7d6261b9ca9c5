"""SAME_CLIENT_ID and STALE_CONNECTION: a client id is listed twice."""

from schemas.facts import Cause
from schemas.observed import ListedTwice, SameClientId
from streaming.core.causes.explanation import Explanation, explanation
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.intake.client_reports import addresses_of

ADDRESSES_AT_MOST = 4


def _listed_twice(topic: TopicEvidence, proven: bool) -> list[MemberEvidence]:
    return [m for m in topic.members.values() if m.entries > 1 and m.second_instance_proven is proven]


def same_client_id(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Two instances use one client id: both take the share of its first entry, and no client that of its second."""
    duplicates = _listed_twice(topic, proven=True)
    if not duplicates:
        return None
    return explanation(Cause.SAME_CLIENT_ID, queues, same_id(duplicates[0]), (one.index for one in duplicates))


def same_id(member: MemberEvidence) -> SameClientId:
    """What shows that two instances use the member's id."""
    return SameClientId(
        client_id=member.client.client_id,
        instances=member.entries,
        addresses=addresses_of(member.client)[:ADDRESSES_AT_MOST],
        start_ts=tuple(sorted({report.start_ts for report in member.reports if report.start_ts})),
    )


def stale_connection(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """A client id is listed twice, but a second instance is not proven: most likely a connection that has died.

    All members share out a list that has the id twice, and no client takes the share of its second entry. Queues of
    other members do not stand still because of it.
    """
    doubled = _listed_twice(topic, proven=False)
    if not doubled:
        return None
    first, indices = doubled[0], {one.index for one in doubled}
    expected = topic.expected
    explained = queues if expected is None else {q for q in queues if not expected.get(q) or indices & set(expected[q])}
    observed = ListedTwice(
        client_id=first.client.client_id,
        entries=first.entries,
        addresses=addresses_of(first.client)[:ADDRESSES_AT_MOST],
        gone_within_ms=topic.timing.second_address_proof_ms,
    )
    return explanation(Cause.STALE_CONNECTION, explained, observed, indices)


def unproven_instance(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Only the report of a second instance is missing, and there may be none."""
    is_all = topic.waits_for_a_second_instance and topic.route_known and not topic.uncovered
    found = stale_connection(topic, queues) if is_all else None
    return None if found is None else explanation(found.cause, queues, found.observed, found.clients)
