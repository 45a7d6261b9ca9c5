"""Findings about a topic or the whole group, one small rule each."""

from collections.abc import Callable, Iterator

from schemas.facts import Kind, Severity
from schemas.identity import is_retry_topic
from streaming.core.evidence import BROADCASTING, GroupEvidence, Subscriptions
from streaming.core.routes import is_readable
from streaming.core.state import Condition, Topic

Found = tuple[str, str]  # (topic, "" for the group; evidence)


def inconsistent_subscription(evidence: GroupEvidence) -> Iterator[Found]:
    """Members subscribe to different topics or filters: RocketMQ then loses messages in silence."""
    by_subscription: dict[Subscriptions, list[int]] = {}
    for place, subscription in _comparable(evidence).items():
        by_subscription.setdefault(subscription, []).append(place)
    if len(by_subscription) < 2:
        return
    parts = [
        f"{', '.join(evidence.group.client_ids(places)[:3])}: {', '.join(map(_shown, subscription))}"
        for subscription, places in sorted(by_subscription.items(), key=lambda item: item[1])
    ]
    yield "", "; ".join(parts)


def _comparable(evidence: GroupEvidence) -> dict[int, Subscriptions]:
    """What each member that has reported subscribes to, filters left out where one of them does not say its own."""
    said = {
        member.place: tuple(pair for pair in member.runs_as.subscriptions if not is_retry_topic(pair[0]))
        for member in evidence.members.values()
        if member.as_of and member.runs_as is not None
    }
    unfiltered = {topic for subscription in said.values() for topic, expression in subscription if expression is None}
    return {
        place: tuple((topic, None if topic in unfiltered else expression) for topic, expression in subscription)
        for place, subscription in said.items()
        if subscription
    }


def _shown(pair: tuple[str, str | None]) -> str:
    topic, expression = pair
    return topic if expression in (None, "*") else f"{topic} ({expression})"


def unreadable_queues(evidence: GroupEvidence) -> Iterator[Found]:
    """Messages arrive in queues that nobody can read: no read permission, or fewer read than write queues."""
    state = evidence.group.state
    waiting = {(q.topic, q.broker, q.queue_id) for q in state.queues if q.consumer_lag > 0}
    for place, topic in enumerate(state.topics):
        for cause, unreadable in _unreadable(topic):
            hit = sorted(key for key in unreadable if (place, *key) in waiting)
            if hit:
                names = ", ".join(f"{state.brokers[broker].name}/{queue_id}" for broker, queue_id in hit)
                yield topic.name, f"{cause}: {names}"


def _unreadable(topic: Topic) -> Iterator[tuple[str, set[tuple[int, int]]]]:
    for hosted in topic.hosts:
        if not is_readable(hosted):
            yield "NO_READ_PERM", {(hosted.broker, queue_id) for queue_id in range(hosted.write)}
        elif hosted.read < hosted.write:
            yield "READ_LT_WRITE", {(hosted.broker, queue_id) for queue_id in range(hosted.read, hosted.write)}


def no_members(evidence: GroupEvidence) -> Iterator[Found]:
    """Every broker answered, and none lists a member, though there were some and messages wait."""
    state = evidence.group.state
    if evidence.members or evidence.uncovered or not state.empty_since or not state.brokers:
        return
    waiting = sum(queue.consumer_lag for queue in state.queues if queue.consumer_lag > 0)
    lately = evidence.now - state.empty_since <= evidence.group.timing.gone_after
    if evidence.group.rule.always_on or (waiting and lately):
        yield "", f"no broker lists a member; {waiting} messages wait"


def rebalance_storm(evidence: GroupEvidence) -> Iterator[Found]:
    """More membership changes than a deploy makes: some client comes and goes again and again."""
    timing = evidence.group.timing
    changes = [c for c in evidence.group.state.changes if c.ts >= evidence.now - timing.storm_window]
    if len(changes) <= timing.storm_changes:
        return
    ids = [change.client_id for change in changes]
    restless = sorted({client_id for client_id in ids if ids.count(client_id) > 2})
    if restless:
        seconds = timing.storm_window // 1000
        yield "", f"{len(changes)} membership changes in {seconds} s; again and again: {', '.join(restless[:3])}"


def idle_members(evidence: GroupEvidence) -> Iterator[Found]:
    """More members than queues: some will never own any."""
    if evidence.message_model == BROADCASTING:
        return
    for topic in evidence.group.state.topics:
        queues = sum(hosted.read for hosted in topic.hosts if is_readable(hosted))
        subscribers = len(evidence.subscribed.get(topic.name, ()))
        if queues and subscribers > queues and not is_retry_topic(topic.name):
            yield topic.name, f"{subscribers} members share {queues} queues"


Rule = Callable[[GroupEvidence], Iterator[Found]]

RULES: dict[Kind, tuple[Rule, Severity]] = {
    Kind.INCONSISTENT_SUBSCRIPTION: (inconsistent_subscription, Severity.WARNING),
    Kind.UNREADABLE_QUEUES: (unreadable_queues, Severity.WARNING),
    Kind.NO_MEMBERS: (no_members, Severity.WARNING),
    Kind.REBALANCE_STORM: (rebalance_storm, Severity.WARNING),
    Kind.IDLE_MEMBERS: (idle_members, Severity.INFO),
}


def find_conditions(evidence: GroupEvidence) -> list[Condition]:
    """What holds now, each with the time since when."""
    if evidence.exclusion is not None:
        return []
    since = {(condition.kind, condition.topic): condition.since_ts for condition in evidence.group.state.conditions}
    return [
        Condition(topic, kind.value, since.get((kind.value, topic), evidence.now), text)
        for kind, (rule, _) in RULES.items()
        for topic, text in rule(evidence)
    ]


def severity_of(evidence: GroupEvidence, kind: Kind) -> Severity:
    """NO_MEMBERS is critical for a group that is configured to be always on."""
    if kind is Kind.NO_MEMBERS and evidence.group.rule.always_on:
        return Severity.CRITICAL
    return RULES[kind][1]
