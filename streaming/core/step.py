"""The step: one event after the other, in the order of arrival, folded into the group's state.

Three laws hold. However a group's events are cut into batches, the facts are the same, because each event is taken
alone and nothing is sorted. Evaluation happens at round markers only. The clock is the group's own.
"""

from collections.abc import Callable, Container
from typing import Any

from msgspec import Struct

from schemas import events
from schemas.facts import Contradiction
from schemas.identity import is_retry_topic
from schemas.records import DETAIL_AT_MOST, Rejected
from streaming.core.evaluation import evaluate
from streaming.core.intake import clock
from streaming.core.intake.client_reports import confirm_reports, take_heartbeat, take_listed, take_report
from streaming.core.intake.clock import ClockVerdict
from streaming.core.intake.consume_offsets import take_progress
from streaming.core.intake.lost_events import give_up_old_gaps, is_first_time, note_number, take_changes
from streaming.core.intake.marker_sources import follow, not_trusted, take_source
from streaming.core.intake.membership import take_change, take_lists
from streaming.core.intake.polls import take_in_flight, take_polls
from streaming.core.intake.refused_events import note_round
from streaming.core.intake.round_parts import whole_rounds
from streaming.core.intake.size_limits import too_much
from streaming.core.intake.topic_routes import take_route
from streaming.core.retention import start_afresh_after_silence, take_forget
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, HeldEvent

HELD_AT_MOST = 4096
HELD_BYTES_AT_MOST = 16 * 1024 * 1024  # of the events that wait, markers of 64 parts included
MARKERS_HELD_BESIDES = 16


class Origin(Struct, frozen=True):
    """Where an event came from, in case it must be quarantined."""

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


class Refused(Struct, frozen=True):
    """An event that the group refuses, with its bytes and where it came from.

    ``contradiction``: of a marker that contradicts those of the producer that the group follows.
    """

    event: bytes
    origin: Origin
    why: Rejected
    contradiction: Contradiction | None = None


NOWHERE = Origin()


def take(group: Group, event: events.AnyEvent, origin: Origin = NOWHERE) -> list[Refused]:
    """Take one event. Returns what is refused: this event, or earlier ones that waited for the clock."""
    if (why := not_trusted(event, group.settings.trusted_sources)) is not None:
        return [Refused(events.encode_event(event), origin, why)]
    if isinstance(event, events.Round) and event.look and _says_nothing(group, event):
        return []
    is_new = is_first_time(group.state, event)
    note_number(group, event, _time_of(event))
    if isinstance(event, events.Round):
        whole = whole_rounds(group, event, is_new)
        return [refused for one in whole for refused in _take_round(group, one, origin, is_new)]
    if (why := too_much(group, event)) is not None:
        return [Refused(events.encode_event(event), origin, why)]
    if isinstance(event, events.Forget):  # it does not wait for the clock: a retired group may have no rounds any more
        if is_new:
            take_forget(group, event)
        return []
    state = group.state
    if state.now and _time_of(event) > clock.horizon(state, group.timing):
        return _hold(group, event, origin)
    _TAKERS[type(event)](group, event)
    return []


def _says_nothing(group: Group, event: events.Round) -> bool:
    """True if a group without members is seen for the first time: brokers know every group that ever existed."""
    is_empty = not any(answer.client_ids for answer in event.brokers)
    return is_empty and not group.state.now and not group.rule.always_on


def _time_of(event: events.AnyEvent) -> int:
    return max(event.ts, event.answered_ts) if isinstance(event, events.AssignmentReport) else event.ts


_TAKERS: dict[type, Callable[[Group, Any], None]] = {
    events.Heartbeat: take_heartbeat,
    events.ConsumerChange: take_change,
    events.TopicRoute: take_route,
    events.AssignmentReport: take_report,
    events.ConsumeProgress: take_progress,
}


def _take_round(group: Group, event: events.Round, origin: Origin, is_new: bool) -> list[Refused]:
    if (why := too_much(group, event)) is not None:
        return [Refused(events.encode_event(event), origin, why)]
    state, timing = group.state, group.timing
    believed = bool(state.held_events) and clock.is_borne_out(_waiting_markers(state), event.ts, timing)
    if not is_new and event.ts <= state.now:
        return []  # it came before, so it says nothing about the clock
    found = take_source(group, event)
    if found is not None:
        return [_refuse_contradicting(event, origin, found)]
    verdict = clock.judge_marker(state, event.ts, timing, believed)
    if verdict is ClockVerdict.HOLD:
        return _hold(group, event, origin)
    if verdict is ClockVerdict.FAR_BEHIND:
        state.markers_behind.append(event.ts)
    if verdict in (ClockVerdict.LATE, ClockVerdict.FAR_BEHIND):
        return []
    if verdict is ClockVerdict.SET_BACK or (state.now and event.ts > clock.horizon(state, timing)):
        follow(group, event)
    if verdict is ClockVerdict.SET_BACK:
        clock.set_back(state, event.ts - 1, timing)
    else:
        start_afresh_after_silence(group, event.ts)
    refused = _release(group, event.ts)
    _take_what_it_tells(group, event)
    _accept(group, event)
    return refused


def _take_what_it_tells(group: Group, event: events.Round) -> None:
    """The heartbeats and offsets in the marker and the reports that it confirms, as if they were events before it."""
    latest_ts = event.ts + group.timing.ahead_of_clock_ms
    take_listed(group, event.heartbeats, event.ts)
    confirm_reports(group, event.reports, latest_ts)
    for offsets in event.offsets:
        if offsets.ts <= latest_ts:
            take_progress(group, offsets)
    for polls in event.polls:
        if polls.ts <= latest_ts:
            take_polls(group, polls)
    for in_flight in event.in_flight:
        if in_flight.ts <= latest_ts:
            take_in_flight(group, in_flight)


def _accept(group: Group, event: events.Round) -> None:
    state = group.state
    before = state.now
    if not before:
        clock.start(state, event.ts, group.timing)
    clock.advance(state, event.ts, group.timing)
    state.round = event.round
    take_changes(group, event.routes_changed_ts)
    give_up_old_gaps(group)
    note_round(group)
    _take_group_settings(group, event)
    take_lists(group, event)
    evaluate(group, before)


def _waiting_markers(state: GroupState) -> list[int]:
    waiting = map(events.decode_event, (held.event for held in state.held_events))
    return [event.ts for event in waiting if isinstance(event, events.Round)]


def _take_group_settings(group: Group, event: events.Round) -> None:
    state = group.state
    known = (
        state.consume_enable, state.orderly, state.lite,
        state.rival_subscriptions, state.pop_topics, state.popped_in_part,
    )  # fmt: skip
    seen = (
        state.consume_enable if event.consume_enable is None else event.consume_enable,
        state.orderly if event.orderly is None else event.orderly,
        event.lite, [*event.rival_subscriptions], [*event.pop_topics], [*event.popped_in_part],
    )  # fmt: skip
    if event.subscribed is not None:
        _take_subscriptions(group, event.subscribed)
    if seen != known:
        state.consume_enable, state.orderly, state.lite = seen[:3]
        state.rival_subscriptions, state.pop_topics, state.popped_in_part = seen[3:]
        group.request_evaluation()


def _take_subscriptions(group: Group, subscribed: Container[str]) -> None:
    for topic in group.state.topics:
        if topic.name in subscribed or is_retry_topic(topic.name):
            topic.unsubscribed_ts = 0
        elif not topic.unsubscribed_ts:
            topic.unsubscribed_ts = group.state.now
            group.request_evaluation()


def _hold(group: Group, event: events.AnyEvent, origin: Origin) -> list[Refused]:
    """Holds an event that is ahead of the clock until the next marker. A marker is always held: the others need it."""
    held = HeldEvent(events.encode_event(event), origin.topic, origin.partition, origin.offset)
    waiting = group.state.held_events
    if len(waiting) >= HELD_AT_MOST + (MARKERS_HELD_BESIDES if isinstance(event, events.Round) else 0):
        return [_refuse(held, f"and {HELD_AT_MOST} events already wait for the clock")]
    if sum([len(one.event) for one in waiting]) + len(held.event) > HELD_BYTES_AT_MOST:
        return [_refuse(held, f"and events of {HELD_BYTES_AT_MOST // 2**20} MB already wait for the clock")]
    waiting.append(held)
    return []


def _refuse(held: HeldEvent, detail: str) -> Refused:
    why = Rejected("ahead_of_clock", f"its time is ahead of the cluster's clock, {detail}")
    return Refused(held.event, Origin(held.topic, held.partition, held.offset), why)


def _refuse_contradicting(event: events.Round, origin: Origin, found: Contradiction) -> Refused:
    what = f"its time is {found.ahead_ms} ms from the group's clock"
    if found.broker_name:
        what = f"it lists other clients of broker {found.broker_name}, both for {found.both_ms} ms"
    detail = f"{what}: it contradicts {found.followed!r}, which the group follows"[:DETAIL_AT_MOST]
    return Refused(events.encode_event(event), origin, Rejected("contradicts", detail), found)


def _release(group: Group, now: int) -> list[Refused]:
    """Before the clock moves to ``now``: takes the held events up to then, and refuses those that are still ahead."""
    waiting, group.state.held_events = group.state.held_events, []
    refused = []
    for held in waiting:
        event = events.decode_event(held.event)
        ahead_ms = _time_of(event) - now
        if ahead_ms > group.timing.ahead_of_clock_ms:
            refused.append(_refuse(held, f"by {ahead_ms} ms at the round that followed"))
        elif not isinstance(event, events.Round):
            _TAKERS[type(event)](group, event)
        elif event.ts > now:
            group.state.held_events.append(held)
        elif group.state.now < event.ts < now:
            _take_what_it_tells(group, event)
            _accept(group, event)
    return refused
