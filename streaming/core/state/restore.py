"""Seeds: what a new checkpoint starts with, so that open alerts and known members outlive the old one."""

import msgspec
from msgspec import Struct

from schemas.facts import AlertFact, MemberFact, QueueFact
from schemas.identity import MessageQueue
from schemas.observed import Observed
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import FINDING_CODES, OUTDATED, Alert, GroupState, Setback, new_state

SEED_TOPIC = "__seed__"


class SeedAlert(Struct, frozen=True):
    """An alert that was open, with the topic that its fact carries beside it."""

    topic: str
    alert: AlertFact


class SeedQueue(Struct, frozen=True):
    topic: str
    queue: QueueFact


class GroupSeed(Struct, frozen=True, kw_only=True):
    """The state of a group by the tables. ``now`` is the time of its newest fact, ``next_seq`` the number after it."""

    cluster: str
    group: str
    now: int
    next_seq: int
    alerts: tuple[SeedAlert, ...] = ()
    members: tuple[MemberFact, ...] = ()
    queues: tuple[SeedQueue, ...] = ()


_decode = msgspec.json.Decoder(GroupSeed).decode


def restore(value: bytes, settings: Settings) -> GroupState:
    """The state that a seed gives. Evidence is not carried over: alerts stay open until new evidence decides."""
    seed = _decode(value)
    state = new_state(seed.cluster, seed.group)
    state.now, state.next_seq, state.valid_from_ts = seed.now, seed.next_seq, seed.now
    group = Group(state, settings)
    for member in seed.members:
        _restore_member(group, member)
    for known in seed.queues:
        _restore_queue(group, known)
    for opened in seed.alerts:
        _restore_alert(group, opened)
        _restore_setbacks(group, opened)
    return state


def _restore_member(group: Group, member: MemberFact) -> None:
    client = group.state.clients[group.client(member.client_id)]
    client.since_ts = member.since_ts
    client.emitted = OUTDATED  # it is told again with the first new evidence
    for name in member.brokers:
        index = group.broker(name)
        broker = group.state.brokers[index]
        broker.answered_ts = broker.changed_ts = group.state.now
        broker.listed += member.instances
        client.entries.extend([0] * (index + 1 - len(client.entries)))
        client.entries[index] = member.instances


def _restore_queue(group: Group, known: SeedQueue) -> None:
    fact = known.queue
    queue = group.state.queues[group.queue_index(MessageQueue(known.topic, fact.broker_name, fact.queue_id))]
    queue.finding = next(code for code, kind in enumerate(FINDING_CODES) if kind.value == fact.finding)
    queue.cause = fact.cause
    queue.since_ts, queue.publish_delay_ms = fact.since_ts, max(0, group.state.now - fact.since_ts)
    queue.owners = sorted(group.client(owner) for owner in fact.owners or ())
    queue.expected = None if fact.expected is None else [group.client(owner) for owner in fact.expected]


def _restore_alert(group: Group, opened: SeedAlert) -> None:
    fact = opened.alert
    queues = [MessageQueue(opened.topic, queue.broker_name, queue.queue_id) for queue in fact.queues]
    group.state.alerts.append(
        Alert(
            opened.topic,
            fact.kind,
            # an alert that was held back or looked right must come to that phase again
            "stale" if fact.stale else fact.state,
            fact.severity,
            fact.active_ts,
            fired_ts=fact.fired_ts or 0,
            seen_ts=group.state.now,
            cause=fact.cause,
            observed=fact.observed or Observed(),
            queues=[group.queue_index(queue) for queue in queues],
            since_ts=fact.since_ts or fact.active_ts,
        )
    )


def _restore_setbacks(group: Group, opened: SeedAlert) -> None:
    """Those that the alert names: nothing else remembers how high the offsets were."""
    shown = None if opened.alert.observed is None else opened.alert.observed.offsets_back
    if shown is None:
        return
    for back in shown.queues:
        index = group.queue_index(MessageQueue(opened.topic, back.broker_name, back.queue_id))
        group.state.setbacks.append(
            Setback(
                index,
                back.from_offset,
                shown.before_ts,
                back.to_offset,
                shown.seen_ts,
                shown.seen_ts,
                is_proven=True,
                back_ts=(back.broker_name in shown.broker_names and shown.back_ts) or 0,
                owned_twice=shown.owned_twice,
                changed_ts=shown.changed_ts or 0,
            )
        )
