"""How large a group may be. Events beyond that are refused, so that no record delays all other groups.

A route of two kilobytes may claim 2^31 queues. RocketMQ sets no limits. These are far above what its users report, and
a group of that size is evaluated within a second (docs/performance.md, `bounds`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from schemas import events
from schemas.identity import MessageQueue
from schemas.records import Rejected
from streaming.core.state.group import Group
from streaming.core.state.group_state import HostedQueues

QUEUES_AT_MOST = 16_384  # in the routes of all topics of a group
KNOWN_QUEUES_AT_MOST = 2 * QUEUES_AT_MOST  # those that reports and offsets name besides included
TOPICS_AT_MOST = 1_024
BROKERS_AT_MOST = 1_024
CLIENTS_AT_MOST = 16_384
OWNED_AT_MOST = 262_144  # in the reports of all clients together: broadcasting, each client owns every queue


def too_much(group: Group, event: events.AnyEvent) -> Rejected | None:
    """Why the group would become too large with this event; None if it would not."""
    check = _CHECKS.get(type(event))
    what = None if check is None else check(group, event)
    return None if what is None else Rejected("too_many", what)


def _too_many_in_round(group: Group, event: events.Round) -> str | None:
    clients = sum([len(answer.client_ids) for answer in event.brokers])
    if clients > CLIENTS_AT_MOST:
        clients = len({client_id for answer in event.brokers for client_id in answer.client_ids})
    return (
        _over(clients, CLIENTS_AT_MOST, "clients")
        or _over(len(event.brokers) + len(event.unchanged_lists), BROKERS_AT_MOST, "brokers")
        or (_too_many_named(group, event.offsets) if event.offsets else None)
        or (_too_many_listed(group, event.heartbeats) if event.heartbeats else None)
    )


def _too_many_by_report(group: Group, event: events.AssignmentReport) -> str | None:
    return _too_many_in_topics(group, event.owned) or _too_many_clients(group, event) or _too_many_owned(group, event)


def _too_many_owned(group: Group, event: events.AssignmentReport) -> str | None:
    """Reports are counted one by one only where there might be too many."""
    state, named = group.state, sum(len(one.queues) for one in event.owned)
    if named * (1 + len(state.clients)) <= OWNED_AT_MOST and len(state.queues) * len(state.clients) <= OWNED_AT_MOST:
        return None
    others = (client for client in state.clients if client.client_id != event.client_id)
    return _over(named + sum(len(r.owned) for client in others for r in client.reports), OWNED_AT_MOST, "owned queues")


def _too_many_in_topics(group: Group, named: Sequence[events.OwnedQueues | events.ConsumeProgress]) -> str | None:
    return _too_many_named(group, named) or _over(len(group.state.topics), TOPICS_AT_MOST, "topics")


def _too_many_clients(group: Group, event: events.AnyEvent) -> str | None:
    return _over(len(group.state.clients), 2 * CLIENTS_AT_MOST, "clients")


def _too_many_listed(group: Group, heartbeats: Sequence[events.ListedClient]) -> str | None:
    """Clients are looked up one by one only where there might be too many."""
    known = len(group.state.clients)
    if known + len(heartbeats) <= 2 * CLIENTS_AT_MOST:
        return None
    new = sum(group.known_client(client_id) is None for client_id in {one.client_id for one in heartbeats})
    return _over(known + new, 2 * CLIENTS_AT_MOST, "clients")


def _too_many_named(
    group: Group, named: Sequence[events.OwnedQueues | events.ConsumeProgress | events.TopicOffsets]
) -> str | None:
    """Queues are looked up one by one only where there might be too many."""
    known = len(group.state.queues)
    if known + sum(len(one.queues) for one in named) <= KNOWN_QUEUES_AT_MOST:
        return None
    queues = (MessageQueue(one.topic, one.broker_name, queue.queue_id) for one in named for queue in one.queues)
    return _over(known + sum(not group.has_queue(queue) for queue in queues), KNOWN_QUEUES_AT_MOST, "queues")


def _too_many_by_route(group: Group, event: events.TopicRoute) -> str | None:
    """The group's other topics count too."""
    copies = [event.brokers, *(copy.brokers for copy in event.others or ())]
    hosted = max(sum(max(q.read_queue_nums, q.write_queue_nums) for q in copy) for copy in copies)
    others = (topic.hosts for topic in group.state.topics if topic.name != event.topic)
    return (
        _over(hosted + sum(map(_queues_in, others)), QUEUES_AT_MOST, "queues")
        or _over(max(map(len, copies)), BROKERS_AT_MOST, "brokers")
        or _over(len(group.state.topics), TOPICS_AT_MOST, "topics")
    )


_CHECKS: dict[type, Callable[[Group, Any], str | None]] = {
    events.Round: _too_many_in_round,
    events.TopicRoute: _too_many_by_route,
    events.AssignmentReport: _too_many_by_report,
    events.ConsumeProgress: lambda group, event: _too_many_in_topics(group, [event]),
    events.Heartbeat: _too_many_clients,
    events.ConsumerChange: _too_many_clients,
}


def _queues_in(hosts: Iterable[HostedQueues]) -> int:
    return sum(max(hosted.read, hosted.write) for hosted in hosts)


def _over(found: int, limit: int, what: str) -> str | None:
    return f"{found} {what} of one group; the limit is {limit}" if found > limit else None
