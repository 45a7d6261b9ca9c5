"""What each client may pop: brokers share out the queues of remoting clients that do not do so themselves.

A client with ``clientRebalance=false`` asks some broker of the topic with QUERY_ASSIGNMENT, every 20 s. The broker
computes the answer from its own list of members and its own setting of ``popShareQueueNum``
(``QueryAssignmentProcessor.allocate4Pop``, the same from 5.0 to 5.5). gRPC clients may pop all queues always.
"""

from collections.abc import Iterable, Sequence

from schemas.events import ANY_QUEUE
from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.strategy import Queues, Share, Strategy, check
from streaming.core.allocation.together import Allocation, allocate_all, sort_client_ids, sort_queues

BY_BROKERS: tuple[Strategy, ...] = (Averagely(), AveragelyByCircle())  # to clients with others they assign nothing


def allocate_pop(
    strategy: Strategy, queues: Iterable[MessageQueue], client_ids: Iterable[str], share_queue_num: int
) -> Allocation:
    """The queues that each client may pop, by the list of one broker. An id that is listed twice counts twice.

    All clients may pop all queues if ``share_queue_num`` (N) is 0 or less, or as many as there are other clients: then
    they pop any queue of a broker at once, ANY_QUEUE. Else each pops its own share and those of the N clients after it.
    With more clients than queues each has one queue, whatever N is.
    Raises AllocationError as the broker's strategy does; then a client goes on with what it popped before.
    """
    members, in_order = sort_client_ids(client_ids), sort_queues(queues)
    if not members:
        return Allocation((), ())
    if share_queue_num <= 0 or share_queue_num >= len(members) - 1:
        return Allocation(members, (_any_of(in_order),) * len(members))
    firsts = [members.index(client_id) for client_id in members]
    if len(members) > len(in_order):
        check(members[0], in_order, members)
        return Allocation(members, tuple((in_order[first % len(in_order)],) for first in firsts))
    own = allocate_all(strategy, in_order, members).shares
    return Allocation(members, tuple(_with_those_after(own, first, share_queue_num) for first in firsts))


def poppers(allocation: Allocation, queue: MessageQueue) -> tuple[str, ...]:
    """The clients that may pop the queue, each once."""
    ways = {queue, queue._replace(queue_id=ANY_QUEUE)}
    shares = zip(allocation.client_ids, allocation.shares, strict=True)
    return tuple(dict.fromkeys(one for one, share in shares if not ways.isdisjoint(share)))


def _any_of(queues: Queues) -> Share:
    return tuple(dict.fromkeys(queue._replace(queue_id=ANY_QUEUE) for queue in queues))


def _with_those_after(own: Sequence[Share], first: int, number: int) -> Share:
    """``own``: by position in the list of members, which is a ring."""
    those = (own[(first + step) % len(own)] for step in range(number + 1))
    return tuple(dict.fromkeys(queue for share in those for queue in share))
