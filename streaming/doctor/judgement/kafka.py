"""Kafka's topic of events: its partitions, replicas, settings and rights, and the job's place in it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schemas.records import MAX_RECORD_BYTES
from streaming.doctor.checks import Check, fine, unknown, wrong
from streaming.wording.times import age

AREA = "kafka"
# A job that ends in the evening is started again the next morning, and finds everything that it has not read.
LEAST_RETENTION_MS = 24 * 3_600_000
NO_SETTINGS = "Kafka shows no settings of the topic; this user has no DescribeConfigs on it"
NO_OPERATIONS = "Kafka does not say what this user may do there"
APPEND_TIME = "LogAppendTime"


class Topic(NamedTuple):
    """The topic by Kafka's metadata. ``operations``: those that this user may do; None: Kafka does not say.

    ``settings`` empty: they may not be read. ``in_sync``: the fewest replicas in sync of a partition.
    """

    name: str
    partitions: int
    replicas: int
    in_sync: int
    leaderless: tuple[int, ...]
    settings: Mapping[str, str]
    operations: frozenset[str] | None


def broker(address: str, failure: str | None, is_named: bool) -> Check:
    """``is_named``: by source.bootstrap_servers; else Kafka itself names it, to all clients."""
    if failure is None:
        return fine(AREA, "broker", "takes a connection", address)
    if is_named:
        mend = "start Kafka, open the way to it, or mend source.bootstrap_servers"
        return wrong(AREA, "broker", f"no connection: {failure}", mend, address)
    mend = "mend advertised.listeners of this broker, or open the way to it"
    return wrong(AREA, "broker", f"no connection to an address that Kafka gives to clients: {failure}", mend, address)


def topic_is_missing(name: str, servers: str) -> Check:
    create = f"kafka-topics.sh --bootstrap-server {servers} --create --topic {name} --partitions 8"
    return wrong(AREA, "topic", "there is no such topic, or this user may not describe it", create, name)


def topic(one: Topic, servers: str) -> Iterator[Check]:
    yield _partitions(one, servers)
    if not one.settings:
        yield unknown(AREA, "settings", NO_SETTINGS, where=one.name)
    else:
        yield _in_sync(one, servers)
        yield _retention(one, servers)
        yield _compaction(one, servers)
        yield _record_size(one, servers)
        yield fine(AREA, "compression", one.settings.get("compression.type", "producer"), one.name)


def rights(one: Topic, wanted: Mapping[str, str]) -> Iterator[Check]:
    """``wanted``: operation -> for what it is needed."""
    if one.operations is None:
        yield unknown(AREA, "rights", NO_OPERATIONS, where=one.name)
        return
    missing = [f"{name} ({why})" for name, why in wanted.items() if name not in one.operations]
    if missing:
        found = f"the user of [collector.kafka] may not {', '.join(missing)}"
        yield wrong(AREA, "rights", found, "docs/collector.md#who-may-write-to-the-topic has the commands", one.name)
    else:
        yield fine(AREA, "rights", f"{', '.join(wanted)} permitted", one.name)


def rights_of_run_are_not_told(one: Topic, servers: str) -> Check:
    found = "[source.kafka] has a login of its own, which only Java uses: whether 'run' may read is not known"
    mend = f"kafka-acls.sh --bootstrap-server {servers} --list --topic {one.name}"
    return unknown(AREA, "rights", found, mend, one.name)


def clock_is_not_told(one: Topic, servers: str) -> Check | None:
    """None: records have the broker's time."""
    kind = one.settings.get("message.timestamp.type")
    if kind == APPEND_TIME:
        return None
    why = f"records have the time of their producers ({kind}), and no request returns Kafka's" if kind else NO_SETTINGS
    return unknown(AREA, "clock", why, _alter(one, servers, f"message.timestamp.type={APPEND_TIME}"), one.name)


def lag(area: str, checkpoint: str, unread: int, gone: int, batch: int) -> Check:
    """The job's place in the topic. ``gone``: records that Kafka dropped before they were read; ``batch``: what one
    batch reads at most (``source.max_offsets_per_trigger``).
    """
    if gone:
        found = f"{gone:,} records that it has not read are gone from Kafka"
        return wrong(area, "lag of the job", found, "start 'evenkeel run', and lengthen retention.ms", checkpoint)
    if unread > batch:
        found = f"{unread:,} records are not read yet, more than one batch reads ({batch:,})"
        return wrong(
            area, "lag of the job", found, "start 'evenkeel run'; if it runs, see docs/capacity.md", checkpoint
        )
    return fine(area, "lag of the job", f"{unread:,} records not read yet", checkpoint)


def partitions_read(area: str, checkpoint: str, known: frozenset[int], there: int) -> Check:
    """``known``: the partitions that the checkpoint has offsets of."""
    if known <= frozenset(range(there)) and len(known) == there:
        return fine(area, "partitions read", f"all {there}", checkpoint)
    found = f"the checkpoint has offsets of {len(known)} partitions, and the topic has {there}"
    mend = "keep the number of partitions: events of a group keep their order only within one (evenkeel reseed)"
    return wrong(area, "partitions read", found, mend, checkpoint)


def _partitions(one: Topic, servers: str) -> Check:
    if one.leaderless:
        found = f"no leader for {len(one.leaderless)} of {one.partitions} partitions"
        mend = f"kafka-topics.sh --bootstrap-server {servers} --describe --topic {one.name}"
        return wrong(AREA, "topic", found, mend, one.name)
    copies = "1 copy of each" if one.replicas == 1 else f"{one.replicas} copies of each"
    return fine(AREA, "topic", f"{one.partitions} partitions, {copies}", one.name)


def _in_sync(one: Topic, servers: str) -> Check:
    least = int(one.settings.get("min.insync.replicas", "1"))
    found = f"{one.in_sync} of {one.replicas} replicas in sync, {least} needed"
    if one.in_sync >= least:
        return fine(AREA, "replicas", found, one.name)
    mend = f"kafka-topics.sh --bootstrap-server {servers} --describe --topic {one.name} --under-min-isr-partitions"
    return wrong(AREA, "replicas", f"{found}: Kafka takes no events", mend, one.name)


def _retention(one: Topic, servers: str) -> Check:
    kept = int(one.settings.get("retention.ms", "-1"))
    if kept < 0:
        return fine(AREA, "retention", "without end", one.name)
    limited = one.settings.get("retention.bytes", "-1")
    also = "" if limited == "-1" else f", and at most {int(limited) // 1_000_000:,} MB a partition"
    if kept >= LEAST_RETENTION_MS:
        return fine(AREA, "retention", f"{age(kept)}{also}", one.name)
    found = f"{age(kept)}: a job that is away for longer loses events"
    return wrong(AREA, "retention", found, _alter(one, servers, f"retention.ms={7 * LEAST_RETENTION_MS}"), one.name)


def _compaction(one: Topic, servers: str) -> Check:
    policy = one.settings.get("cleanup.policy", "delete")
    if "compact" not in policy:
        return fine(AREA, "cleanup.policy", policy, one.name)
    found = f"{policy}: Kafka keeps only the newest record of each group"
    return wrong(AREA, "cleanup.policy", found, _alter(one, servers, "cleanup.policy=delete"), one.name)


def _record_size(one: Topic, servers: str) -> Check:
    most = int(one.settings.get("max.message.bytes", str(MAX_RECORD_BYTES)))
    if most >= MAX_RECORD_BYTES:
        return fine(AREA, "record size", f"up to {most:,} bytes", one.name)
    found = f"up to {most:,} bytes, and records of the collector have up to {MAX_RECORD_BYTES:,}"
    return wrong(AREA, "record size", found, _alter(one, servers, f"max.message.bytes={1 << 20}"), one.name)


def _alter(one: Topic, servers: str, setting: str) -> str:
    return (
        f"kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name {one.name} "
        f"--add-config {setting}"
    )
