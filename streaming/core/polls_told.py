"""What facts say of the polls of a group whose clients own no queue, and whether a new fact must say so.

Several of these clients may take messages from a queue. So the polls at a broker say how many clients are free to take
some there.
"""

from collections.abc import Iterator, Sequence

from schemas.events import ANY_QUEUE
from schemas.facts import BrokerPolls
from schemas.observed import counted
from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, Polls, Topic
from streaming.core.state.members import is_listed

MOST_PLACES = 200  # topics on brokers that a fact names: those where a client was seen longest ago
MOST_POPPERS = 20  # clients that a fact names for each of these places

Place = tuple[int, int]  # indices of a topic and a broker


def polls_of_group(group: Group) -> tuple[BrokerPolls, ...]:
    """What is known of each broker of each topic that has said lately how many polls wait. Of single queues each is
    asked in its turn.
    """
    places: dict[Place, list[Polls]] = {}
    oldest = group.state.now - group.timing.progress_max_gap_ms
    for index, topic in enumerate(group.state.topics):
        for polls in topic.polls:
            if polls.read_ts >= oldest:
                places.setdefault((index, polls.broker), []).append(polls)
    longest_ago = sorted(places.items(), key=lambda place: _seen_ts(place[1]))[:MOST_PLACES]
    queues: dict[Place, list[int]] = {}
    for index, queue in enumerate(group.state.queues if places else ()):
        queues.setdefault((queue.topic, queue.broker), []).append(index)
    told = [_told(group, place, polls, queues.get(place, [])) for place, polls in longest_ago]
    return tuple(sorted(told, key=lambda one: (one.topic, one.broker_name)))


def _told(group: Group, place: Place, polls: Sequence[Polls], queues: Sequence[int]) -> BrokerPolls:
    topic, broker = group.state.topics[place[0]], place[1]
    read = [queue for queue in group.queues_at(queues) if queue.progress_ts]
    return BrokerPolls(
        topic=topic.name,
        broker_name=group.state.brokers[broker].name,
        queues=_readable(topic, broker),
        waiting=sum(one.waiting for one in polls),
        read_ts=min(one.read_ts for one in polls),
        polled_ts=max(one.polled_ts for one in polls) or None,
        taken_ts=max(one.moved_ts for one in polls) or None,
        ready=counted(sum(max(0, one.pull_lag) for one in read)) if read else None,
        ready_ts=min((one.progress_ts for one in read), default=None),
        poppers=_poppers(group, polls, frozenset(queues)),
        closed=all(one.is_closed for one in polls) or None,
    )


def _poppers(group: Group, polls: Sequence[Polls], queues: frozenset[int]) -> tuple[str, ...] | None:
    """Those that report to pop there, be it at any queue or at single ones. gRPC clients report nothing."""
    is_at_any = any(one.queue_id == ANY_QUEUE for one in polls)
    found = {
        client.client_id
        for client, popped in _reports_of_pops(group)
        if (is_at_any if popped is None else not queues.isdisjoint(popped))
    }
    return tuple(sorted(found)[:MOST_POPPERS]) or None


def _reports_of_pops(group: Group) -> Iterator[tuple[Client, list[int] | None]]:
    """Members that report to pop, and the queues that each pops one by one; None: it does not say any, or all."""
    popping = {index for index, profile in enumerate(group.state.running_profiles) if profile.pops}
    for client in group.state.clients if popping else ():
        if is_listed(client):
            yield from ((client, report.popped) for report in client.reports if report.running in popping)


def number_popped(group: Group) -> int:
    """A number that changes with what members report to pop; 0: none pops by remoting."""
    return sum(1 + len(popped or ()) for _, popped in _reports_of_pops(group))


def _seen_ts(polls: Sequence[Polls]) -> int:
    return max(max(one.polled_ts, one.moved_ts) for one in polls)


def _readable(topic: Topic, broker: int) -> int:
    return sum(hosted.read for hosted in topic.hosts if hosted.broker == broker and hosted.is_readable)


def note_polls_told(group: Group) -> None:
    """A fact of the group says now how many polls wait."""
    for topic in group.state.topics:
        for polls in topic.polls:
            polls.told_waiting = polls.waiting


def have_polls_changed(group: Group) -> bool:
    """True if other numbers of polls wait than the newest fact says, or messages were taken since."""
    told_ts = group.state.status_ts
    return any(
        polls.waiting != polls.told_waiting or polls.moved_ts > told_ts
        for topic in group.state.topics
        for polls in topic.polls
    )
