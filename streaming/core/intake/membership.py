"""Membership as each broker sees it: the lists of a round, and what has changed in them."""

from collections import Counter
from collections.abc import Container, Mapping
from itertools import chain

from schemas.events import BrokerAnswer, ConsumerChange, Round, UnchangedList
from schemas.facts import MembershipFact
from schemas.identity import host_of
from streaming.core.finding_kinds import HOLD_NO_MEMBERS_MS
from streaming.core.intake.consume_offsets import is_away, leave_out
from streaming.core.intake.deploy_tracking import forget_finished_deploy, note_deploy_change, note_second_instance
from streaming.core.state.group import Group
from streaming.core.state.group_state import Broker, Client, FlappingClient, GroupState, MembershipChange
from streaming.core.state.members import PAUSES_KEPT, addresses_of, digest_of, entries_at, is_listed, process_names
from streaming.core.state.routes import hosting_brokers

STABLE_CLIENT_MS = 1_800_000  # a client that did not leave for so long no longer flaps
REASONS_AT_MOST = 4096  # of joins and leaves between two markers
PROXIES_GONE_MS = 600_000  # a proxy that does not answer is asked again every 320 s at the latest
HARDLY_ANY = 0.2  # of the members that a broker listed before


def take_change(group: Group, event: ConsumerChange) -> None:
    """Keeps why a client joined or left, if a producer saw it. The next round's list says that it did."""
    if event.reason is not None and len(group.state.change_reasons) < REASONS_AT_MOST:
        group.state.change_reasons[_reason_key(event.broker_name, event.client_id, event.change)] = event.reason


def _reason_key(broker_name: str, client_id: str, change: str) -> str:
    return f"{broker_name}\n{client_id}\n{change}"


def take_lists(group: Group, event: Round) -> None:
    """Each broker's whole list of the group's clients, at the round's end."""
    state = group.state
    answers = _known_answers(group, event)
    _note_who_is_back(group, answers)
    first = {index for index in answers if not state.brokers[index].answered_ts}
    changed = [(index, answer.client_ids) for index, answer in answers.items() if _take_answer(group, index, answer)]
    changed += [(index, ()) for index in _give_up_silent_brokers(group, answers.keys())]
    if changed:
        present_before = {index for index, client in enumerate(state.clients) if is_listed(client)}
        left: set[str] = set()
        for index, client_ids in changed:
            gone = _replace_list(group, index, _entries(state.brokers[index], client_ids), first_seen=index in first)
            left |= gone if client_ids else set()  # a broker that lists nobody any more says nothing of one client
            state.brokers[index].listed = len(client_ids)
        _note_joins_and_leaves(group, present_before)
        left.update(state.clients[index].client_id for index in present_before if not is_listed(state.clients[index]))
        _note_flapping_clients(group, left)
        group.request_evaluation()
    state.change_reasons.clear()
    oldest = state.now - group.timing.storm_window_ms
    if state.membership_changes and state.membership_changes[0].ts < oldest:
        state.membership_changes = [change for change in state.membership_changes if change.ts >= oldest]
        group.request_evaluation()
    _forget_stable_clients(group)
    forget_finished_deploy(group)


def _entries(broker: Broker, client_ids: tuple[str, ...]) -> Counter[str]:
    """How often each client is listed. A proxy may list a gRPC client twice that is connected once:

    it has reconnected to another proxy, and the first one lists its old channel for up to 130 s.
    """
    return Counter(set(client_ids) if broker.is_proxy else client_ids)


def _known_answers(group: Group, event: Round) -> dict[int, BrokerAnswer]:
    """Answers by the index of their broker. A list that is confirmed and not known is no answer."""
    answers: dict[int, BrokerAnswer] = {}
    for answer in chain(event.brokers, map(_as_answer, event.unchanged_lists)):
        if answer.answered:
            index = group.broker(answer.broker_name)
            broker = group.state.brokers[index]
            if not answer.unchanged or 0 != answer.data_version == broker.list_version:
                answers[index] = answer
    return answers


def _as_answer(told: UnchangedList) -> BrokerAnswer:
    return BrokerAnswer(
        told.broker_name, answered=True, listed_since=told.listed_since, data_version=told.data_version, unchanged=True
    )


def _ids_in(group: Group, index: int, answer: BrokerAnswer) -> tuple[str, ...]:
    """The broker's list, in any order where it is confirmed only."""
    if not answer.unchanged:
        return answer.client_ids
    clients = group.state.clients
    return tuple(client.client_id for client in clients for _ in range(entries_at(client, index)))


def _note_who_is_back(group: Group, answers: Mapping[int, BrokerAnswer]) -> None:
    """Notes whether brokers that give a list again were restarted, or only could not be asked."""
    state = group.state
    if not any(broker.lost_ts for broker in state.brokers):
        return
    known = [index for index in answers if state.brokers[index].answered_ts and not state.brokers[index].lost_ts]
    steady = [Counter(_ids_in(group, index, answers[index])) for index in known]
    for index, answer in answers.items():
        broker = state.brokers[index]
        if not broker.lost_ts:
            continue
        if is_away(broker, state.now, group.timing):
            if _is_whole(group, index, _ids_in(group, index, answer), steady) and not _left_a_route(state, index):
                leave_out(group, index, state.now - broker.answered_ts - group.timing.view_max_age_ms)
            else:
                broker.returned_ts = state.now
        broker.gone_ts, broker.back_ts, broker.lost_ts = broker.lost_ts, state.now, 0
        group.request_evaluation()


def _is_whole(group: Group, index: int, client_ids: tuple[str, ...], steady: list[Counter[str]]) -> bool:
    """True if a broker that gives a list again was not restarted, or has learnt all of its members since.

    A broker keeps its members in memory only (ConsumerManager.consumerTable). After a restart it knows no member of the
    group (ConsumerManageProcessor.getConsumerListByGroup: "no consumer for this group"), and learns them one by one
    from their heartbeats, every 30 s. So a broker was not restarted if it lists almost all members that it listed
    before (one may just have left), or the same as a broker that answered all the time.
    """
    listed_before = {client.client_id for client in group.state.clients if entries_at(client, index)}
    lacks_hardly_anybody = len(listed_before.difference(client_ids)) <= len(listed_before) * HARDLY_ANY
    return (bool(listed_before) and lacks_hardly_anybody) or (bool(client_ids) and Counter(client_ids) in steady)


def _left_a_route(state: GroupState, index: int) -> bool:
    """True if name servers have dropped the broker since it last answered: they do so as soon as its process is gone.

    (RouteInfoManager.onChannelDestroy.) It may have learnt its members by the time that it is asked again.
    """
    since = state.brokers[index].answered_ts
    for topic in state.topics:
        before, now = (index in {h.broker for h in hosts} for hosts in (topic.previous_hosts, topic.hosts))
        if before != now and topic.changed_ts >= since:
            return True
    return False


def _take_answer(group: Group, index: int, answer: BrokerAnswer) -> bool:
    """Notes that the broker answered. Returns whether its list differs from the one known."""
    state = group.state
    broker = state.brokers[index]
    first = not broker.answered_ts
    heard_ts, broker.answered_ts = broker.answered_ts, state.now
    broker.list_version = answer.data_version
    is_same = answer.unchanged
    if not answer.unchanged and not first:
        digest = digest_of(answer.client_ids)
        is_same = digest == broker.list_digest or _is_same_list(group, index, answer.client_ids)
        broker.list_digest = digest
    if is_same:
        if heard_ts < answer.listed_since <= state.now:  # it was another one meanwhile, in a marker that is lost
            broker.changed_ts = answer.listed_since
            group.request_evaluation()
        return False
    if not first or answer.client_ids:
        broker.changed_ts = state.now
    return True


def _is_same_list(group: Group, index: int, client_ids: tuple[str, ...]) -> bool:
    """True if the broker's list has the same entries, in any order."""
    listed = {client.client_id: n for client in group.state.clients if (n := entries_at(client, index))}
    return listed == Counter(client_ids)


def _replace_list(group: Group, index: int, listed: Counter[str], first_seen: bool) -> set[str]:
    """The ids that are no longer in it."""
    gone: set[str] = set()
    for client_id in listed:
        group.client(client_id)
    for client in group.state.clients:
        before, entries = entries_at(client, index), listed.get(client.client_id, 0)
        if before == entries:
            continue
        client.entries.extend([0] * (index + 1 - len(client.entries)))
        client.entries[index] = entries
        client.note_change()
        _emit_change(group, index, client, before, entries, first_seen)
        if not entries:
            gone.add(client.client_id)
        elif entries > 1:
            note_second_instance(group, client.client_id)
    return gone


def _emit_change(group: Group, index: int, client: Client, before: int, entries: int, first_seen: bool) -> None:
    broker_name = group.state.brokers[index].name
    change = "appeared" if entries > before else "disappeared"
    group.emit(
        MembershipFact(
            broker_name=broker_name,
            client_id=client.client_id,
            change=change,
            entries=entries,
            reason=group.state.change_reasons.get(_reason_key(broker_name, client.client_id, change)),
            addresses=addresses_of(client, index),
            first_seen=first_seen,
        )
    )


def _give_up_silent_brokers(group: Group, answered: Container[int]) -> list[int]:
    """Indices of brokers whose lists no longer count: they do not answer, and no route names them any more.

    If no route is known, the last list of such a broker still counts. The list of a proxy counts as long as no other
    proxy answers: each lists the members of all. If brokers list members, the group may have moved to them: then it
    counts for a while only, for proxies that are gone never answer.
    """
    state = group.state
    silent = [(index, broker) for index, broker in enumerate(state.brokers) if index not in answered]
    if not silent:
        return []
    hosting = hosting_brokers(state)
    is_any_proxy_heard = any(broker.is_proxy and not broker.lost_ts for broker in state.brokers)
    is_at_brokers = any(broker.listed and not broker.is_proxy for broker in state.brokers)
    given_up = []
    for index, broker in silent:
        broker.lost_ts = broker.lost_ts or state.now
        broker.list_digest = b""
        if broker.is_proxy:
            is_gone = is_at_brokers and state.now - broker.lost_ts >= PROXIES_GONE_MS
            may_host = not (is_any_proxy_heard or is_gone)
        else:
            may_host = not hosting or index in hosting
        if may_host or state.now - broker.lost_ts <= group.timing.view_max_age_ms:
            group.request_evaluation()
        elif broker.listed:
            given_up.append(index)
            broker.list_version = 0
    return given_up


def _note_flapping_clients(group: Group, left: set[str]) -> None:
    """Notes processes that leave, be it only one broker's list, again and again, never more than half an hour apart."""
    state = group.state
    members = Counter(host_of(client.client_id) for client in state.clients if is_listed(client))
    name_of = process_names(state.membership_changes)
    known = {one.who: one for one in state.flapping_clients}
    alone = {client_id for client_id in left if members[host_of(client_id)] <= 1}
    for name in sorted({name_of.get(one, one) if one in alone else one for one in left}):
        one = known.get(name)
        if one is None:
            state.flapping_clients.append(FlappingClient(name, state.now, state.now))
        else:
            one.last_ts = state.now
            one.times += 1


def _forget_stable_clients(group: Group) -> None:
    state = group.state
    oldest = state.now - STABLE_CLIENT_MS
    calm = [one for one in state.flapping_clients if one.last_ts < oldest]
    if calm:
        state.flapping_clients = [one for one in state.flapping_clients if one.last_ts >= oldest]
    if any(one.times > group.timing.storm_changes for one in calm):
        group.request_evaluation()  # of all others nothing was said


def _note_joins_and_leaves(group: Group, present_before: set[int]) -> None:
    state = group.state
    joined, left_since = False, []
    for index, client in enumerate(state.clients):
        listed = is_listed(client)
        if listed != (index in present_before):
            state.membership_changes.append(MembershipChange(state.now, client.client_id, listed))
            joined |= listed
            left_since += [] if listed else [client.since_ts]
            client.since_ts = state.now
        if not listed:
            client.two_addresses_since_ts = client.unanswered_since_ts = 0
            client.alive = client.stopped = 0
            client.addresses = []
    is_first_round = state.now <= state.first_round_ts  # who is listed then had joined before
    if (joined or left_since) and not is_first_round:
        note_deploy_change(group, joined, left_since)
    if any(is_listed(client) for client in state.clients):
        if state.empty_since:
            _note_first_joined(group)
        state.empty_since = 0
    elif present_before:
        state.empty_since = state.now
        _note_last_left(group)


def _note_last_left(group: Group) -> None:
    """The last member has left. The pause that begins counts if the group consumed, and was there for long enough."""
    state = group.state
    since_ts = [topic.has_members_since_ts for topic in state.topics if topic.has_members_since_ts]
    has_consumed = any(topic.is_committed for topic in state.topics)
    is_long = bool(since_ts) and state.now - min(since_ts) >= HOLD_NO_MEMBERS_MS
    state.pause_counts = has_consumed and is_long


def _note_first_joined(group: Group) -> None:
    """A member has joined a group that had none, and whose last member left at ``empty_since``.

    A longer pause than ``gone_after_ms`` is not learned: such a group counts as retired.
    """
    state, timing = group.state, group.timing
    pause_ms = state.now - state.empty_since
    if state.pause_counts and HOLD_NO_MEMBERS_MS <= pause_ms <= timing.gone_after_ms:
        state.past_pauses = [*state.past_pauses, pause_ms][-PAUSES_KEPT:]
    state.pause_counts = False
