"""The sentences in English for each kind of evidence and each reason."""

from schemas import observed as o
from schemas.facts import AlertFact
from schemas.reasons import EXCLUSIONS, ReasonDetails, ReasonKind
from streaming.notices.evidence import Clock, Sentences, evidence_of, reason_said, said

_COUNTS_FROM = "at {changed_ts}; evenkeel judges by reports from {counts_from_ts} on"

ENGLISH_EVIDENCE = Sentences(
    of={
        o.Stall: "{waiting} messages wait, none {by_pull_offset:?pulled|consumed} for {stalled_ms:s} s",
        o.Unconsumed: "{pulled:?{pulled} messages were pulled, none consumed|its owner has had unconsumed messages} for"
        " {unconsumed_ms:s} s",
        o.NotConsumedBy: "not consumed by {clients}",
        o.NotInRoute: "the topic's route does not have this queue",
        o.SubscriptionMembers: "{clients}: {subscriptions}",
        o.SubscriptionsDiffer: "{members}",
        o.SubscriptionsInTurn: "brokers show different subscriptions in turn ({topics}): {refused_topic:?without"
        " {refused_topic} they refuse its pulls|members overwrite each other's}",
        o.QueueName: "{broker_name}/{queue_id}",
        o.UnreadableQueues: "{cause}: {queues}{read_ts:? ({at_least:?at least |}{waiting} {waiting:#message|messages},"
        " read at {read_ts})|}",
        o.Unreadable: "{causes}",
        o.OffsetBack: "{broker_name}/{queue_id} from {from_offset} to {to_offset}",
        o.OffsetsBack: "at least {messages} {messages:#message is|messages are} consumed again: {queues}{more:?; and"
        " {more} more queues|}; read at {before_ts}, and lower at {seen_ts}{broker_names:?; {broker_names} gave no"
        " list of members in between, until {back_ts}|}{owned_twice:?; two clients may have consumed them at that"
        " time|}{changed_ts:?; members changed at {changed_ts}|}{may_be_reset:?; an operator's reset looks the same,"
        " and so does a pull consumer that seeks|}",
        o.BlockedQueue: "{broker_name}/{queue_id} (offset {offset})",
        o.HeadBlocked: "{waiting} {waiting:#message waits|messages wait} behind the first of {queues}{more:?, and of"
        " {more} more {more:#queue|queues}|}; {queues:#it was handed out and has|these were handed out and have} not"
        " been acknowledged for {stands_ms:s} s; a client polled meanwhile, at {polled_ts}, and got none",
        o.ConsumedAgain: "{again} {again:#message|messages} came back in {counted_ms:s} s, while clients took {taken},"
        " on {broker_names} ({retry_topics}): refused, or not acknowledged in time; some have come back since"
        " {since_ts}",
        o.NoMemberListed: "no broker {at_proxies:?and no proxy |}lists a member; {waiting:?{at_least:?at least"
        " |}{waiting} messages wait|how many messages wait is not known}{allowed_ms:?; the configuration allows"
        " {allowed_ms:min_up} minutes without members; they are over|}{away_before_ms:?; its earlier pauses lasted"
        " {away_before_ms:min_up} minutes at most|}{proxies_away:?; proxy {proxies_away} did not answer at about the"
        " time when they left: clients may run without being listed|}",
        o.ClientsComeAndGo: "{changes:?{changes} membership changes in {within_ms:s} s;|for {within_ms:min} minutes and"
        " longer,} again and again: {names}",
        o.MoreMembersThanQueues: "{members} members share {queues} queues",
        o.SameClientId: "client id {client_id} is used by {instances} instances{addresses:? at"
        " {addresses}|}{start_ts:#|{start_ts:?, started at |}{start_ts}}",
        o.ListedTwice: "client id {client_id} is listed {entries} times{addresses:? at {addresses}|}; a second instance"
        " is not proven: a dead connection is gone within {gone_within_ms:s} s",
        o.NotSubscribed: "{clients} {clients:#is a member but does|are members but do} not subscribe to {topic}",
        o.StrategyMembers: "{strategy}: {clients}",
        o.StrategiesDiffer: "{members}",
        o.SdkMembers: "{language}: {clients}",
        o.SdksDiffer: "{members} own other queues than the strategy assigns to them; members of other SDKs own the"
        " assigned ones",
        o.OwnersBalanceOtherwise: "the other members leave them to {clients}, which {clients:#does|do} not use the same"
        " allocation ({exclusions})",
        o.MessageModelsDiffer: "BROADCASTING: {broadcasting}; CLUSTERING: {clustering}",
        o.BrokerList: "{broker_name} lists {clients:?{clients}|no member}",
        o.MemberListsDiffer: "{lists}",
        o.MembersSplit: "{at_brokers} {at_brokers:#is|are} connected to brokers, and {at_proxies} to proxies: neither"
        " side knows the other, and each consumes every queue",
        o.NotPolled: "{waiting} {waiting:#message waits|messages wait}, and no client has polled for {silent_ms:s} s",
        o.RefusedByBrokers: "{broker_names} {broker_names:#has|have} consumeEnable=false for the group, or"
        " {broker_names:#has|have} no such group",
        o.PolledElsewhere: "clients poll {broker_names} meanwhile{proxies:?, and are connected to proxy {proxies}|}",
        o.SilentSinceProxy: "{clients} {clients:#is|are} listed; the last poll was seen before proxy {proxies} stopped"
        " answering, {away_ms:s} s ago",
        o.ReviveBehind: "{broker_names} {broker_names:#has|have} {records} {records:#record|records} of POP left to"
        " read: {stands_ms:?for {stands_ms:s} s more have come and none was read|}{late_for_ms:?{stands_ms:?; in other"
        " queues |}for {late_for_ms:s} s they have been read more than a minute late|}. Until they are read, messages"
        " that clients took and did not acknowledge are not given out again",
        o.RoomWithoutConsumer: "no member consumes from the room of {broker_names}",
        o.NotConfigured: "no member's configured list names these queues",
        o.NotLocked: "orderly: {clients} should own them, but {clients:#does|do} not have the broker's lock",
        o.BrokerQueues: "{queues} queues on {broker_name}",
        o.RouteAtNameServers: "{name_servers:?{name_servers}|one} has {brokers:?{brokers}|no queue}",
        o.RoutesDiffer: "name servers differ on the route: {copies}",
        o.OldRoute: "the route changed {changed_ms:s} s ago, and members still use the old one",
        o.NotAnswering: "{clients} {clients:#is|are} listed but {clients:#has|have} not answered for {silent_ms:s} s",
        o.ClientsStuck: "every queue of {clients} {broker_names:?on {broker_names} stands still, its others move: can"
        " it reach that broker?|stands still}",
        o.OwnersDoNotReport: "{clients} should own them, {clients:#pulls by itself and does|pull by themselves and do}"
        " not report which queues {clients:#it owns|they own}",
        o.MemberGone: "{clients} {clients:#has left, its|have left, their} queues are not taken over",
        o.Unexplained: "{keep:?{keep} {keep:#owns|own} queues that others should own; |}{leave:?{leave}"
        " {leave:#does|do} not own queues that {leave:#it|they} should; |}{reported} of {members} members reported,"
        " {changed_ms:?the last change was {changed_ms:s} s ago|nothing has changed since the first round}; no"
        " known cause fits",
        ReasonKind.CONFIGURED: "a rule of the configuration leaves the group out",
        ReasonKind.STATIC_TOPIC: "a static topic, whose queues are only mapped to brokers",
        ReasonKind.NOT_SUBSCRIBED: "every member has reported its subscriptions, and none includes this topic",
        ReasonKind.POP: "messages are handed out by the broker (pop), not by queues",
        ReasonKind.BROKER_ALLOCATED: "a member has clientRebalance=false: the broker shares out the queues",
        ReasonKind.LITE_ASSIGN: "a pull consumer takes the queues that its code assigns",
        ReasonKind.PROXY_CLIENT: "a gRPC client: its proxy shares out the queues",
        ReasonKind.UNREADABLE: "no client can read the queue: no read permission, or beyond readQueueNums",
        ReasonKind.LITE_TOPICS: "it consumes lite topics, whose queues and offsets are not read",
        ReasonKind.SYSTEM_GROUP: "a group of RocketMQ's own: brokers consume its queues themselves",
        ReasonKind.NO_ANSWER: "no answer from {broker_names}",
        ReasonKind.ROUTE_NOT_KNOWN: "the topic's route is not known",
        ReasonKind.NAME_SERVERS_DIFFER: "name servers differ on the route",
        ReasonKind.NO_MESSAGE_MODEL: "the group's message model (CLUSTERING or BROADCASTING) is not known",
        ReasonKind.NON_REPORTING_MEMBERS: "{clients}: what {clients:#it owns|they own} is not known ({exclusions})",
        ReasonKind.MEMBERS_AT_PROXIES: "{clients}: what {clients:#it owns|they own} is not known, because a proxy lists"
        " {clients:#it|them}",
        ReasonKind.NO_REPORT_SINCE_CHANGE: "{clients} {clients:#has|have} not reported since the last change",
        ReasonKind.POLLS_NOT_READ: "its broker has not given the number of waiting polls for long",
        ReasonKind.POPPED_IN_PART: "only some of the topic's brokers hand out its messages by POP (mqadmin"
        " setConsumeMode): clients pop and pull its queues in turn",
        ReasonKind.NO_POLL_SEEN: "no poll is seen: its clients may be silent, or busy with messages, or poll only when"
        " their application asks",
        ReasonKind.EVENTS_REFUSED: "its events are refused: {refused_as}, {error}",
        ReasonKind.EVALUATION_FAILED: "evenkeel failed to evaluate the group",
        ReasonKind.ROUTE_CHANGED: f"the route changed {_COUNTS_FROM}",
        ReasonKind.BROKERS_CHANGED: f"its brokers changed {_COUNTS_FROM}",
        ReasonKind.MEMBER_LIST_CHANGED: f"the list of {{broker_names}} changed {_COUNTS_FROM}",
        ReasonKind.BROKER_RETURNED: f"{{broker_names}} came back {_COUNTS_FROM}",
        ReasonKind.PROXY_AWAY: "proxy {broker_names} went away or came back at {changed_ts}; its clients may come back"
        " until {counts_from_ts}",
        ReasonKind.OTHER_ROUTE: "all members use a route other than the known one",
        ReasonKind.NOT_IN_ROUTE: "a client owns it, but it is not in the topic's route",
        ReasonKind.NO_MEMBER_YET: "its brokers list no member yet",
        ReasonKind.NO_CONSUMER: "no member consumes this topic",
        ReasonKind.NO_MEMBERS: "{since_ts:?no broker has listed a member since {since_ts}|no broker lists a member}",
        ReasonKind.CONSUME_DISABLED: "the subscription group has consumeEnable=false",
        ReasonKind.LEFT_ROUTE: "no longer in the route",
        ReasonKind.BROKERS_NOT_COVERED: "not every broker of the topic has given its list of members",
        ReasonKind.MEMBER_LISTS_DIFFER: "brokers list different members",
        ReasonKind.NO_STRATEGY_REPORTED: "no report names a strategy",
        ReasonKind.STRATEGIES_DIFFER: "members run different strategies",
        ReasonKind.STRATEGY_NOT_NAMED: "some members do not name their strategy",
        ReasonKind.UNKNOWN_STRATEGY: "strategy {strategy} is not one of RocketMQ's own",
        ReasonKind.UNKNOWN_PARAMETERS: "the parameters of {strategy} cannot be seen from outside: configure them",
        ReasonKind.STRATEGY_THROWS: "{strategy} throws {error}",
    },
    and_more=" and {n} more",
    empty={"topics": "nothing", "exclusions": "pulls by itself"},
    separator="; ",
    again="{said}; found {n} times so far",
    forgotten="retired by {who} (evenkeel forget); before: {said}",
)


def in_english(evidence: o.Part | o.Observed, clock: Clock) -> str:
    """A kind of evidence, or all evidence of an alert, as a sentence."""
    return said(evidence if isinstance(evidence, o.Observed) else o.observed(evidence), ENGLISH_EVIDENCE, clock)


def english_evidence(alert: AlertFact, clock: Clock) -> str:
    return evidence_of(alert, ENGLISH_EVIDENCE, clock)


def reason_in_english(kind: str, details: ReasonDetails | None, clock: Clock) -> str:
    return reason_said(kind, details, ENGLISH_EVIDENCE, clock)


def reason_in_short(kind: str | None, details: ReasonDetails | None, clock: Clock) -> str | None:
    """The reason as a sentence, but an exclusion by its name, as docs/findings.md lists it."""
    return kind if kind is None or kind in EXCLUSIONS else reason_in_english(kind, details, clock)
