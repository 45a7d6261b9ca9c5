"""Details in the fact of an alert: its queues, its clients, the changes shortly before."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from heapq import nlargest, nsmallest

from schemas.facts import AlertChange, AlertClient, AlertQueue
from schemas.identity import is_retry_topic
from streaming.core.evidence.group_evidence import GroupEvidence, shown
from streaming.core.findings.verdict import Verdict
from streaming.core.state.group import Group
from streaming.core.state.group_state import NOTHING_LISTED, NOTHING_RUN, Alert, Client
from streaming.core.state.members import addresses_of, is_listed
from streaming.core.waiting import waiting_in

CHANGES_BEFORE_ALERT_MS = 600_000  # an alert lists the changes of this time before it
CLIENTS_AT_MOST = 20
CHANGES_AT_MOST = 10

_Change = tuple[int, str, str]


class AlertDetails:
    """Queues, clients and changes as facts of alerts say them in one round. Each is made once for all alerts."""

    def __init__(self, evidence: GroupEvidence, verdicts: Mapping[int, Verdict]) -> None:
        self._evidence = evidence
        self._group = evidence.group
        self._verdicts = verdicts
        self._queues: dict[int, AlertQueue] = {}
        self._clients: dict[int, AlertClient] = {}
        self._odd_first: dict[frozenset[int], list[int]] = {}

    def queues(self, alert: Alert) -> tuple[AlertQueue, ...]:
        return tuple([self._queues.get(index) or self._queue(index) for index in alert.queues])

    def _queue(self, index: int) -> AlertQueue:
        group, verdict = self._group, self._verdicts.get(index)
        queue = group.message_queue(index)
        owners = () if verdict is None else group.client_ids(verdict.owners)
        expected = None if verdict is None or verdict.expected is None else group.client_ids(verdict.expected)
        waiting = waiting_in(self._evidence, group.state.queues[index])
        reason = None if verdict is None or expected is not None else verdict.reason
        why = (None, None) if reason is None else (reason.kind.value, reason.details)
        held = (waiting.messages, waiting.read_ts)
        known = AlertQueue(queue.broker_name, queue.queue_id, owners, expected, *held, *why)
        self._queues[index] = known
        return known

    def clients(self, alert: Alert) -> tuple[AlertClient, ...]:
        """Clients that the cause names, the odd ones first, then owners and expected owners of the alert's queues."""
        judged = [self._verdicts[index] for index in alert.queues if index in self._verdicts]
        owners = {index for verdict in judged for index in verdict.owners}
        expected = {index for verdict in judged for index in verdict.expected or ()}
        named = self._odd_ones_first(frozenset(alert.clients))
        indices = dict.fromkeys((*named, *self._first_by_id(owners), *self._first_by_id(expected)))
        return tuple([self._client(index) for index in list(indices)[:CLIENTS_AT_MOST]])

    def _id(self, index: int) -> str:
        return self._group.state.clients[index].client_id

    def _first_by_id(self, indices: set[int]) -> list[int]:
        return nsmallest(CLIENTS_AT_MOST, indices, key=self._id)

    def _odd_ones_first(self, indices: frozenset[int]) -> list[int]:
        """Clients that differ from most others come first, because a reader looks for them."""
        if indices not in self._odd_first:
            said = {index: self._client(index).subscriptions for index in indices}
            alike = Counter(said.values())
            in_order = nsmallest(CLIENTS_AT_MOST, indices, key=lambda index: (alike[said[index]], self._id(index)))
            self._odd_first[indices] = in_order
        return self._odd_first[indices]

    def _client(self, index: int) -> AlertClient:
        if index not in self._clients:
            self._clients[index] = _client(self._group, self._group.state.clients[index])
        return self._clients[index]

    def changes(self, alert: Alert) -> tuple[AlertChange, ...]:
        """The changes from ten minutes before the alert until now, as far as they are kept."""
        group = self._group
        active_ts = min(alert.active_ts, group.state.now)  # a clock may have been set back since
        since = active_ts - CHANGES_BEFORE_ALERT_MS
        routes = {
            (topic.changed_ts, "route_changed", topic.name)
            for topic in group.state.topics
            if topic.changed_ts and alert.topic in ("", topic.name)
        }
        changes = routes.union(self._newest_of_clients, _of_brokers(group, alert))
        newest = nlargest(CHANGES_AT_MOST, (change for change in changes if change[0] >= since))
        return tuple(AlertChange(*change) for change in reversed(newest))

    @cached_property
    def _newest_of_clients(self) -> list[_Change]:
        return nlargest(CHANGES_AT_MOST, set(_of_clients(self._group)))


def _client(group: Group, client: Client) -> AlertClient:
    heartbeat = group.heartbeat_of(client) or NOTHING_LISTED
    running = group.running_of(client) or NOTHING_RUN
    subscriptions = running.subscriptions or heartbeat.subscriptions or ()
    return AlertClient(
        client_id=client.client_id,
        addresses=addresses_of(client),
        brokers=group.brokers_that_list(client),
        version=heartbeat.version,
        strategy=running.strategy,
        subscriptions=tuple(shown(pair) for pair in subscriptions if not is_retry_topic(pair[0])),
        start_ts=tuple(sorted(report.start_ts for report in client.reports if report.start_ts)),
        answered_ts=client.reports[0].answered_ts if client.reports else None,
    )


def _of_clients(group: Group) -> Iterable[_Change]:
    """Clients in the first list did not join at that time. A second instance joins under a known id."""
    state = group.state
    were_members = [client for client in state.clients if client.entries]
    happened = [(change.ts, change.joined, change.client_id) for change in state.membership_changes]
    happened += [(client.since_ts, is_listed(client), client.client_id) for client in were_members]
    happened += [
        (client.two_addresses_since_ts, True, client.client_id) for client in were_members if max(client.entries) > 1
    ]
    for ts, joined, client_id in happened:
        if ts > state.first_round_ts:
            yield ts, "joined" if joined else "left", client_id


def _of_brokers(group: Group, alert: Alert) -> Iterable[_Change]:
    state = group.state
    of_topic = [topic for topic in state.topics if alert.topic in ("", topic.name)]
    hosting = {hosted.broker for topic in of_topic for hosted in (*topic.hosts, *topic.previous_hosts)}
    for index in hosting:
        broker = state.brokers[index]
        if broker.lost_ts and 0 < broker.answered_ts < state.now - group.timing.view_max_age_ms:
            yield broker.lost_ts, "broker_lost", broker.name
        if broker.returned_ts:
            yield broker.returned_ts, "broker_returned", broker.name
