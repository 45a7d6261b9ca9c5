"""What facts say of the polls of a group whose clients own no queue, and whether a fact must say so anew.

Any of these clients may take messages from a queue. So the polls at a broker say how many clients are free to take some
there.
"""

from collections.abc import Sequence

from schemas.facts import BrokerPolls
from schemas.observed import counted
from streaming.core.state.group import Group
from streaming.core.state.group_state import Polls, Topic

MOST_PLACES = 200  # topics on brokers that a fact names: those where a client was seen longest ago


def polls_of_group(group: Group) -> tuple[BrokerPolls, ...]:
    """What is known of each broker of each topic that has said how many polls wait."""
    places: dict[tuple[int, int], list[Polls]] = {}
    for index, topic in enumerate(group.state.topics):
        for polls in topic.polls:
            places.setdefault((index, polls.broker), []).append(polls)
    longest_ago = sorted(places.items(), key=lambda place: _seen_ts(place[1]))[:MOST_PLACES]
    told = [_told(group, index, broker, polls) for (index, broker), polls in longest_ago]
    return tuple(sorted(told, key=lambda one: (one.topic, one.broker_name)))


def _told(group: Group, index: int, broker: int, polls: Sequence[Polls]) -> BrokerPolls:
    state, topic = group.state, group.state.topics[index]
    there = [one for one in state.queues if one.topic == index and one.broker == broker and one.progress_ts]
    return BrokerPolls(
        topic=topic.name,
        broker_name=state.brokers[broker].name,
        queues=_readable(topic, broker),
        waiting=sum(one.waiting for one in polls),
        read_ts=min(one.read_ts for one in polls),
        polled_ts=max(one.polled_ts for one in polls) or None,
        taken_ts=max(one.moved_ts for one in polls) or None,
        ready=counted(sum(max(0, one.pull_lag) for one in there)) if there else None,
        ready_ts=min((one.progress_ts for one in there), default=None),
    )


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
