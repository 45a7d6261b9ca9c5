"""Questions about routes: whether a topic's route is known, what clients may read by it, and which brokers it names."""

from collections.abc import Iterable, Sequence

from streaming.core.settings import Timing
from streaming.core.state.group_state import GroupState, HostedQueues, RouteCopies, RouteCopy, Topic
from streaming.core.state.lost_evidence import is_route_doubtful

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
