"""Reasons of queues and groups in English, one function for each kind."""

from schemas.reasons import EXCLUSIONS, ReasonDetails, ReasonKind
from streaming.notices.evidence import Clock, first_of
from streaming.notices.reasons import ReasonSentences, reason_said


def _names(it: ReasonDetails) -> str:
    return first_of(it.clients, " and {n} more")


def _brokers(it: ReasonDetails) -> str:
    return ", ".join(it.broker_names)


def _non_reporting(it: ReasonDetails, _: Clock) -> str:
    owns = "it owns" if it.clients.count == 1 else "they own"
    why = ", ".join(one or "pulls by itself" for one in it.exclusions)
    return f"{_names(it)}: what {owns} is not known ({why})"


def _changed(what: str, it: ReasonDetails, clock: Clock) -> str:
    return f"{what} at {clock(it.changed_ts)}; evenkeel judges by reports from {clock(it.counts_from_ts)} on"


def _no_members(it: ReasonDetails, clock: Clock) -> str:
    return f"no broker has listed a member since {clock(it.since_ts)}" if it.since_ts else "no broker lists a member"


ENGLISH_REASONS: ReasonSentences = {
    ReasonKind.CONFIGURED: lambda *_: "a rule of the configuration leaves the group out",
    ReasonKind.STATIC_TOPIC: lambda *_: "a static topic, whose queues are only mapped to brokers",
    ReasonKind.NOT_SUBSCRIBED: lambda *_: "every member has reported its subscriptions, and none includes this topic",
    ReasonKind.POP: lambda *_: "messages are handed out by the broker (pop), not by queues",
    ReasonKind.BROKER_ALLOCATED: lambda *_: "a member has clientRebalance=false: the broker shares out the queues",
    ReasonKind.LITE_ASSIGN: lambda *_: "a pull consumer takes the queues that its code assigns",
    ReasonKind.PROXY_CLIENT: lambda *_: "a gRPC client: its proxy shares out the queues",
    ReasonKind.UNREADABLE: lambda *_: "no client can read the queue: no read permission, or beyond readQueueNums",
    ReasonKind.NO_ANSWER: lambda it, _: f"no answer from {_brokers(it)}",
    ReasonKind.ROUTE_NOT_KNOWN: lambda *_: "the topic's route is not known",
    ReasonKind.NAME_SERVERS_DIFFER: lambda *_: "name servers differ on the route",
    ReasonKind.NO_MESSAGE_MODEL: lambda *_: "the group's message model (CLUSTERING or BROADCASTING) is not known",
    ReasonKind.NON_REPORTING_MEMBERS: _non_reporting,
    ReasonKind.NO_REPORT_SINCE_CHANGE: lambda it, _: (
        f"{_names(it)} {'has' if it.clients.count == 1 else 'have'} not reported since the last change"
    ),
    ReasonKind.EVENTS_REFUSED: lambda it, _: f"its events are refused: {it.refused_as}, {it.error}",
    ReasonKind.EVALUATION_FAILED: lambda *_: "evenkeel failed to evaluate the group",
    ReasonKind.ROUTE_CHANGED: lambda it, clock: _changed("the route changed", it, clock),
    ReasonKind.BROKERS_CHANGED: lambda it, clock: _changed("its brokers changed", it, clock),
    ReasonKind.MEMBER_LIST_CHANGED: lambda it, clock: _changed(f"the list of {_brokers(it)} changed", it, clock),
    ReasonKind.BROKER_RETURNED: lambda it, clock: _changed(f"{_brokers(it)} came back", it, clock),
    ReasonKind.OTHER_ROUTE: lambda *_: "all members use a route other than the known one",
    ReasonKind.NOT_IN_ROUTE: lambda *_: "a client owns it, but it is not in the topic's route",
    ReasonKind.NO_MEMBER_YET: lambda *_: "its brokers list no member yet",
    ReasonKind.NO_CONSUMER: lambda *_: "no member consumes this topic",
    ReasonKind.NO_MEMBERS: _no_members,
    ReasonKind.CONSUME_DISABLED: lambda *_: "the subscription group has consumeEnable=false",
    ReasonKind.LEFT_ROUTE: lambda *_: "no longer in the route",
    ReasonKind.BROKERS_NOT_COVERED: lambda *_: "not every broker of the topic has given its list of members",
    ReasonKind.MEMBER_LISTS_DIFFER: lambda *_: "brokers list different members",
    ReasonKind.NO_STRATEGY_REPORTED: lambda *_: "no report names a strategy",
    ReasonKind.STRATEGIES_DIFFER: lambda *_: "members run different strategies",
    ReasonKind.STRATEGY_NOT_NAMED: lambda *_: "some members do not name their strategy",
    ReasonKind.UNKNOWN_STRATEGY: lambda it, _: f"strategy {it.strategy} is not one of RocketMQ's own",
    ReasonKind.UNKNOWN_PARAMETERS: lambda it, _: (
        f"the parameters of {it.strategy} cannot be seen from outside: configure them"
    ),
    ReasonKind.STRATEGY_THROWS: lambda it, _: f"{it.strategy} throws {it.error}",
}


def reason_in_english(kind: str, details: ReasonDetails | None, clock: Clock) -> str:
    """The reason as a sentence."""
    return reason_said(kind, details, ENGLISH_REASONS, clock)


def reason_in_short(kind: str | None, details: ReasonDetails | None, clock: Clock) -> str | None:
    """The reason as a sentence, but an exclusion by its name, as docs/findings.md lists it."""
    return kind if kind is None or kind in EXCLUSIONS else reason_in_english(kind, details, clock)
