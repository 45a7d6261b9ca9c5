"""Evidence in English, one function for each kind."""

from schemas import observed as o
from schemas.facts import AlertFact
from streaming.notices.evidence import Clock, Sentences, evidence_of, first_of, said, seconds


def _names(clients: o.Clients) -> str:
    return first_of(clients, " and {n} more")


def _of(clients: o.Clients, one: str, many: str) -> str:
    """The names, and a phrase about them: ``one`` for a single client, ``many`` for several."""
    return f"{_names(clients)} {one if clients.count == 1 else many}"


def _at(addresses: tuple[str, ...]) -> str:
    return f" at {', '.join(addresses)}" if addresses else ""


def _stall(it: o.Stall, _: Clock) -> str:
    what = "pulled" if it.by_pull_offset else "consumed"
    return f"{it.waiting} messages wait, none {what} for {seconds(it.stalled_ms)} s"


def _unconsumed(it: o.Unconsumed, _: Clock) -> str:
    if it.pulled is None:
        return f"its owner has had unconsumed messages for {seconds(it.unconsumed_ms)} s"
    return f"{it.pulled} messages were pulled, none consumed for {seconds(it.unconsumed_ms)} s"


def _subscriptions_differ(it: o.SubscriptionsDiffer, _: Clock) -> str:
    return "; ".join(f"{_names(those.clients)}: {', '.join(those.subscriptions)}" for those in it.members)


def _subscriptions_in_turn(it: o.SubscriptionsInTurn, _: Clock) -> str:
    sets = "; ".join(", ".join(topics) or "nothing" for topics in it.topics)
    if it.refused_topic is None:
        return f"brokers show different subscriptions in turn ({sets}): members overwrite each other's"
    return f"brokers show different subscriptions in turn ({sets}): without {it.refused_topic} they refuse its pulls"


def _unreadable(it: o.Unreadable, clock: Clock) -> str:
    return "; ".join(f"{one.cause}: {queue_names(one.queues)}{_waiting(one, clock)}" for one in it.causes)


def _waiting(one: o.UnreadableQueues, clock: Clock) -> str:
    if one.waiting is None or one.read_ts is None:
        return ""
    messages = "message" if one.waiting == 1 else "messages"
    return f" ({'at least ' if one.at_least else ''}{one.waiting} {messages}, read at {clock(one.read_ts)})"


def queue_names(queues: tuple[o.QueueName, ...]) -> str:
    return ", ".join(f"{queue.broker_name}/{queue.queue_id}" for queue in queues)


def _no_member_listed(it: o.NoMemberListed, _: Clock) -> str:
    if it.waiting is None:
        what = "no broker lists a member; how many messages wait is not known"
    else:
        what = f"no broker lists a member; {'at least ' if it.at_least else ''}{it.waiting} messages wait"
    if it.allowed_ms is not None:
        return f"{what}; the configuration allows {_minutes(it.allowed_ms)} minutes without members; they are over"
    if it.away_before_ms is not None:
        return f"{what}; its earlier pauses lasted {_minutes(it.away_before_ms)} minutes at most"
    return what


def _minutes(ms: int) -> int:
    return -(-ms // 60_000)


def _clients_come_and_go(it: o.ClientsComeAndGo, _: Clock) -> str:
    if it.changes is None:
        what = f"for {seconds(it.within_ms) // 60} minutes and longer, again and again"
    else:
        what = f"{it.changes} membership changes in {seconds(it.within_ms)} s; again and again"
    return f"{what}: {', '.join(it.names)}"


def _same_client_id(it: o.SameClientId, clock: Clock) -> str:
    started = f", started at {', '.join(map(clock, it.start_ts))}" if len(it.start_ts) > 1 else ""
    return f"client id {it.client_id} is used by {it.instances} instances{_at(it.addresses)}{started}"


def _listed_twice(it: o.ListedTwice, _: Clock) -> str:
    return (
        f"client id {it.client_id} is listed {it.entries} times{_at(it.addresses)}; a second instance is not proven:"
        f" a dead connection is gone within {seconds(it.gone_within_ms)} s"
    )


def _not_subscribed(it: o.NotSubscribed, _: Clock) -> str:
    who = _of(it.clients, "is a member but does not", "are members but do not")
    return f"{who} subscribe to {it.topic}"


def _sdks_differ(it: o.SdksDiffer, _: Clock) -> str:
    who = "; ".join(f"{those.language}: {_names(those.clients)}" for those in it.members)
    return f"{who} own other queues than the strategy assigns to them; members of other SDKs own the assigned ones"


def _owners_balance_otherwise(it: o.OwnersBalanceOtherwise, _: Clock) -> str:
    do = "does" if it.clients.count == 1 else "do"
    who = _names(it.clients)
    return f"the other members leave them to {who}, which {do} not use the same allocation ({', '.join(it.exclusions)})"


def _routes_differ(it: o.RoutesDiffer, _: Clock) -> str:
    copies = (f"{', '.join(copy.name_servers) or 'one'} has {_sizes(copy)}" for copy in it.copies)
    return f"name servers differ on the route: {'; '.join(copies)}"


def _sizes(copy: o.RouteAtNameServers) -> str:
    return ", ".join(f"{one.queues} queues on {one.broker_name}" for one in copy.brokers) or "no queue"


def _clients_stuck(it: o.ClientsStuck, _: Clock) -> str:
    if not it.broker_names:
        return f"every queue of {_names(it.clients)} stands still"
    on = ", ".join(it.broker_names)
    return f"every queue of {_names(it.clients)} on {on} stands still, its others move: can it reach that broker?"


def _unexplained(it: o.Unexplained, _: Clock) -> str:
    when = "nothing has changed since the first round"
    if it.changed_ms is not None:
        when = f"the last change was {seconds(it.changed_ms)} s ago"
    return f"{_culprits(it)}{it.reported} of {it.members} members reported, {when}; no known cause fits"


def _culprits(it: o.Unexplained) -> str:
    keep = it.keep and _of(it.keep, "owns queues that others should own", "own queues that others should own")
    leave = it.leave and _of(it.leave, "does not own queues that it should", "do not own queues that they should")
    return "".join(f"{one}; " for one in (keep, leave) if one)


ENGLISH_EVIDENCE = Sentences(
    of={
        o.Stall: _stall,
        o.Unconsumed: _unconsumed,
        o.NotConsumedBy: lambda it, _: f"not consumed by {_names(it.clients)}",
        o.NotInRoute: lambda it, _: "the topic's route does not have this queue",
        o.SubscriptionsDiffer: _subscriptions_differ,
        o.SubscriptionsInTurn: _subscriptions_in_turn,
        o.Unreadable: _unreadable,
        o.NoMemberListed: _no_member_listed,
        o.ClientsComeAndGo: _clients_come_and_go,
        o.MoreMembersThanQueues: lambda it, _: f"{it.members} members share {it.queues} queues",
        o.SameClientId: _same_client_id,
        o.ListedTwice: _listed_twice,
        o.NotSubscribed: _not_subscribed,
        o.StrategiesDiffer: lambda it, _: "; ".join(f"{one.strategy}: {_names(one.clients)}" for one in it.members),
        o.SdksDiffer: _sdks_differ,
        o.OwnersBalanceOtherwise: _owners_balance_otherwise,
        o.MessageModelsDiffer: lambda it, _: (
            f"BROADCASTING: {_names(it.broadcasting)}; CLUSTERING: {_names(it.clustering)}"
        ),
        o.MemberListsDiffer: lambda it, _: "; ".join(
            f"{one.broker_name} lists {_names(one.clients) or 'no member'}" for one in it.lists
        ),
        o.RoomWithoutConsumer: lambda it, _: f"no member consumes from the room of {', '.join(it.broker_names)}",
        o.NotConfigured: lambda it, _: "no member's configured list names these queues",
        o.NotLocked: lambda it, _: (
            f"orderly: {_of(it.clients, 'should own them, but does', 'should own them, but do')}"
            " not have the broker's lock"
        ),
        o.RoutesDiffer: _routes_differ,
        o.OldRoute: lambda it, _: (
            f"the route changed {seconds(it.changed_ms)} s ago, and members still use the old one"
        ),
        o.NotAnswering: lambda it, _: (
            f"{_of(it.clients, 'is listed but has', 'are listed but have')} not answered for {seconds(it.silent_ms)} s"
        ),
        o.ClientsStuck: _clients_stuck,
        o.OwnersDoNotReport: lambda it, _: _of(
            it.clients,
            "should own them, pulls by itself and does not report which queues it owns",
            "should own them, pull by themselves and do not report which queues they own",
        ),
        o.MemberGone: lambda it, _: _of(
            it.clients, "has left, its queues are not taken over", "have left, their queues are not taken over"
        ),
        o.Unexplained: _unexplained,
    },
    separator="; ",
    again="{said}; found {n} times so far",
    forgotten="retired by {who} (evenkeel forget); before: {said}",
)


def in_english(evidence: o.Part | o.Observed, clock: Clock) -> str:
    """A kind of evidence, or all evidence of an alert, as a sentence."""
    return said(evidence if isinstance(evidence, o.Observed) else o.observed(evidence), ENGLISH_EVIDENCE, clock)


def english_evidence(alert: AlertFact, clock: Clock) -> str:
    return evidence_of(alert, ENGLISH_EVIDENCE, clock)
