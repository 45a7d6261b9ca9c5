"""Topics and brokers that nobody needs any more: a group that takes up a new topic each day must not keep them all."""

from streaming.core.group import Group
from streaming.core.membership import hosting_brokers, is_listed
from streaming.core.state import GroupState

KEPT_MS = 3_600_000


def abandoned_topics(group: Group) -> set[int]:
    """Places of those of which no route has come for long, and that no member, report, alert or offset names."""
    state = group.state
    oldest = state.now - KEPT_MS
    left = {p for p, topic in enumerate(state.topics) if max(topic.confirmed_ts, topic.changed_ts) < oldest}
    if not left:
        return left
    needed = {queue.topic for queue in state.queues if queue.progress_ts >= oldest}
    owned = {queue for client in state.clients for report in client.reports for queue in report.owned}
    needed |= {state.queues[place].topic for place in owned.union(*(alert.queues for alert in state.alerts))}
    names = _subscribed(state) | {alert.topic for alert in state.alerts}
    return {place for place in left - needed if state.topics[place].name not in names}


def _subscribed(state: GroupState) -> set[str]:
    members = [client for client in state.clients if is_listed(client)]
    said = [state.runs_as[report.runs_as].subscriptions for client in members for report in client.reports]
    said += [state.listed_as[client.listed_as].subscriptions or () for client in members if client.listed_as >= 0]
    return {topic for subscriptions in said for topic, _ in subscriptions}


def abandoned_brokers(state: GroupState, topics: set[int], queues: set[int]) -> set[int]:
    """Places of those that have listed nobody for long, and host nothing of what stays."""
    oldest = state.now - KEPT_MS
    left = {p for p, broker in enumerate(state.brokers) if broker.answered_ts < oldest and not broker.listed}
    if not left or not hosting_brokers(state):
        return set()  # where no route is known, each of them may host something
    for place, topic in enumerate(state.topics):
        if place not in topics:
            copies = topic.copies.given if topic.copies is not None else []
            for hosts in (topic.hosts, topic.previous_hosts, *(copy.hosts for copy in copies)):
                left -= {hosted.broker for hosted in hosts}
    left -= {queue.broker for place, queue in enumerate(state.queues) if place not in queues}
    return left
