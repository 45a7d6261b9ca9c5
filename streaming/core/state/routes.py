"""Questions about routes: what clients may read by one, which brokers it names, and whether it is known.

Lost events, or a clock that was set back, make routes and reports doubtful.
"""

from collections.abc import Iterable, Sequence

from streaming.core.settings import Timing
from streaming.core.state.group_state import GroupState, HostedQueues, RouteCopies, RouteCopy, Topic

ROUTE_MAX_AGE_MS = 200_000  # the collector sends a copy every 60 s
ALTERNATES_AFTER = 2  # how often copies must come back: once may be a change that was undone


def is_known(state: GroupState, topic: Topic, timing: Timing) -> bool:
    """True if a copy of the route is recent enough, and no newer one can have been lost."""
    return not is_route_doubtful(state, topic) and state.now - topic.confirmed_ts <= timing.route_max_age_ms


def readable(hosts: Iterable[HostedQueues]) -> list[tuple[int, int]]:
    """(index of the broker, number of readable queues), brokers without read permission left out."""
    return [(hosted.broker, hosted.read) for hosted in hosts if hosted.is_readable]


def hosting_brokers(state: GroupState) -> set[int]:
    """Indices of the brokers that host some topic of the group."""
    return {hosted.broker for topic in state.topics for hosted in topic.hosts}


def standing(copies: RouteCopies) -> Sequence[RouteCopy]:
    """The copies that some client may use now: those given last, and all of them once they alternate."""
    if sum(copy.returns for copy in copies.given) >= ALTERNATES_AFTER:
        return copies.given
    return [copy for copy in copies.given if copy.is_given]


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
