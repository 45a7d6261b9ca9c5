"""What brokers and clients answer to a collector, in the form of its events."""

from collections.abc import Iterable, Mapping

from schemas.events import OwnedQueue, OwnedQueues, QueueProgress
from streaming.collector.translation.answers import OffsetRow
from streaming.simulation.broker import Channel
from streaming.simulation.consumer import Consumer
from streaming.simulation.message_queue import Progress


def version_of(client: Consumer) -> str:
    """What a broker tells of a connection: the ordinal of ``MQVersion.Version``, as the client gave it."""
    if client.manner.sdk.language == "GO":
        return "317"  # rocketmq-client-go, internal/remote/codec.go
    return "479" if client.manner.version >= 5 else "407"  # V5_3_3, V4_9_7


def addresses_by_id(channels: dict[Channel, int]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for channel in channels:
        found.setdefault(channel.client.client_id, []).append(channel.address)
    return {client_id: tuple(sorted(addresses)) for client_id, addresses in found.items()}


def owned_queues(client: Consumer) -> tuple[OwnedQueues, ...]:
    """``mqTable``: what is dropped but still held stands in it too."""
    found: dict[tuple[str, str], list[OwnedQueue]] = {}
    now = client.fleet.now
    for held in client.rebalance.process_queues():
        queue = held.progress.log.queue
        held.progress.settle(now)
        found.setdefault((queue.topic, queue.broker_name), []).append(
            OwnedQueue(queue.queue_id, held.in_hand, held.dropped)
        )
    return tuple(
        OwnedQueues(topic, broker_name, tuple(sorted(queues, key=lambda q: q.queue_id)))
        for (topic, broker_name), queues in sorted(found.items())
    )


def offsets_of(progress: Progress, now: int, tells_pull_offsets: bool) -> QueueProgress:
    """Brokers of 4.x do not tell pull offsets."""
    newest = progress.log.max_offset(now)
    committed = max(0, progress.committed)
    pulled = max(committed, progress.pulled) if tells_pull_offsets else -1
    return QueueProgress(progress.log.queue.queue_id, newest, committed, pulled)


def table_of(topics: Mapping[str, Iterable[QueueProgress]]) -> tuple[OffsetRow, ...]:
    """``ConsumeStats``, as far as the collector's schedule looks at it."""
    return tuple(
        OffsetRow(topic, one.queue_id, broker_offset=one.broker_offset, consumer_offset=one.consumer_offset)
        for topic, rows in topics.items()
        for one in rows
    )
