"""Values of a group that ``inspect`` and ``explain`` share: plain values, and keys of the ``--json`` of both."""

from msgspec import Struct

from schemas.facts import BrokerPolls

QueueName = tuple[str, int]  # broker name, queue id


class QueueSnapshot(Struct, frozen=True, kw_only=True):
    """A queue. ``owners`` and ``expected``: None if not known; ``()``: it is proven that the queue is unowned.

    ``reason``: why it is EXCLUDED, UNKNOWN or SETTLING.
    """

    topic: str
    broker_name: str
    queue_id: int
    finding: str | None = None
    cause: str | None = None
    reason: str | None = None
    owners: tuple[str, ...] | None = None
    expected: tuple[str, ...] | None = None

    @property
    def name(self) -> QueueName:
        return self.broker_name, self.queue_id


class GroupSnapshot(Struct, frozen=True, kw_only=True):
    """A group at ``ts``. ``reason``: why only its status is known.

    ``polls``: of clients that own no queue, at each broker of each topic; empty: brokers have not said.
    ``fifo``: of a group that consumes by POP, whether what waits for it has the messages in flight, too; None: no POP.
    ``in_flight``: messages that its clients have taken and not acknowledged, read at ``in_flight_ts``; None: not known.
    """

    schema: int = 1
    cluster: str
    group: str
    ts: int
    status: str | None
    reason: str | None
    polls: tuple[BrokerPolls, ...] = ()
    fifo: bool | None = None
    in_flight: int | None = None
    in_flight_ts: int | None = None
