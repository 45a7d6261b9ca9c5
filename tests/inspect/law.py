"""The law: every statement follows from an answer that was given. Each rule names what one kind of statement needs."""

from collections.abc import Iterable, Iterator

from schemas.facts import AlertFact, Fact, GroupFact, QueueFact
from schemas.identity import is_retry_topic
from streaming.inspect.snapshot import InspectedGroup, Undecided
from streaming.inspect.snapshot import InspectedQueue as Row
from tests.inspect.answers import READABLE, Answers, Queue


def unfounded(picture: InspectedGroup, answers: Answers) -> Iterator[str]:
    """The statements of a look that do not follow from what was answered."""
    if not picture.ts:
        if picture.status != "unknown" or picture.members is not None or picture.queues is not None:
            yield "something is said before a round has ended"
        return
    yield from _status(picture, answers)
    yield from _members(picture, answers)
    for q in picture.queues or ():
        yield from _queue(picture, q, answers)
    for found in picture.findings:
        yield from finding(found.kind, found.topic, found.queues, answers, picture.ts)
        yield from cause(found.cause, answers)
        yield from _evidence(found.evidence, answers)
    for one in picture.undecided:
        yield from _open(one, answers)
        yield from cause(one.cause, answers)
    for broker in picture.brokers:
        listed = answers.round.get(broker.broker_name)
        if broker.answered != (listed is not None) or broker.listed != (None if listed is None else listed.total()):
            yield f"broker {broker.broker_name}: answered {broker.answered}, listed {broker.listed}, not {listed}"


def _status(picture: InspectedGroup, answers: Answers) -> Iterator[str]:
    topics = {q.topic for q in picture.queues or () if not is_retry_topic(q.topic) and q.finding != "EXCLUDED"}
    if picture.status == "healthy":
        if any(listed is None for listed in answers.round.values()):
            yield "healthy, though a broker was silent in the last round"
        if not topics:
            yield "healthy, though no queue was judged"
        for topic in topics:
            if not answers.is_covered(topic, picture.ts):
                yield f"healthy, though not every broker of {topic} was heard"
            if not answers.members_of(topic) or not answers.all_have_spoken(topic):
                yield f"healthy, though not every member of {topic} has spoken since the last change"
        for q in picture.queues or ():
            key = (q.topic, q.broker_name, q.queue_id)
            if q.topic in topics and picture.message_model == "CLUSTERING" and key not in answers.offsets:
                yield f"healthy, though nobody told the offsets of {key}"
    if picture.status == "empty" and any(listed is None or listed for listed in answers.round.values()):
        yield "empty, though a broker lists somebody or was silent"
    said = {_class(one.strategy) for them in answers.said.values() for one in them}
    if picture.strategies and not set(map(_class, picture.strategies)) <= said:
        yield f"strategies {picture.strategies} that nobody reported"
    if picture.message_model and not (answers.said or answers.connected or answers.offsets):
        yield "a message model that nobody told"
    if picture.reason in ("POP",) and not answers.pops:
        yield "POP, which nobody said"


def _class(strategy: str | None) -> str | None:
    """The name of a strategy's class, without its package and its hash."""
    return None if strategy is None else strategy.partition("@")[0].rpartition(".")[2]


def _members(picture: InspectedGroup, answers: Answers) -> Iterator[str]:
    if picture.members is not None and not answers.lists:
        yield "members, though no broker has listed any"
    if picture.members == () and answers.members():
        yield "no members, though some broker lists one"
    for member in picture.members or ():
        who, said = member.client_id, answers.said.get(member.client_id)
        if who not in answers.members():
            yield f"{who} is a member, though nobody lists it"
        if any(who not in answers.lists.get(broker, ()) for broker in member.brokers):
            yield f"{who} is listed by {member.brokers}, who do not"
        if (member.answered or member.queues is not None or member.strategy) and not said:
            yield f"{who} has answered, though it did not"
        if member.queues is not None and said and member.queues > len({q for one in said for q in one.owns}):
            yield f"{who} owns more queues than it said"
        if set(member.addresses or ()) - answers.addresses.get(who, set()):
            yield f"{who} at an address that nobody told"
        if (member.language or member.version) and who not in answers.profiled:
            yield f"{who}: a version that nobody told"


def _queue(picture: InspectedGroup, q: Row, answers: Answers) -> Iterator[str]:
    key: Queue = (q.topic, q.broker_name, q.queue_id)
    owners, expected = q.owners, q.expected
    yield from owned_by(key, owners, answers)
    if owners == () and answers.members_of(q.topic) and not answers.all_have_spoken(q.topic):
        yield f"{key} is nobody's, though not every member has spoken"
    if owners == () and not answers.is_covered(q.topic, picture.ts):
        yield f"{key} is nobody's, though not every broker has listed its members"
    if expected is not None:
        yield from expectation(key, answers, picture.message_model)
    samples = answers.offsets.get(key, [])
    if q.lag is not None and (not samples or picture.ts - samples[-1].ts > 30_000):
        yield f"{key}: a lag that nobody told lately"
    elif q.lag is not None and q.lag != max(0, samples[-1].broker - samples[-1].consumer):
        yield f"{key}: lag {q.lag}, told were {samples[-1]}"
    if (q.in_per_s is not None or q.out_per_s is not None) and len(samples) < 2:
        yield f"{key}: a rate of {len(samples)} answers"
    if q.still_s is not None and not samples:
        yield f"{key}: waits, though nobody told its offsets"
    if (q.readable or q.writable) and answers.route_of(key) is None:
        yield f"{key}: readable or writable in no route"
    if q.finding is not None:
        yield from finding(q.finding, q.topic, [key[1:]], answers, picture.ts)
    yield from cause(q.cause, answers)


def owned_by(key: Queue, owners: Iterable[str] | None, answers: Answers) -> Iterator[str]:
    for owner in owners or ():
        if owner not in answers.owners(key):
            yield f"{key} is {owner}'s, who did not say so"


def expectation(key: Queue, answers: Answers, message_model: str | None) -> Iterator[str]:
    """Who should own a queue: by the route, by lists that agree and, unless all own all, by a strategy."""
    topic = key[0]
    if answers.route_of(key) is None:
        yield f"{key}: an expected owner, though no route has it"
    listed = [answers.lists.get(broker) for broker in answers.hosts(topic)]
    if None in listed:
        yield f"{key}: an expected owner, though a broker has not listed its members"
    if message_model == "BROADCASTING":
        return
    if any(one != listed[0] for one in listed):
        yield f"{key}: an expected owner, though lists differ"
    if not any(one.strategy for said in answers.said.values() for one in said):
        yield f"{key}: an expected owner, though nobody named a strategy"


def finding(
    kind: str, topic: str | None, queues: Iterable[tuple[str, int]], answers: Answers, now: int
) -> Iterator[str]:
    """What a finding of the core needs."""
    if topic is None:
        yield from _condition(kind, answers)
        return
    keys = [(topic, *queue) for queue in queues]
    lacking = None
    if kind in ("MATCH", "MISPLACED", "ORPHANED"):
        if not answers.is_covered(topic, now):
            lacking = "every broker's list"
        elif not answers.members_of(topic) or not answers.all_have_spoken(topic):
            lacking = "every member's report since the last change"
        elif kind != "ORPHANED" and any(not answers.owners(key) for key in keys):
            lacking = "an owner"
    elif kind == "NO_MEMBERS":
        if not answers.is_covered(topic, now) or answers.members_of(topic):
            lacking = "empty lists of all brokers"
    elif kind == "DUPLICATED":
        for key in keys:
            said = [one for them in answers.said.values() for one in them if key in one.owns]
            duplicates = any(listed[owner] > 1 for listed in answers.lists.values() for owner in answers.owners(key))
            if len(said) < 2 and not duplicates:
                lacking = "reports of two owners"
    elif kind in ("STALLED", "CONSUME_DISABLED"):
        if any(answers.not_pulled_ms(key) < 60_000 for key in keys):
            lacking = "offsets that stood still for 60 s"
    elif kind == "SLOW_CONSUMER":
        if any(answers.not_consumed_ms(key) < 300_000 for key in keys):
            lacking = "an offset of the group that stood still for 300 s"
        held = {queue for said in answers.said.values() for one in said for queue in one.holds}
        if not any(key in held or answers.are_pulled(key) for key in keys):
            lacking = "messages in hand"
    elif kind == "PHANTOM":
        if topic not in answers.routes or not all(answers.owners(key) for key in keys):
            lacking = "a route and an owner"
    elif kind == "UNREADABLE_QUEUES" and not (topic in answers.routes and all(key in answers.offsets for key in keys)):
        lacking = "a route and offsets"
    if lacking is not None:
        yield f"{kind} of {keys[:2]}, without {lacking}"


def _condition(kind: str, answers: Answers) -> Iterator[str]:
    if kind == "NO_MEMBERS" and (any(answers.lists.values()) or not answers.lists):
        yield "NO_MEMBERS, though lists lack or name somebody"
    if kind == "INCONSISTENT_SUBSCRIPTION":
        sets = {one.subscribes for said in answers.said.values() for one in said if one.subscribes}
        if len(sets) < 2 and not answers.connected:
            yield "INCONSISTENT_SUBSCRIPTION, though nobody named two"
    if kind == "REBALANCE_STORM" and answers.changes <= 6:
        yield "REBALANCE_STORM, though lists hardly changed"


def cause(named: str | None, answers: Answers) -> Iterator[str]:
    """What a cause needs."""
    said = [one for them in answers.said.values() for one in them]
    twice = {who for listed in answers.lists.values() for who, times in listed.items() if times > 1}
    has = {
        "SAME_CLIENT_ID": any(
            len({one.start for one in answers.said.get(who, ())}) > 1 or len(answers.addresses.get(who, ())) > 1
            for who in twice
        ),
        "STALE_CONNECTION": bool(twice),
        "SUBSCRIPTION_MISMATCH": len({one.subscribes for one in said}) > 1 or bool(answers.connected),
        "STRATEGY_MISMATCH": len({_class(one.strategy) for one in said}) > 1 or bool(answers.profiled),
        "MESSAGE_MODEL_MISMATCH": len({one.model for one in said}) > 1,
        "RESTART_LOOP": False,  # a look sees no client leave three times
        "VIEW_DIVERGENCE": len({tuple(sorted(listed.items())) for listed in answers.lists.values()}) > 1,
        "CLIENT_STALLED": bool(answers.silent_since) or bool(answers.offsets),
        "MEMBER_GONE": bool(set(answers.said) - answers.members()),
        "ROUTE_LAG": any(len(routes) > 1 for routes in answers.routes.values()),
        "NO_READ_PERM": any(
            not perm & READABLE for routes in answers.routes.values() for _, _, perm in routes[-1].values()
        ),
        "READ_LT_WRITE": any(
            read < write for routes in answers.routes.values() for read, write, _ in routes[-1].values()
        ),
    }
    if named is not None and not has.get(named, True):
        yield f"cause {named}, of which no answer tells"


def _evidence(text: str, answers: Answers) -> Iterator[str]:
    if "messages wait" in text and "not known" not in text and not answers.offsets:
        yield f"{text!r}, though nobody told offsets"


def _open(one: Undecided, answers: Answers) -> Iterator[str]:
    """What a look says that something may be."""
    kind, topic = one.kind, one.topic
    if topic is None:
        if kind == "NO_MEMBERS" and answers.members():
            yield "may be NO_MEMBERS, though somebody is listed"
        if kind == "NO_MEMBERS":
            yield from _evidence(one.evidence, answers)
        return
    for key in [(topic, *queue) for queue in one.queues]:
        owners = answers.owners(key)
        if kind == "ORPHANED" and not answers.all_have_spoken(topic):
            yield f"{key} may be ORPHANED, though not every member has spoken"
        if kind in ("MISPLACED", "PHANTOM", "DUPLICATED") and not owners:
            yield f"{key} may be {kind}, though nobody owns it"
        if kind == "STALLED" and one.evidence and "wait" in one.evidence and key not in answers.offsets:
            yield f"{key} may be STALLED, though nobody told its offsets"


def unfounded_facts(facts: Iterable[Fact], answers: Answers) -> Iterator[str]:
    """The statements of pages and of ``explain``: they say what facts say."""
    for fact in facts:
        told = fact.payload
        if isinstance(told, QueueFact) and told.present:
            key = (fact.topic or "", told.broker_name, told.queue_id)
            yield from owned_by(key, told.owners, answers)
            yield from finding(told.finding, fact.topic, [key[1:]], answers, fact.ts)
            yield from cause(told.cause, answers)
        elif isinstance(told, GroupFact):
            yield from _group_fact(fact, told, answers)
        elif isinstance(told, AlertFact) and told.state != "resolved" and not told.stale:
            yield from _alert_fact(fact, told, answers)


def _group_fact(fact: Fact, told: GroupFact, answers: Answers) -> Iterator[str]:
    heard = sum(who in answers.said for who in answers.members())
    if told.members_reporting > heard:
        yield f"{told.members_reporting} have reported, of whom {heard} have"
    if told.status == "healthy" and not all(
        answers.is_covered(topic, fact.ts) and answers.all_have_spoken(topic) and answers.members_of(topic)
        for topic in answers.topics()
        if not is_retry_topic(topic)
    ):
        yield "healthy by the facts, though somebody was not heard"
    if told.status == "healthy" and not answers.members():
        yield "healthy by the facts, though nobody is there"


def _alert_fact(fact: Fact, told: AlertFact, answers: Answers) -> Iterator[str]:
    if told.reason in ("found", "held_long_enough"):
        yield from cause(told.cause, answers)
    if told.waiting is not None and not answers.offsets:
        yield f"{told.kind}: {told.waiting} wait, though nobody told offsets"
    for queue in told.queues:
        key = (fact.topic or "", queue.broker_name, queue.queue_id)
        yield from owned_by(key, queue.owners, answers)
        if queue.waiting is not None and key not in answers.offsets:
            yield f"{key}: {queue.waiting} wait, though nobody told its offsets"
    for client in told.clients:
        if set(client.addresses) - answers.addresses.get(client.client_id, set()):
            yield f"{client.client_id} at an address that nobody told"
        if client.answered_ts is not None and client.client_id not in answers.said:
            yield f"{client.client_id} answered, though it did not"
