"""Kafka, asked with the collector's client and options. Nothing is written, and no consumer group is joined."""

import time
from collections.abc import Iterator
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from streaming.collector.from_config import client_options
from streaming.collector.output.kafka import check_reachable, opened
from streaming.config.sections import Config
from streaming.config.values import server_list
from streaming.doctor.checks import Check, Processes, unknown, wrong
from streaming.doctor.hosts import Host, ask_all, hosts_of_kafka
from streaming.doctor.judgement import kafka as judge
from streaming.doctor.judgement.clocks import clock
from streaming.errors import CollectorError
from streaming.wall_clock import now_ms

ANSWER_WITHIN_S = 5
ALL_CONNECT_WITHIN_S = 4.0
RECORD_WITHIN_S = 7.0  # a collector sends the events of a round every 5 s
SECURE = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
LOGIN = ("sasl.", "ssl.keystore.")  # Java's options that say as which user
COLLECTS = {"Write": "to send events"}
NOTICES = {"Read": "to notice other collectors"}
RUNS = {"Read": "to read events"}


def checks(config: Config, processes: Processes) -> Iterator[Check]:
    if config.source.kind != "kafka":
        yield unknown(judge.AREA, "broker", "source.kind is not kafka: it is not asked")
        return
    reached = False
    for host, failure in ask_all(hosts_of_kafka(config), ALL_CONNECT_WITHIN_S):
        reached = reached or failure is None
        yield judge.broker(host.address, failure, is_named=True)
    if not reached:
        return
    if why := _cannot_log_in(config):
        yield unknown(judge.AREA, "topic", why, "write the options of kafka-python into [collector.kafka]")
        return
    try:
        yield from _asked(config, processes)
    except CollectorError as error:
        yield wrong(judge.AREA, "login", str(error), "mend [collector.kafka]")
    except (KafkaError, OSError) as error:
        mend = "compare [collector.kafka] with the listener of this port: its protocol and its mechanism"
        yield wrong(judge.AREA, "login", f"Kafka does not answer: {_said(error)}", mend)


def options_of(config: Config) -> dict[str, Any]:
    """The options of a client that only asks. Raises CollectorError."""
    servers = list(server_list(config.source.bootstrap_servers))
    check_reachable(servers)
    limits = {"request_timeout_ms": ANSWER_WITHIN_S * 1000, "bootstrap_timeout_ms": ANSWER_WITHIN_S * 1000}
    given = {name: value for name, value in client_options(config).items() if name != "compression_type"}
    return {"bootstrap_servers": servers, "client_id": "evenkeel-doctor", **limits, **given}


def _cannot_log_in(config: Config) -> str:
    """Why it is not asked: only Java has the options of the job."""
    protocol = config.source.kafka.get("security.protocol")
    if config.collector.kafka or protocol is None or protocol.get_secret_value() not in SECURE:
        return ""
    return "only the collector's options are tried, and [collector.kafka] is empty; [source.kafka] is for Java"


def _asked(config: Config, processes: Processes) -> Iterator[Check]:
    admin = opened(KafkaAdminClient, options_of(config))
    try:
        named = {host.address for host in hosts_of_kafka(config)}
        brokers = [Host("", one["host"], one["port"]) for one in admin.describe_cluster()["brokers"]]
        for host, failure in ask_all([one for one in brokers if one.address not in named], ALL_CONNECT_WITHIN_S):
            yield judge.broker(host.address, failure, is_named=False)
        servers, name = config.source.bootstrap_servers, config.source.topic
        topic = _topic(admin, name)
    finally:
        admin.close()
    if topic is None:
        yield judge.topic_is_missing(name, servers)
        return
    yield from judge.topic(topic, servers)
    yield from _rights(config, processes, topic)
    not_told = judge.clock_is_not_told(topic, servers)
    yield not_told if not_told is not None else _clock(config, topic)


def _rights(config: Config, processes: Processes, topic: judge.Topic) -> Iterator[Check]:
    """The rights of the collector's user, which is also that of the job unless the job has a login of its own."""
    is_told = not any(name.startswith(LOGIN) for name in config.source.kafka)
    collects, runs = "collect" in processes, "run" in processes
    wanted = (COLLECTS | NOTICES if collects else {}) | (RUNS if runs and is_told else {})
    if wanted:
        yield from judge.rights(topic, wanted)
    if runs and not is_told:
        yield judge.rights_of_run_are_not_told(topic, config.source.bootstrap_servers)


def _topic(admin: KafkaAdminClient, name: str) -> judge.Topic | None:
    """The topic; None if there is none, as far as this user may know."""
    (found,) = admin.describe_topics([name])
    if found["error_code"] or not found["partitions"]:
        return None
    configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)], config_filter="all")
    settings = {key: str(one["value"]) for key, one in configs.get("topic", {}).get(name, {}).items()}
    partitions = found["partitions"]
    operations = found.get("authorized_operations")
    return judge.Topic(
        name=name,
        partitions=len(partitions),
        replicas=min(len(one["replica_nodes"]) for one in partitions),
        in_sync=min(len(one["isr_nodes"]) for one in partitions),
        leaderless=tuple(one["partition_index"] for one in partitions if one["error_code"] or one["leader_id"] < 0),
        settings=settings,
        operations=frozenset(one.title() for one in operations) if operations else None,
    )


def _clock(config: Config, topic: judge.Topic) -> Check:
    """Kafka's clock by the time that it gives to a record that arrives now. No request returns a broker's time."""
    options = options_of(config) | {"enable_auto_commit": False, "allow_auto_create_topics": False}
    consumer = opened(KafkaConsumer, options)
    try:
        parts = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
        consumer.assign(parts)
        for part, end in consumer.end_offsets(parts).items():
            consumer.seek(part, end)
        began, until = now_ms(), time.monotonic() + RECORD_WITHIN_S
        while time.monotonic() < until:
            for records in consumer.poll(timeout_ms=500).values():
                appended = records[0].timestamp
                limit_ms = config.settings().timing.ahead_of_clock_ms
                return clock(judge.AREA, topic.name, appended - now_ms(), appended - began, limit_ms)
    finally:
        consumer.close()
    why = f"no record came within {RECORD_WITHIN_S:g} s, and only a new record shows Kafka's time"
    return unknown(judge.AREA, "clock", why, "look again while 'evenkeel collect' runs", topic.name)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
