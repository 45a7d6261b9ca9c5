"""The topic by which collectors agree: its partitions, and how to read and write it."""

import zlib
from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError, TopicAlreadyExistsError

from streaming.collector.output.kafka import check_reachable, opened
from streaming.config.values import server_list

PARTITIONS = 48  # has many divisors, so that two, three, four, six and eight collectors get equally many
SESSION_MS = 9_000  # Kafka gives the clusters of a silent collector away after this; its brokers allow 6 s and more
HEARTBEAT_MS = 1_000
WRITE_WITHIN_S = 3
SEGMENT_MS = 3_600_000  # Kafka compacts closed segments only
CONNECT_WITHIN_S = 5


def connect(bootstrap_servers: str, options: Mapping[str, Any], topic: str, assignor: Any) -> tuple[Any, Any]:
    """A consumer of the group and a producer; the topic is created if it is missing. Raises KafkaError, OSError."""
    servers = list(server_list(bootstrap_servers))
    check_reachable(servers)
    common = {"bootstrap_servers": servers, "bootstrap_timeout_ms": CONNECT_WITHIN_S * 1000, **options}
    without_compression = _without_compression(common)
    _create(topic, without_compression)
    consumer = opened(
        KafkaConsumer,
        {
            "group_id": topic,
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "max_poll_interval_ms": 2 * SESSION_MS,
            "partition_assignment_strategy": [assignor],
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            **without_compression,
        },
    )
    try:
        let_evictions_be_noticed(consumer._coordinator)
        _check_partitions(consumer, topic)
        return consumer, opened(
            KafkaProducer,
            {
                "acks": "all",
                "max_block_ms": WRITE_WITHIN_S * 1000,
                "request_timeout_ms": WRITE_WITHIN_S * 1000,
                "delivery_timeout_ms": (WRITE_WITHIN_S + 1) * 1000,  # an older memory must not come after a successor's
                **common,
            },
        )
    except BaseException:
        consumer.close(autocommit=False, timeout_ms=WRITE_WITHIN_S * 1000)
        raise


def let_evictions_be_noticed(coordinator: Any) -> None:
    """A member that Kafka evicts while it joins again has lost its partitions, too. kafka-python notices that only
    before it begins to join, and else claims what others own by now. So let it begin again.
    """
    reset = coordinator.reset_generation

    def reset_generation(*args: Any, **named: Any) -> None:
        reset(*args, **named)
        coordinator.rejoining = False

    coordinator.reset_generation = reset_generation


def _without_compression(options: Mapping[str, Any]) -> dict[str, Any]:
    """A producer's alone."""
    return {name: value for name, value in options.items() if name != "compression_type"}


def _check_partitions(consumer: Any, topic: str) -> None:
    found = len(consumer.partitions_for_topic(topic) or ())
    if found != PARTITIONS:
        raise KafkaError(f"the topic {topic} has {found} partitions and must have {PARTITIONS}: make it again")


def _create(topic: str, options: Mapping[str, Any]) -> None:
    """It gets Kafka's default number of replicas. A topic that exists is left as it is."""
    admin = opened(KafkaAdminClient, options)
    try:
        if topic not in admin.list_topics():
            configs = {"cleanup.policy": "compact", "segment.ms": str(SEGMENT_MS)}
            admin.create_topics({topic: {"num_partitions": PARTITIONS, "replication_factor": -1, "configs": configs}})
    except TopicAlreadyExistsError:
        pass
    finally:
        admin.close()


def partition_of(cluster: str) -> int:
    return zlib.crc32(cluster.encode()) % PARTITIONS
