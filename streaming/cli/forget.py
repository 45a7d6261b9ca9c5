"""Forget a consumer group that was retired: its open alerts end at once, members that no broker lists are dropped.

What is still wrong with a group that lives is found again: it needs a silence instead.
"""

import argparse
import getpass
import os
import socket
import time
from pathlib import Path

from schemas.events import Forget, encode_event
from schemas.records import Rejected, decode_record, group_key
from streaming.cli.configuration import configured
from streaming.config.sections import Config
from streaming.errors import ConfigError, PublishError
from streaming.wall_clock import now_ms

ACKNOWLEDGED_WITHIN_S = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="the consumer group, as RocketMQ calls it")
    parser.add_argument("--cluster", help="its cluster; may be left out where collector.clusters names only one")


def run(arguments: argparse.Namespace) -> int:
    """0 once it is handed over. Raises MonitorError where it is refused, or cannot be handed over."""
    config = configured(arguments, writes=())
    cluster = arguments.cluster or _only_cluster(config)
    key, value = _record(cluster, arguments.group, now_ms())
    if config.source.kind == "files":
        where = _write(Path(config.source.folder), value)
    else:
        where = _publish(config, key, value)
    print(f"{arguments.group} of {cluster} is to be forgotten: sent to {where}")
    return 0


def _only_cluster(config: Config) -> str:
    names = list(config.collector.clusters)
    if len(names) != 1:
        known = f"collector.clusters has {', '.join(sorted(names))}" if names else "collector.clusters is empty"
        raise ConfigError(f"which cluster? {known}: name it with --cluster")
    return names[0]


def _record(cluster: str, group: str, now: int) -> tuple[bytes, bytes]:
    """The key and value. Its ``source`` is unique, so it makes no gap in another producer's numbers."""
    here = socket.gethostname()
    value = encode_event(
        Forget(
            schema=1,
            cluster=cluster,
            group=group,
            ts=now,
            round=now,
            seq=now,  # in files it comes after what a collector has numbered
            source=f"forget {here} {os.getpid()} {now}"[:255],
            who=f"{_user()}@{here}"[:255],
        )
    )
    (refused,) = decode_record(None, value, len(value), None)
    if isinstance(refused, Rejected):
        raise ConfigError(f"{group!r} of {cluster!r} is no group that can be watched: {refused.detail}")
    return group_key(cluster, group).encode(), value


def _user() -> str:
    """The user's name; in a container a user may have only a number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _write(folder: Path, value: bytes) -> str:
    """Write a new file and rename it when it is complete: the job reads each file once."""
    path = folder / f"forget-{time.time_ns()}.jsonl"
    unfinished = path.with_name(f".{path.name}")
    try:
        unfinished.write_bytes(value + b"\n")
        unfinished.rename(path)
    except OSError as error:
        raise PublishError(f"{path}: cannot be written: {error.strerror or error}") from error
    return str(path)


def _publish(config: Config, key: bytes, value: bytes) -> str:
    from kafka.errors import KafkaError

    from streaming.collector.from_config import client_options
    from streaming.collector.output.kafka import make_producer

    topic, servers = config.source.topic, config.source.bootstrap_servers
    try:
        producer = make_producer(servers, client_options(config))
        try:
            producer.send(topic, key=key, value=value).get(timeout=ACKNOWLEDGED_WITHIN_S)
        finally:
            producer.close(timeout=1)
    except (KafkaError, OSError) as error:
        raise PublishError(f"topic {topic} at {servers}: not taken: {error}; try again") from error
    return f"topic {topic} at {servers}"
