"""STRATEGY_MISMATCH: members share out the same list by different rules."""

from schemas.facts import Cause
from schemas.observed import OwnersBalanceOtherwise, SdkMembers, SdksDiffer, StrategiesDiffer, StrategyMembers
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence


def strategy_mismatch(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Members report different strategies."""
    by_class = topic.listed.by_strategy
    if len(by_class) < 2:
        return None
    rarest_first = sorted(by_class.items(), key=lambda item: (len(item[1]), item[0]))
    members = tuple(StrategyMembers(name, topic.clients(indices)) for name, indices in rarest_first)
    few = min(by_class.values(), key=len)
    explained = {queue for queue in found.queues if len(topic.owners(queue)) != 1}
    return explanation(Cause.STRATEGY_MISMATCH, explained, StrategiesDiffer(members=members), few)


def sdks_differ(topic: TopicEvidence, found: Found) -> Explanation | None:
    """All members of one SDK own what the strategy gives them, and none of another SDK does: it sorts differently.

    Members that own nothing do not count.
    """
    by_language = topic.listed.by_language
    expected = topic.expected_as_named
    if expected is None or len(by_language) < 2:
        return None
    misled = {one for queue in topic.queues for one in set(topic.owners(queue)) - set(expected.get(queue, ()))}
    odd = {language: indices for language, indices in by_language.items() if misled.issuperset(indices)}
    others = [one for language, indices in by_language.items() if language not in odd for one in indices]
    if not odd or not others or _own_other_than_expected(topic, expected).intersection(others):
        return None
    members = tuple(SdkMembers(language, topic.clients(indices)) for language, indices in sorted(odd.items()))
    named = (index for indices in odd.values() for index in indices)
    return explanation(Cause.STRATEGY_MISMATCH, found.queues, SdksDiffer(members=members), named)


def _own_other_than_expected(topic: TopicEvidence, expected: dict[int, list[int]]) -> set[int]:
    """Members that own a queue of another member, or lack one of their own."""
    return {index for queue in topic.queues for index in set(topic.owners(queue)) ^ set(expected.get(queue, ()))}


def owner_of_another_kind(topic: TopicEvidence, found: Found) -> Explanation | None:
    """The others leave the queue to a member that does not share out as they do."""
    owners = topic.left_to_non_reporting(found.queues, excluded=True)
    named = {index for indices in owners.values() for index in indices}
    observed = OwnersBalanceOtherwise(
        clients=topic.clients(named),
        exclusions=tuple(sorted({topic.members[index].exclusion or "" for index in named})),
    )
    return explanation(Cause.STRATEGY_MISMATCH, owners, observed, named)
