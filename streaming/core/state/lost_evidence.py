"""Questions about evidence that lost events, or a clock that was set back, have made doubtful."""

from streaming.core.state.group_state import GroupState, Topic


def reports_count_after(state: GroupState) -> int:
    """Reports answered up to this time do not count. A marker that tells of all changes makes none doubtful."""
    return state.valid_from_ts if state.routes_changed_ts >= 0 else max(state.valid_from_ts, doubt_ts(state))


def is_route_doubtful(state: GroupState, topic: Topic) -> bool:
    """True if a change of the topic's route may have been in a lost event."""
    if topic.confirmed_ts <= state.valid_from_ts:
        return True
    is_after_changes = 0 <= state.routes_changed_ts <= topic.confirmed_ts
    return topic.confirmed_ts <= doubt_ts(state) and not is_after_changes


def doubt_ts(state: GroupState) -> int:
    """Up to when events are missing or lost."""
    return max([state.lost_events_ts, *(gap.ts for gap in state.missing_events)])
