"""Reports: what each instance of a client says it owns."""

from collections.abc import Iterable
from functools import lru_cache

from schemas import events
from schemas.identity import without_host
from streaming.core.intake.client_versions import named
from streaming.core.intake.deploy_tracking import note_quick_restart
from streaming.core.intake.topic_routes import note_owned
from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, HeartbeatProfile, Report, RunningProfile

INSTANCES_KEPT = 2
ALL_TAGS = "*"  # SubscriptionData.SUB_ALL


def take_report(group: Group, event: events.AssignmentReport) -> None:
    """Takes a client's answer, or that it did not answer. A report older than the known one is ignored."""
    client = group.state.clients[group.client(event.client_id)]
    if not event.answered:
        _take_unanswered(group, client, event)
        return
    start_ts = event.start_ts or 0
    known = next((report for report in client.reports if report.start_ts == start_ts), None)
    if known is not None and known.answered_ts >= event.answered_ts:
        return
    if known is None and _was_restarted(client, start_ts):
        note_quick_restart(group, client)
        _note_change_of_lists(group, client)
    owned, busy = _queue_indices(group, event.owned, event.answered_ts)
    how = (event.strategy, event.orderly, event.message_model, event.client_rebalance, bool(event.pop))
    running = group.running(_interned_running(*how, event.subscriptions, event.consume_type))
    popped = _popped(group, event) if event.pop else None
    first_ts = event.answered_ts if known is None else known.first_answered_ts or known.answered_ts
    report = Report(start_ts, event.answered_ts, running, owned, busy, event.data_version, popped, first_ts)
    if known is None or known.running != report.running:
        client.note_change()
        group.request_evaluation()
    elif known.owned != owned or known.popped != popped:
        group.request_evaluation()
    _keep(client, report, known)
    _note_answer(group, client, report)


def confirm_reports(group: Group, reports: Iterable[events.ConfirmedReport], latest_ts: int) -> None:
    """Clients said again what they had said. What they said after ``latest_ts`` is not believed.

    It counts only if that report is known; else the client was silent.
    """
    has_all_routes = all(topic.confirmed_ts for topic in group.state.topics)
    for confirmed in reports:
        client = group.known_client(confirmed.client_id)
        report = None if client is None else _report_with(client, confirmed.data_version)
        if client is not None and report is not None and report.answered_ts < confirmed.answered_ts <= latest_ts:
            if not has_all_routes:
                _note_owned_topics(group, report, confirmed.answered_ts)
            _confirm(group, client, report, confirmed)


def _confirm(group: Group, client: Client, report: Report, confirmed: events.ConfirmedReport) -> None:
    report.answered_ts = confirmed.answered_ts
    report.busy = _busy(group, report, confirmed.busy) if confirmed.busy else []
    if len(client.reports) > 1:
        client.reports.sort(key=lambda one: -one.answered_ts)
    if client.unanswered_since_ts:
        _note_answer(group, client, report)


def _report_with(client: Client, data_version: int) -> Report | None:
    for report in client.reports:
        if report.data_version == data_version != 0:
            return report
    return None


def _note_owned_topics(group: Group, report: Report, ts: int) -> None:
    """Notes, as ``_queue_indices`` does, that a topic without a route is used: a report is a sign of that."""
    state = group.state
    for topic, broker in {(state.queues[index].topic, state.queues[index].broker) for index in report.owned}:
        note_owned(group, state.topics[topic], state.brokers[broker].name, ts)


def _busy(group: Group, report: Report, places: tuple[int, ...]) -> list[int]:
    """Indices of the queues at these places (``ConfirmedReport.busy``)."""
    in_order = events.in_order_of_places(report.owned, group.message_queue)
    return [in_order[place] for place in places if place < len(in_order)]


def _note_answer(group: Group, client: Client, report: Report) -> None:
    if client.unanswered_since_ts and client.unanswered_since_ts <= report.answered_ts:
        client.unanswered_since_ts = 0
        group.request_evaluation()


def _was_restarted(client: Client, start_ts: int) -> bool:
    """True if another process answers under a known id, restarted so quickly that no list was without the id."""
    is_single = max(client.entries, default=0) == 1
    is_new = bool(client.reports) and start_ts > max(report.start_ts for report in client.reports)
    return is_single and is_new and client.reports[0].answered_ts > client.since_ts


def _note_change_of_lists(group: Group, client: Client) -> None:
    """Notes a leave and a join that no list has shown: queues may change hands as after any other."""
    for broker, entries in zip(group.state.brokers, client.entries, strict=False):
        if entries:
            broker.changed_ts = max(broker.changed_ts, group.state.now)


def _keep(client: Client, report: Report, known: Report | None) -> None:
    """One answer for each instance, the newest first."""
    if known is not None and len(client.reports) == 1:
        client.reports[0] = report
        return
    others = [other for other in client.reports if other is not known]
    client.reports = sorted([report, *others], key=lambda r: -r.answered_ts)[:INSTANCES_KEPT]


def _take_unanswered(group: Group, client: Client, event: events.AssignmentReport) -> None:
    newest = client.reports[0].answered_ts if client.reports else 0
    if event.answered_ts > newest and not client.unanswered_since_ts:
        client.unanswered_since_ts = event.answered_ts
        group.request_evaluation()


def _popped(group: Group, event: events.AssignmentReport) -> list[int] | None:
    """Indices of the queues that it pops, if it pops single ones only."""
    if any(queue.queue_id < 0 for queues in event.pop for queue in queues.queues):
        return None
    return _queue_indices(group, event.pop, event.answered_ts)[0]


def _queue_indices(group: Group, owned: tuple[events.OwnedQueues, ...], ts: int) -> tuple[list[int], list[int]]:
    """Indices of the queues it owns, and of those of them with messages in hand. A dropped queue is not owned."""
    indices, busy = [], []
    for queues in owned:
        topic, broker = group.topic(queues.topic), group.broker(queues.broker_name)
        note_owned(group, group.state.topics[topic], queues.broker_name, ts)
        for queue in queues.queues:
            if queue.dropped:
                continue
            index = group.queue(topic, broker, queue.queue_id)
            indices.append(index)
            if queue.cached_msg_count:
                busy.append(index)
    indices.sort()
    return indices, busy


@lru_cache(maxsize=16_384)
def _interned_running(
    strategy: str | None,
    orderly: bool | None,
    message_model: str | None,
    client_rebalance: bool | None,
    pops: bool,
    subscriptions: tuple[events.Subscription, ...],
    consume_type: str | None,
) -> RunningProfile:
    """One shared object for clients that run alike, so that their subscriptions are sorted once."""
    pairs = _pairs(subscriptions)
    return RunningProfile(strategy, orderly, message_model, client_rebalance, pops, pairs, consume_type)


def _pairs(subscriptions: tuple[events.Subscription, ...]) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(((s.topic, _filter(s)) for s in subscriptions), key=lambda pair: (pair[0], pair[1] or "")))


def _filter(subscription: events.Subscription) -> str | None:
    """The filter in a form that is the same for all that mean the same; None where it is not known.

    A filter of tags is a set of tags (FilterAPI.buildSubscriptionData), and none is all. Java's own sets have another
    order in each JVM. Of SQL only the text is known.
    """
    expression = subscription.expression
    if expression is None or subscription.expression_type == events.SQL92:
        return expression
    tags = sorted({tag.strip() for tag in expression.split("||")} - {""})
    return " || ".join(tags) or ALL_TAGS


def take_heartbeat(group: Group, event: events.Heartbeat) -> None:
    """Takes what a broker knows of a client. Only the round's lists say that it is a member.

    A heartbeat of a round that is over is ignored: the next heartbeat repeats what still holds.
    """
    if event.round < group.state.round:
        return
    client = _take_known(group, event, event.subscriptions, event.ts)
    if event.alive is not None and event.alive != client.alive - client.stopped:
        client.alive = max(client.alive, event.alive)
        client.stopped = client.alive - event.alive
        group.request_evaluation()


def take_listed(group: Group, heartbeats: Iterable[events.ListedClient], ts: int) -> None:
    """Heartbeats that a marker tells at ``ts``."""
    for one in heartbeats:
        _take_known(group, one, None, ts)


def _take_known(
    group: Group,
    seen: events.Heartbeat | events.ListedClient,
    subscriptions: tuple[events.Subscription, ...] | None,
    ts: int,
) -> Client:
    index = group.broker(seen.broker_name)
    client = group.state.clients[group.client(seen.client_id)]
    heartbeat = group.heartbeat(
        _interned_heartbeat(seen.language, seen.version, seen.message_model, seen.consume_type, subscriptions)
    )
    if client.heartbeat != heartbeat:
        client.heartbeat = heartbeat
        client.note_change()
        group.request_evaluation()
    _take_addresses(group, client, index, seen.addresses, ts)
    return client


@lru_cache(maxsize=4096)
def _interned_heartbeat(
    language: str | None,
    version: str | None,
    message_model: str | None,
    consume_type: str | None,
    subscriptions: tuple[events.Subscription, ...] | None,
) -> HeartbeatProfile:
    pairs = None if subscriptions is None else _pairs(subscriptions)
    return HeartbeatProfile(language, named(version), message_model, consume_type, pairs)


def _take_addresses(group: Group, client: Client, index: int, given: Iterable[str], ts: int) -> None:
    client.addresses.extend([""] * (index + 1 - len(client.addresses)))
    addresses = " ".join(sorted(without_host(address, client.client_id) for address in given))
    if client.addresses[index] != addresses:
        client.addresses[index] = addresses
        client.note_change()
        client.two_addresses_since_ts = ts if any(" " in known for known in client.addresses) else 0
        client.alive = client.stopped = 0
        group.request_evaluation()
