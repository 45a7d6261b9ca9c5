"""The members as one would list them now: told when something about one changes, forgotten some time after it left."""

from schemas.facts import MemberFact
from schemas.identity import is_retry_topic
from streaming.core.abandoned import abandoned_brokers
from streaming.core.evidence import GroupEvidence
from streaming.core.group import Group
from streaming.core.membership import is_listed
from streaming.core.reports import addresses_of
from streaming.core.state import NOT_TOLD, TOLD, Client, ListedAs, RunsAs

KEPT_AFTER_LEAVING_MS = 900_000

_NOTHING_LISTED = ListedAs()
_NOTHING_RUN = RunsAs()


def tell_members(group: Group, evidence: GroupEvidence) -> None:
    """One fact for each client about which something has changed."""
    for place, client in enumerate(group.state.clients):
        if place in evidence.members:
            if client.told != TOLD:
                client.told = TOLD
                group.tell(_present(group, evidence, place, client))
        elif client.told != NOT_TOLD:
            client.told = NOT_TOLD
            group.tell(_absent(client))


def _absent(client: Client) -> MemberFact:
    return MemberFact(client_id=client.client_id, present=False, since_ts=client.since_ts)


def _present(group: Group, evidence: GroupEvidence, place: int, client: Client) -> MemberFact:
    state = group.state
    listed_as = state.listed_as[client.listed_as] if client.listed_as >= 0 else _NOTHING_LISTED
    runs_as = evidence.members[place].runs_as or _NOTHING_RUN
    return MemberFact(
        client_id=client.client_id,
        present=True,
        since_ts=client.since_ts,
        brokers=tuple(b.name for b, entries in zip(state.brokers, client.entries, strict=False) if entries),
        instances=evidence.members[place].entries,
        addresses=addresses_of(client),
        language=listed_as.language,
        version=listed_as.version,
        message_model=runs_as.message_model or listed_as.message_model,
        strategy=runs_as.strategy,
        orderly=runs_as.orderly,
        subscriptions=tuple(topic for topic, _ in runs_as.subscriptions if not is_retry_topic(topic)),
        start_ts=client.reports[0].start_ts or None if client.reports else None,
    )


def forget_the_absent(group: Group) -> None:
    """Drop every client that no broker lists, now, and that the group had members lately."""
    state = group.state
    absent = {place for place, client in enumerate(state.clients) if not is_listed(client)}
    for place in sorted(absent):
        if state.clients[place].told != NOT_TOLD:
            group.tell(_absent(state.clients[place]))
    state.changes, state.restless, state.ended = [change for change in state.changes if change.joined], [], []
    state.empty_since, state.replacing = 0, None
    group.forget(absent, set())


def forget_the_gone(group: Group) -> None:
    """Drop clients that left long ago, and queues that are in no route, with no owner, in no alert."""
    state = group.state
    gone = {place for place, client in enumerate(state.clients) if _is_gone(client, state.now)}
    held = {queue for place, c in enumerate(state.clients) if place not in gone for r in c.reports for queue in r.owned}
    held.update(queue for alert in state.alerts for queue in alert.queues)
    routed = {
        (topic, hosted.broker, queue_id)
        for topic, of in enumerate(state.topics)
        if topic not in group.abandoned
        for hosted in of.hosts
        for queue_id in range(max(hosted.read, hosted.write))
    }
    stray = {
        place
        for place, q in enumerate(state.queues)
        if place not in held and q.told_after_ms < 0 and (q.topic, q.broker, q.queue_id) not in routed
    }
    topics = group.abandoned - {queue.topic for place, queue in enumerate(state.queues) if place not in stray}
    brokers = abandoned_brokers(state, topics, stray)
    if gone or stray:
        group.forget(gone, stray)
    if topics or brokers:
        group.forget_places(topics, brokers)
    group.abandoned = set()


def _is_gone(client: Client, now: int) -> bool:
    if not client.since_ts:
        client.since_ts = now
    return not is_listed(client) and client.told == NOT_TOLD and now - client.since_ts > KEPT_AFTER_LEAVING_MS
