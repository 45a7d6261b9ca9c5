"""What each client of a group may pop before and after a change: by arithmetic, as brokers compute it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.events import ANY_QUEUE
from schemas.identity import MessageQueue
from streaming.core.allocation.popping import BY_BROKERS, allocate_pop, poppers
from streaming.errors import SourceError
from streaming.simulation.planning.change import Change, members_after
from streaming.simulation.planning.current_group import CurrentGroup
from streaming.simulation.planning.forecast import queues_after, strategy_of
from streaming.wording.lists import grouped
from streaming.wording.numbers import ranges


class Popping(NamedTuple):
    """``may_pop``: by client. ``clients``: by queue, how many clients may pop it."""

    share_queue_num: int
    may_pop: Mapping[str, Sequence[MessageQueue]]
    clients: Mapping[MessageQueue, int]

    def as_json(self) -> dict[str, Any]:
        return {
            "pop_share_queue_num": self.share_queue_num,
            "may_pop": {client_id: [[*queue] for queue in share] for client_id, share in self.may_pop.items()},
            "clients": [[*queue, count] for queue, count in sorted(self.clients.items())],
        }


def pop_plan(current: CurrentGroup, change: Change, now: int | None) -> tuple[Popping | None, Popping]:
    """What clients may pop now, if ``popShareQueueNum`` is known, and after the change.

    Raises SourceError for a group to which brokers assign nothing.
    """
    then = now if change.pop_share is None else change.pop_share
    if then is None:
        raise SourceError("which popShareQueueNum has the group? name it with --pop, or a new one with --pop-share")
    name = strategy_of(current) or "AVG"
    queues = [queue.name for queue in current.shared()]
    present = None if now is None else popping(current.client_ids, queues, name, now)
    return present, popping(
        members_after(change, current), queues_after(current, change), change.strategy or name, then
    )


def popping(client_ids: Sequence[str], queues: Iterable[MessageQueue], strategy_name: str, number: int) -> Popping:
    strategy = next((one for one in BY_BROKERS if one.name == strategy_name), None)
    if strategy is None:
        names = " and ".join(one.name for one in BY_BROKERS)
        raise SourceError(f"{strategy_name}: a broker assigns nothing to pop by it, only by {names}")
    may_pop: dict[str, list[MessageQueue]] = {client_id: [] for client_id in sorted(client_ids)}
    clients: dict[MessageQueue, int] = {}
    for of_topic in grouped(queues, lambda queue: queue.topic).values():
        allocation = allocate_pop(strategy, of_topic, client_ids, number)
        for client_id, share in zip(allocation.client_ids, allocation.shares, strict=True):
            may_pop[client_id] += share
        clients |= {queue: len(poppers(allocation, queue)) for queue in of_topic}
    return Popping(number, may_pop, clients)


def as_text(now: Popping | None, then: Popping, title: str) -> Iterator[str]:
    """Each client with what it may pop, and how many clients may pop each queue."""
    yield title
    yield ""
    width = max(map(len, {*then.may_pop, *(now.may_pop if now else ())}))
    for name, one in (("now", now), ("then", then)):
        if one is None:
            continue
        yield f"{name}, with popShareQueueNum {one.share_queue_num}:"
        for client_id, share in one.may_pop.items():
            yield f"  {client_id:<{width}}  {_shown(share)}"
        counts = Counter(one.clients.values())
        numbers = ", ".join(f"{count} by {clients}" for clients, count in sorted(counts.items()))
        yield f"  queues, by how many clients may pop each: {numbers}"
        if alone := counts[1]:
            yield f"  {alone} by one client only: if it crashes, nobody takes their messages for up to 130 s"
    yield ""
    yield "Each broker computes this from its own popShareQueueNum: set it on all brokers (mqadmin setConsumeMode)."


def _shown(share: Sequence[MessageQueue]) -> str:
    """All queues of brokers, or single ones, topic by topic."""
    topics = grouped(share, lambda queue: queue.topic)
    shown = []
    for topic, queues in topics.items():
        whole = sorted({queue.broker_name for queue in queues if queue.queue_id == ANY_QUEUE})
        single = ranges((queue.broker_name, queue.queue_id) for queue in queues if queue.queue_id != ANY_QUEUE)
        shown.append(f"{topic}: all queues of {', '.join(whole)}" if whole else f"{topic}: {single}")
    return "; ".join(shown) or "nothing"
