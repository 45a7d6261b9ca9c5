"""How long things are kept: silent groups, and clients, queues, topics and brokers that a group no longer has.

The state of a group that has been silent for ``forget_after_ms`` is compacted by its shard. A group that comes back
after so long starts afresh in any case: so no fact depends on whether its shard had compacted it already.
"""

from collections.abc import Set

from schemas.events import ANY_QUEUE, Forget
from streaming.core.alerts.lifecycle import end_forgotten
from streaming.core.member_facts import absent_member
from streaming.core.settings import Timing
from streaming.core.state.group import Group
from streaming.core.state.group_state import NOT_EMITTED, Client, GroupState, Topic, left_the_route
from streaming.core.state.members import is_listed
from streaming.core.state.offsets import is_seen_lately
from streaming.core.state.queue_state import Queue
from streaming.core.state.routes import hosting_brokers

FORGET_AFTER_MS = 7 * 86_400_000  # a group without events for so long is compacted
CLOCKS_DIFFER_MS = 3_600_000  # between groups of one cluster, at most: so no state is dropped too early
KEEP_LEFT_CLIENT_MS = 900_000  # so that a client that comes back is known
KEEP_UNUSED_TOPIC_MS = 3_600_000  # brokers too: a group may use a new topic each day
KEPT_FOR_EVER = (
    *("cluster", "group", "next_seq", "now", "interval", "round", "valid_from_ts", "sources", "markers_behind"),
    *("held_events", "missing_events", "lost_events_ts", "routes_changed_ts", "round_parts", "refused_since"),
    "marker_sources",
)


def silent_before(cluster_ts: int, timing: Timing) -> int:
    """Groups whose clocks are before this are silent, by the time of their cluster. Clocks of groups may differ."""
    return cluster_ts - timing.forget_after_ms - CLOCKS_DIFFER_MS


def start_afresh_after_silence(group: Group, ts: int) -> None:
    """A marker comes at ``ts``, by the group's own time perhaps after a long silence."""
    state = group.state
    if state.now and ts - state.now > group.timing.forget_after_ms and can_be_compacted(state):
        group.replace_state(compacted(state))


def can_be_compacted(state: GroupState) -> bool:
    """True if no alert is open, no member is listed, and no fact says that one is."""
    return not state.alerts and not any(client.emitted or any(client.entries) for client in state.clients)


def compacted(state: GroupState) -> GroupState:
    """The state of a silent group that is kept for ever: number of its next fact, clock, and what depends on these."""
    return GroupState(**{name: getattr(state, name) for name in KEPT_FOR_EVER})


def abandoned_topics(group: Group) -> set[int]:
    """Indices of topics of which no route has come for long, and that no member, report, alert or offset names."""
    state = group.state
    oldest = state.now - KEEP_UNUSED_TOPIC_MS
    left = {p for p, topic in enumerate(state.topics) if max(topic.confirmed_ts, topic.changed_ts) < oldest}
    if not left:
        return left
    needed = {queue.topic for queue in state.queues if queue.progress_ts >= oldest}
    owned = {queue for client in state.clients for report in client.reports for queue in report.owned}
    needed |= {state.queues[index].topic for index in owned.union(*(alert.queues for alert in state.alerts))}
    names = _subscribed(group) | {alert.topic for alert in state.alerts}
    return {index for index in left - needed if state.topics[index].name not in names}


def _subscribed(group: Group) -> set[str]:
    state = group.state
    members = [client for client in state.clients if is_listed(client)]
    said = [state.running_profiles[report.running].subscriptions for client in members for report in client.reports]
    heartbeats = [group.heartbeat_of(client) for client in members]
    said += [heartbeat.subscriptions or () for heartbeat in heartbeats if heartbeat is not None]
    return {topic for subscriptions in said for topic, _ in subscriptions}


def _abandoned_brokers(group: Group, topics: set[int], queues: set[int]) -> set[int]:
    """Indices of brokers that have listed no member for long, and host no topic that is kept."""
    state = group.state
    oldest = state.now - KEEP_UNUSED_TOPIC_MS
    left = {p for p, broker in enumerate(state.brokers) if broker.answered_ts < oldest and not broker.listed}
    if not left or not hosting_brokers(state):
        return set()  # where no route is known, each of them may host something
    for index, topic in enumerate(state.topics):
        if index not in topics:
            copies = topic.copies.given if topic.copies is not None else []
            for hosts in (topic.hosts, topic.previous_hosts, *(copy.hosts for copy in copies)):
                left -= {hosted.broker for hosted in hosts}
    left -= {queue.broker for index, queue in enumerate(state.queues) if index not in queues}
    return left


def take_forget(group: Group, event: Forget) -> None:
    """An operator forgets a group that was retired: its alerts end at once, without waiting for ``gone_after_ms``.

    Members that are not listed are dropped. Later findings are emitted again.
    """
    end_forgotten(group, event.who)
    _forget_absent_clients(group)
    group.request_evaluation()


def _forget_absent_clients(group: Group) -> None:
    """Drop every client that no broker lists now, and forget that the group had members lately."""
    state = group.state
    absent = {index for index, client in enumerate(state.clients) if not is_listed(client)}
    for index in sorted(absent):
        if state.clients[index].emitted != NOT_EMITTED:
            group.emit(absent_member(state.clients[index]))
    state.membership_changes = [change for change in state.membership_changes if change.joined]
    state.flapping_clients, state.ended_alerts = [], []
    state.empty_since, state.deploy, state.past_pauses = 0, None, []
    group.drop_clients_and_queues(absent, set())


def forget_what_is_gone(group: Group, abandoned: Set[int]) -> None:
    """Drops abandoned topics, clients that left long ago, queues that left the route long ago, and polls of the past.

    A queue that some client owns or an open alert names is kept.
    """
    state = group.state
    for topic in state.topics:
        if topic.polls:
            _forget_old_polls(topic, state.now - group.timing.gone_after_ms)
    for client in state.clients:  # that no list has named: they are kept for as long as those that leave now
        client.since_ts = client.since_ts or state.now
    gone = {index for index, client in enumerate(state.clients) if _is_gone(group, client)}
    held = {queue for index, c in enumerate(state.clients) if index not in gone for r in c.reports for queue in r.owned}
    held.update(queue for alert in state.alerts for queue in alert.queues)
    routed = {
        (topic, hosted.broker, queue_id)
        for topic, of in enumerate(state.topics)
        if topic not in abandoned
        for hosted in of.hosts
        for queue_id in range(max(hosted.read, hosted.write))
    }
    stray = {
        index
        for index, q in enumerate(state.queues)
        if index not in held and q.publish_delay_ms < 0 and (q.topic, q.broker, q.queue_id) not in routed
        if q.topic in abandoned or not (_may_hold_messages(group, q) or _shows_what_comes_back(group, q))
    }
    topics = set(abandoned) - {queue.topic for index, queue in enumerate(state.queues) if index not in stray}
    brokers = _abandoned_brokers(group, topics, stray)
    if gone or stray:
        group.drop_clients_and_queues(gone, stray)
    if topics or brokers:
        group.drop_topics_and_brokers(topics, brokers)
        group.request_evaluation()  # the group's status counts its brokers


def _forget_old_polls(topic: Topic, oldest: int) -> None:
    """Where brokers are asked no more: the group consumes otherwise now, or polls other queues."""
    topic.polls = [one for one in topic.polls if one.read_ts >= oldest]


def _may_hold_messages(group: Group, queue: Queue) -> bool:
    """True if messages are left in a queue that left the route, or its offsets may still show that."""
    if not left_the_route(queue):
        return False
    timing = group.timing
    kept_ms = timing.gone_after_ms if queue.consumer_lag > 0 else timing.progress_max_gap_ms
    return group.state.now - queue.since_ts <= kept_ms


def _shows_what_comes_back(group: Group, queue: Queue) -> bool:
    """True of a POP retry topic: nobody asks for its route, and only its offsets show that messages come back."""
    polled = group.taken_with(group.topic_of(queue))
    return polled is not None and ANY_QUEUE in polled.polls_at(queue.broker) and is_seen_lately(group, queue)


def _is_gone(group: Group, client: Client) -> bool:
    is_absent = not is_listed(client) and client.emitted == NOT_EMITTED
    return is_absent and group.state.now - client.since_ts > KEEP_LEFT_CLIENT_MS
