"""Every cause in one table: what the code knows of it, and which rules find it.

A new cause is a row here, a rule in this package and a kind of evidence in ``schemas.observed``. Its sentences are in
``streaming/notices`` (English and Chinese), its description in docs/findings.md. Tests say what is missing.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from schemas.facts import Cause, Kind
from schemas.observed import (
    ClientsComeAndGo,
    ClientsStuck,
    ListedTwice,
    MemberGone,
    MemberListsDiffer,
    MessageModelsDiffer,
    NotAnswering,
    NotConfigured,
    NotLocked,
    NotSubscribed,
    OldRoute,
    OwnersBalanceOtherwise,
    OwnersDoNotReport,
    Part,
    RoomWithoutConsumer,
    RoutesDiffer,
    SameClientId,
    SdksDiffer,
    StrategiesDiffer,
    SubscriptionsDiffer,
    SubscriptionsInTurn,
    Unexplained,
    Unreadable,
)
from streaming.core.causes.client_ids import listed_twice, same_client_id, stale_connection
from streaming.core.causes.clients import (
    client_silent,
    client_stuck,
    cut_off_from_broker,
    expected_owner_cut_off,
    lock_stuck,
    member_gone,
    owner_does_not_report,
    restart_loop,
)
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.causes.fixed_shares import config_misses_queue, room_without_consumer
from streaming.core.causes.member_lists import view_divergence
from streaming.core.causes.message_models import message_model_mismatch
from streaming.core.causes.routes import name_servers_differ, route_lag
from streaming.core.causes.strategies import owner_of_another_kind, sdks_differ, strategy_mismatch
from streaming.core.causes.subscriptions import pulls_refused, subscription_mismatch
from streaming.core.evidence.topic_evidence import TopicEvidence


class NextStep(Enum):
    """The next thing to look at; ``streaming/notices/commands.py`` has a command for each."""

    CONNECTIONS = "connections of the group"
    STATUS = "running info of all clients"
    CLIENT = "running info of one client"
    CLIENT_THREADS = "running info of one client with its threads"
    THREADS = "threads of the client's process"
    ROUTE = "route of the topic"
    PROGRESS = "offsets of the group"
    INSPECT = "evenkeel inspect"
    EXPLAIN = "evenkeel explain"


class CauseRow(NamedTuple):
    """``shown_by``: its kinds of evidence. ``members_differ``: a rolling deploy may bring it about, and ends it.

    ``is_independent``: it is proven by itself, so it never follows from members that differ.
    """

    shown_by: tuple[type[Part], ...]
    next_step: NextStep
    members_differ: bool = False
    is_independent: bool = False


CAUSES: dict[Cause, CauseRow] = {
    Cause.SAME_CLIENT_ID: CauseRow((SameClientId,), NextStep.CONNECTIONS, is_independent=True),
    Cause.STALE_CONNECTION: CauseRow((ListedTwice,), NextStep.CONNECTIONS),
    Cause.SUBSCRIPTION_MISMATCH: CauseRow(
        (NotSubscribed, SubscriptionsInTurn, SubscriptionsDiffer), NextStep.STATUS, members_differ=True
    ),
    Cause.STRATEGY_MISMATCH: CauseRow(
        (StrategiesDiffer, SdksDiffer, OwnersBalanceOtherwise), NextStep.EXPLAIN, members_differ=True
    ),
    Cause.MESSAGE_MODEL_MISMATCH: CauseRow((MessageModelsDiffer,), NextStep.STATUS, members_differ=True),
    Cause.RESTART_LOOP: CauseRow((ClientsComeAndGo,), NextStep.CONNECTIONS),
    Cause.VIEW_DIVERGENCE: CauseRow((MemberListsDiffer,), NextStep.INSPECT),  # it asks every broker for its list
    Cause.ROUTE_LAG: CauseRow((RoutesDiffer, OldRoute), NextStep.ROUTE),
    Cause.CLIENT_STALLED: CauseRow((NotAnswering, ClientsStuck, OwnersDoNotReport), NextStep.THREADS),
    Cause.MEMBER_GONE: CauseRow((MemberGone,), NextStep.CLIENT_THREADS),
    Cause.LOCK_STUCK: CauseRow((NotLocked,), NextStep.CLIENT),
    Cause.ROOM_WITHOUT_CONSUMER: CauseRow((RoomWithoutConsumer,), NextStep.CONNECTIONS),
    Cause.CONFIG_MISSES_QUEUE: CauseRow((NotConfigured, MemberGone), NextStep.EXPLAIN),
    Cause.NO_READ_PERM: CauseRow((Unreadable,), NextStep.ROUTE),  # it shows each broker's permission and address
    Cause.READ_LT_WRITE: CauseRow((Unreadable,), NextStep.ROUTE),
    Cause.LEFT_ROUTE: CauseRow((Unreadable,), NextStep.ROUTE),
    Cause.UNEXPLAINED: CauseRow((Unexplained,), NextStep.EXPLAIN),
}

Rule = Callable[[TopicEvidence, Found], Explanation | None]
_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED = Kind.DUPLICATED, Kind.ORPHANED, Kind.STALLED, Kind.MISPLACED

# Of causes that fit equally well the first is named: first what makes other causes appear, last what is only a symptom.
RULES: tuple[tuple[Rule, frozenset[Kind]], ...] = (
    (same_client_id, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED})),
    (message_model_mismatch, frozenset({_DUPLICATED, _STALLED, Kind.SLOW_CONSUMER})),
    (restart_loop, frozenset({_STALLED, Kind.SLOW_CONSUMER})),
    (client_silent, frozenset({_STALLED})),
    (subscription_mismatch, frozenset({_ORPHANED})),
    (pulls_refused, frozenset({_STALLED})),
    (client_stuck, frozenset({_STALLED})),
    (owner_does_not_report, frozenset({_STALLED})),
    (owner_of_another_kind, frozenset({_STALLED})),
    (strategy_mismatch, frozenset({_DUPLICATED, _ORPHANED, _STALLED})),
    (stale_connection, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED})),
    (name_servers_differ, frozenset({_DUPLICATED, _ORPHANED, _STALLED})),
    (view_divergence, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED})),
    (room_without_consumer, frozenset({_ORPHANED, _STALLED})),
    (config_misses_queue, frozenset({_ORPHANED, _STALLED})),
    (listed_twice, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED, Kind.UNKNOWN})),
    (route_lag, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED})),
    (lock_stuck, frozenset({_ORPHANED, _STALLED})),
    (member_gone, frozenset({_ORPHANED, _STALLED})),
    (sdks_differ, frozenset({_DUPLICATED, _ORPHANED, _STALLED})),
    (cut_off_from_broker, frozenset({_STALLED})),
    (expected_owner_cut_off, frozenset({_ORPHANED})),
)
NEEDS_NONE = frozenset({Kind.UNKNOWN, Kind.SLOW_CONSUMER})
EXPLAINED: frozenset[Kind] = frozenset().union(*(kinds for _, kinds in RULES))
_RULES_OF = {kind: tuple(rule for rule, kinds in RULES if kind in kinds) for kind in EXPLAINED}


def explain(topic: TopicEvidence, found: Found, right: frozenset[int]) -> Explanation | None:
    """The cause of one kind of finding on queues of a topic; None where the finding needs none.

    Of all rules the one that explains most of the queues names it; of several, the one that predicts the finding of
    fewest queues that are ``right``; then the first. Where none explains any, it is UNEXPLAINED.
    """
    explained = (rule(topic, found) for rule in _RULES_OF[found.kind])
    named = min(
        (one for one in explained if one is not None and one.queues),
        key=lambda one: (len(found.queues - one.queues), len(right & one.predicted)),
        default=None,
    )
    if named is None and found.kind not in NEEDS_NONE:
        return _unexplained(topic, found)
    return named


def _unexplained(topic: TopicEvidence, found: Found) -> Explanation:
    """Names who owns what another should own, or, where there is none, who does not own what it should."""
    keep, leave = set[int](), set[int]()
    for index in found.queues:
        expected = None if topic.expected is None else topic.expected.get(index)
        if expected:
            keep |= set(topic.owners(index)) - set(expected)
            leave |= set(expected) - set(topic.owners(index))
    observed = Unexplained(
        reported=topic.listed.reported,
        members=len(topic.members),
        changed_ms=topic.now - topic.grace.change_ts if topic.grace.change_ts > topic.of_group.first_round_ts else None,
        keep=topic.clients(keep) if keep else None,
        leave=topic.clients(leave) if leave else None,
    )
    return explanation(Cause.UNEXPLAINED, found.queues, observed, keep or leave)
