"""Before the first start of a job: Kafka is asked in a second. Spark, which asks it otherwise, takes 20 s to start.

A later start leaves it to Spark, which writes the answer into the facts.
"""

from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, UnknownTopicOrPartitionError

from schemas.tables import FACTS
from streaming.collector.output.kafka import check_reachable, opened
from streaming.config.sections import Config, Source
from streaming.config.values import server_list
from streaming.errors import AwayError
from streaming.tables.facts_log import FactsLog
from streaming.tables.storage import away_said

ANSWER_WITHIN_S = 5


def require_kafka(config: Config) -> None:
    """Raise AwayError if there are no facts yet, and Kafka takes no connection or does not have the topic."""
    source = config.source
    if source.kind != "kafka" or _has_facts(config.tables.path):
        return
    servers = list(server_list(source.bootstrap_servers))
    try:
        check_reachable(servers)
    except OSError as error:
        raise AwayError(f"Kafka at {source.bootstrap_servers} does not answer: {error}") from error
    if _lacks_topic(source, servers):
        raise AwayError.of_topic(source.topic, source.bootstrap_servers)


def _has_facts(tables: str) -> bool:
    with away_said(tables):
        return FactsLog(f"{tables}/{FACTS.name}").exists()


def _lacks_topic(source: Source, servers: list[str]) -> bool:
    """Whether Kafka says so. One that wants a login is asked by Spark alone: ``[source.kafka]`` is for Java."""
    if "security.protocol" in source.kafka:
        return False
    limits = {"request_timeout_ms": ANSWER_WITHIN_S * 1000, "bootstrap_timeout_ms": ANSWER_WITHIN_S * 1000}
    options: dict[str, Any] = {"bootstrap_servers": servers, "client_id": "evenkeel", **limits}
    try:
        admin = opened(KafkaAdminClient, options)
        try:
            (found,) = admin.describe_topics([source.topic])
        finally:
            admin.close()
    except (KafkaError, OSError):
        return False
    return bool(found["error_code"] == UnknownTopicOrPartitionError.errno)
