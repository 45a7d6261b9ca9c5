"""Events that get lost on the way: which numbers of a producer are missing, and which evidence that makes doubtful.

A missing number may still come: events that arrive in another order are no loss. Most evidence stays valid when an
event is lost. A report stays true of its time. Two equal offsets prove that nothing moved between them. The lists of
members come whole with the next marker, which says since when each list is as it is. A lost copy of a route may have
been a change, but the marker says when a route last changed. So older reports and routes become doubtful only if the
producer's markers do not say this.
"""

from schemas.events import AnyEvent, Round
from schemas.facts import EventsLostFact
from streaming.core.intake import clock
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, MissingEvents
from streaming.core.state.routes import doubt_ts

SOURCES_KEPT = 8
GAPS_KEPT = 16
LOST_AFTER_MARKERS = 2


def is_first_time(state: GroupState, event: AnyEvent) -> bool:
    """True if the event did not come before: its number is larger than the last one, or was missing."""
    return event.seq > state.sources.get(event.source, -1) or _gap_of(state, event) is not None


def note_number(group: Group, event: AnyEvent, ts: int) -> None:
    """Notes the event's number, and the numbers between it and the last one as missing.

    ``ts`` is the event's time. Missing events may be as young as this one. A wrong clock must not make later events
    doubtful.
    """
    state = group.state
    last = state.sources.pop(event.source, None)
    state.sources[event.source] = event.seq if last is None else max(last, event.seq)  # the latest heard stand last
    if last is None:
        _forget_a_source(group)
    elif event.seq <= last:
        _fill(group, event)
    elif event.seq > last + 1:
        youngest = max(state.now, min(ts - 1, clock.horizon(state, group.timing)))
        state.missing_events.append(MissingEvents(event.source, last + 1, event.seq - 1, youngest))
        group.request_evaluation()
        if len(state.missing_events) > GAPS_KEPT:
            _give_up(group, state.missing_events.pop(0))


def give_up_old_gaps(group: Group) -> None:
    """At each marker: numbers that are still missing at the second one are lost."""
    state = group.state
    if not state.missing_events:
        return
    for gap in state.missing_events:
        gap.markers += 1
    lost = [gap for gap in state.missing_events if gap.markers >= LOST_AFTER_MARKERS]
    state.missing_events = [gap for gap in state.missing_events if gap.markers < LOST_AFTER_MARKERS]
    for gap in lost:
        _give_up(group, gap)


def take_changes(group: Group, routes_changed_ts: int | None) -> None:
    """Takes what the marker says of changes. A time that is later than the marker is not believed."""
    state = group.state
    told = -1 if routes_changed_ts is None else min(routes_changed_ts, state.now)
    if told != state.routes_changed_ts:
        state.routes_changed_ts = told
        if doubt_ts(state):
            group.request_evaluation()


def _forget_a_source(group: Group) -> None:
    state = group.state
    if len(state.sources) <= SOURCES_KEPT:
        return
    oldest = next(iter(state.sources))
    del state.sources[oldest]
    for gap in [gap for gap in state.missing_events if gap.source == oldest]:
        state.missing_events.remove(gap)
        _give_up(group, gap)


def _gap_of(state: GroupState, event: AnyEvent) -> int | None:
    """The index of the gap that the event's number is in; None: the number is not missing."""
    for index, gap in enumerate(state.missing_events):
        if gap.source == event.source and gap.first <= event.seq <= gap.last:
            return index
    return None


def _fill(group: Group, event: AnyEvent) -> None:
    """Closes the gap that the number is in, or splits it in two. A marker that comes too late is as good as lost."""
    state, index = group.state, _gap_of(group.state, event)
    if index is None:
        return
    gap = state.missing_events[index]
    parts = [(gap.first, event.seq - 1), (event.seq + 1, gap.last)]
    state.missing_events[index : index + 1] = [
        MissingEvents(gap.source, first, last, gap.ts, gap.markers) for first, last in parts if first <= last
    ]
    if isinstance(event, Round) and event.ts <= state.now:
        state.lost_events_ts = max(state.lost_events_ts, gap.ts)
    group.request_evaluation()


def _give_up(group: Group, gap: MissingEvents) -> None:
    state = group.state
    state.lost_events_ts = max(state.lost_events_ts, gap.ts)
    group.request_evaluation()
    group.emit(
        EventsLostFact(source=gap.source, expected_seq=gap.first, received_seq=gap.last + 1), ts=state.now or gap.ts
    )
