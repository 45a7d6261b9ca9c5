"""SAME_CLIENT_ID and STALE_CONNECTION: a client id is listed twice."""

from collections.abc import Iterable

from schemas.facts import Cause, Kind
from schemas.observed import ListedTwice, SameClientId
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.state.members import addresses_of

ADDRESSES_AT_MOST = 4


def _listed_twice(topic: TopicEvidence, proven: bool) -> list[MemberEvidence]:
    twice = [topic.members[index] for index in sorted(topic.listed.listed_twice)]
    return [member for member in twice if member.second_instance_proven is proven]


def same_client_id(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Two instances use one client id: both take the share of its first entry, and no client that of its second.

    The same with what brokers let clients pop (``allocate4Pop``), unless they may pop all queues.
    """
    duplicates = _listed_twice(topic, proven=True)
    if not duplicates:
        return None
    indices, expected = {one.index for one in duplicates}, topic.expected
    of_both, explained, predicted = frozenset[int](), found.queues, frozenset[int]()
    if expected is not None:
        of_both = frozenset(queue for queue, owners in expected.items() if indices & set(owners))
        explained = found.queues & (of_both | topic.of_second_entries)
        predicted = of_both if found.kind is Kind.DUPLICATED else topic.of_second_entries
    if found.kind is Kind.UNPOLLED:
        explained = predicted = found.queues - (found.queues if topic.popped is None else topic.popped)
    return explanation(Cause.SAME_CLIENT_ID, explained, same_id(duplicates[0]), indices, predicted)


def same_id(member: MemberEvidence) -> SameClientId:
    """Evidence that two instances use the member's id."""
    return SameClientId(
        client_id=member.client.client_id,
        instances=member.entries,
        addresses=addresses_of(member.client)[:ADDRESSES_AT_MOST],
        start_ts=tuple(sorted({report.start_ts for report in member.reports if report.start_ts})),
    )


def stale_connection(topic: TopicEvidence, found: Found) -> Explanation | None:
    """A client id is listed twice, but a second instance is not proven: most likely a connection that has died.

    All members share out a list that has the id twice, and no client takes the share of its second entry. While other
    brokers list it once, what these two lists give to different members may have two owners.
    """
    doubled = _listed_twice(topic, proven=False)
    if not doubled:
        return None
    if found.kind in (Kind.ORPHANED, Kind.STALLED):
        return _stale(topic, doubled, found.queues & topic.of_second_entries, topic.of_second_entries)
    return _stale(topic, doubled, found.queues & topic.moved_by_second_entries)


def _stale(
    topic: TopicEvidence, doubled: list[MemberEvidence], explained: Iterable[int], predicted: Iterable[int] = ()
) -> Explanation:
    first = doubled[0]
    observed = ListedTwice(
        client_id=first.client.client_id,
        entries=first.entries,
        addresses=addresses_of(first.client)[:ADDRESSES_AT_MOST],
        gone_within_ms=topic.timing.second_address_proof_ms,
    )
    return explanation(Cause.STALE_CONNECTION, explained, observed, (one.index for one in doubled), predicted)


def listed_twice(topic: TopicEvidence, found: Found) -> Explanation | None:
    """STALE_CONNECTION if shares are not known, or only a second instance, which may not exist, has not reported."""
    doubled = _listed_twice(topic, proven=False)
    if found.kind is Kind.UNKNOWN:
        is_all = topic.waits_for_a_second_instance and topic.route_known and not topic.uncovered
    else:
        is_all = topic.shares_by_list is None
    return _stale(topic, doubled, found.queues) if doubled and is_all else None
