"""Every cause in one table: what the code knows of it, and which rules find it.

A new cause is a row here, a rule in this package and a kind of evidence in ``schemas.observed``. Its sentences are in
``streaming/notices`` (English and Chinese), its description in docs/findings.md. Tests say what is missing.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from schemas import observed
from schemas.facts import Cause, Kind
from streaming.core.causes import client_ids, clients, members_differ, polls, routes, strategies
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence


class NextStep(Enum):
    """The next thing to look at; ``streaming/notices/commands.py`` has a command for each."""

    CONNECTIONS = "connections of the group"
    SETTINGS = "settings of the group on each broker"
    STATUS = "running info of all clients"
    CLIENT = "running info of one client"
    CLIENT_THREADS = "running info of one client with its threads"
    THREADS = "threads of the client's process"
    ROUTE = "route of the topic"
    PROGRESS = "offsets of the group"
    MESSAGE = "message that blocks a queue"
    RETRY_TOPIC = "topic into which messages come back"
    INSPECT = "evenkeel inspect"
    EXPLAIN = "evenkeel explain"


class CauseRow(NamedTuple):
    """``shown_by``: its kinds of evidence. ``members_differ``: a rolling deploy may bring it about, and ends it.

    ``is_independent``: it is proven by itself, so it never follows from members that differ.
    """

    shown_by: tuple[type[observed.Part], ...]
    next_step: NextStep
    members_differ: bool = False
    is_independent: bool = False


CAUSES: dict[Cause, CauseRow] = {
    Cause.SAME_CLIENT_ID: CauseRow((observed.SameClientId,), NextStep.CONNECTIONS, is_independent=True),
    Cause.STALE_CONNECTION: CauseRow((observed.ListedTwice,), NextStep.CONNECTIONS),
    Cause.SUBSCRIPTION_MISMATCH: CauseRow(
        (observed.NotSubscribed, observed.SubscriptionsInTurn, observed.SubscriptionsDiffer),
        NextStep.STATUS,
        members_differ=True,
    ),
    Cause.STRATEGY_MISMATCH: CauseRow(
        (observed.StrategiesDiffer, observed.SdksDiffer, observed.OwnersBalanceOtherwise),
        NextStep.EXPLAIN,
        members_differ=True,
    ),
    Cause.MESSAGE_MODEL_MISMATCH: CauseRow((observed.MessageModelsDiffer,), NextStep.STATUS, members_differ=True),
    Cause.RESTART_LOOP: CauseRow((observed.ClientsComeAndGo,), NextStep.CONNECTIONS),
    # inspect asks every broker for its list
    Cause.VIEW_DIVERGENCE: CauseRow((observed.MemberListsDiffer,), NextStep.INSPECT),
    Cause.ROUTE_LAG: CauseRow((observed.RoutesDiffer, observed.OldRoute), NextStep.ROUTE),
    Cause.CLIENT_STALLED: CauseRow(
        (observed.NotAnswering, observed.ClientsStuck, observed.OwnersDoNotReport), NextStep.THREADS
    ),
    Cause.MEMBER_GONE: CauseRow((observed.MemberGone,), NextStep.CLIENT_THREADS),
    Cause.LOCK_STUCK: CauseRow((observed.NotLocked,), NextStep.CLIENT),
    Cause.ROOM_WITHOUT_CONSUMER: CauseRow((observed.RoomWithoutConsumer,), NextStep.CONNECTIONS),
    Cause.CONFIG_MISSES_QUEUE: CauseRow((observed.NotConfigured, observed.MemberGone), NextStep.EXPLAIN),
    Cause.BROKER_REFUSES_GROUP: CauseRow((observed.RefusedByBrokers,), NextStep.SETTINGS, is_independent=True),
    # the route shows the broker's address
    Cause.BROKER_NOT_REACHED: CauseRow((observed.PolledElsewhere,), NextStep.ROUTE, is_independent=True),
    Cause.PROXY_AWAY: CauseRow((observed.SilentSinceProxy,), NextStep.INSPECT, is_independent=True),
    # the route shows each broker's permission and address
    Cause.NO_READ_PERM: CauseRow((observed.Unreadable,), NextStep.ROUTE),
    Cause.READ_LT_WRITE: CauseRow((observed.Unreadable,), NextStep.ROUTE),
    Cause.LEFT_ROUTE: CauseRow((observed.Unreadable,), NextStep.ROUTE),
    Cause.UNEXPLAINED: CauseRow((observed.Unexplained,), NextStep.EXPLAIN),
}

Rule = Callable[[TopicEvidence, Found], Explanation | None]
_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED = Kind.DUPLICATED, Kind.ORPHANED, Kind.STALLED, Kind.MISPLACED

# Of causes that fit equally well the first is named: first what makes other causes appear, last what is only a symptom.
RULES: tuple[tuple[Rule, frozenset[Kind]], ...] = (
    (polls.broker_refuses_group, frozenset({Kind.UNPOLLED})),
    (client_ids.same_client_id, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED, Kind.UNPOLLED})),
    (members_differ.message_model_mismatch, frozenset({_DUPLICATED, _STALLED, Kind.SLOW_CONSUMER})),
    (clients.restart_loop, frozenset({_STALLED, Kind.SLOW_CONSUMER, Kind.UNPOLLED})),
    (polls.silent_since_proxy, frozenset({Kind.UNPOLLED})),
    (polls.broker_not_reached, frozenset({Kind.UNPOLLED})),
    (clients.client_silent, frozenset({_STALLED})),
    (members_differ.subscription_mismatch, frozenset({_ORPHANED})),
    (members_differ.pulls_refused, frozenset({_STALLED})),
    (clients.client_stuck, frozenset({_STALLED})),
    (clients.owner_does_not_report, frozenset({_STALLED})),
    (strategies.owner_of_another_kind, frozenset({_STALLED})),
    (strategies.strategy_mismatch, frozenset({_DUPLICATED, _ORPHANED, _STALLED})),
    (client_ids.stale_connection, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED})),
    (routes.name_servers_differ, frozenset({_DUPLICATED, _ORPHANED, _STALLED})),
    (members_differ.view_divergence, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED})),
    (strategies.room_without_consumer, frozenset({_ORPHANED, _STALLED})),
    (strategies.config_misses_queue, frozenset({_ORPHANED, _STALLED})),
    (client_ids.listed_twice, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED, Kind.UNKNOWN})),
    (routes.route_lag, frozenset({_DUPLICATED, _ORPHANED, _STALLED, _MISPLACED})),
    (clients.lock_stuck, frozenset({_ORPHANED, _STALLED})),
    (clients.member_gone, frozenset({_ORPHANED, _STALLED})),
    (strategies.sdks_differ, frozenset({_DUPLICATED, _ORPHANED, _STALLED})),
    (clients.cut_off_from_broker, frozenset({_STALLED})),
    (clients.expected_owner_cut_off, frozenset({_ORPHANED})),
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
    shown = observed.Unexplained(
        reported=topic.listed.reported,
        members=len(topic.members),
        changed_ms=topic.now - topic.grace.change_ts if topic.grace.change_ts > topic.of_group.first_round_ts else None,
        keep=topic.clients(keep) if keep else None,
        leave=topic.clients(leave) if leave else None,
    )
    return explanation(Cause.UNEXPLAINED, found.queues, shown, keep or leave)
