"""The next command to type. Capital words stand for what evenkeel does not know: NAMESRV, BROKER_ADDR, PID.

The options are those of mqadmin in RocketMQ 4.9.7 and 5.3.3 (org.apache.rocketmq.tools.command).
"""

import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

from schemas.facts import Cause, Kind
from streaming.notices.notice import OpenAlert
from streaming.wording.names import plain

LONGEST_NAME = 255  # RocketMQ's own limit for groups; client ids are as short in practice
_PID = re.compile(r"[^@]+@(\d+)(?:#.*)?")  # ip@pid, since 4.9 ip@pid#nanoseconds


class Command(NamedTuple):
    """``host``: where to type it, if not where mqadmin is at hand."""

    text: str
    host: str | None = None


def next_command(alert: OpenAlert) -> Command:
    """What to look at, or do, first: by the cause, or else by the kind."""
    by_kind = _OF_KIND.get(alert.fact.kind, _explain)
    return _OF_CAUSE.get(alert.fact.cause or "", by_kind)(alert)


def inspect_command() -> Command:
    """It needs neither Kafka nor the job."""
    return Command("evenkeel inspect --namesrv NAMESRV")


def _quoted(name: str | None, stand_in: str) -> str:
    """A name as the shell takes it; one that would not be typed as it is shown is left to the reader."""
    if not name or len(name) > LONGEST_NAME or plain(name) != name:
        return stand_in
    return shlex.quote(name)


def _of_group(command: str) -> Callable[[OpenAlert], Command]:
    return lambda alert: Command(f"mqadmin {command} -n NAMESRV -g {_quoted(alert.group, 'GROUP')}")


def _of_client(options: str) -> Callable[[OpenAlert], Command]:
    def command(alert: OpenAlert) -> Command:
        client = _quoted(_client_id(alert), "CLIENT_ID")
        group = _quoted(alert.group, "GROUP")
        return Command(f"mqadmin consumerStatus -n NAMESRV -g {group} -i {client}{options}")

    return command


def _of_topic(command: str) -> Callable[[OpenAlert], Command]:
    return lambda alert: Command(command.format(topic=_quoted(alert.topic, "TOPIC")))


def _jstack(alert: OpenAlert) -> Command:
    """On the client's own host: one that is stuck may not answer a broker that asks in its place."""
    client_id = _client_id(alert) or ""
    pid = _PID.fullmatch(client_id)
    addresses = [a for client in alert.fact.clients if client.client_id == client_id for a in client.addresses]
    host = addresses[0].rpartition(":")[0] if addresses else client_id.partition("@")[0]
    return Command(f"jstack {pid.group(1) if pid else 'PID'}", plain(host) or None)


def _client_id(alert: OpenAlert) -> str | None:
    """The client that the cause names, else an owner, else who should own; that first, where nobody does."""
    named = [client.client_id for client in alert.fact.clients]
    owners = [owner for queue in alert.fact.queues for owner in queue.owners]
    expected = [owner for queue in alert.fact.queues for owner in queue.expected or ()]
    if alert.fact.cause in (Cause.LOCK_STUCK, Cause.MEMBER_GONE) and expected:
        return expected[0]
    return next(iter([*named, *owners, *expected]), None)


def _explain(alert: OpenAlert) -> Command:
    group, cluster = _quoted(alert.group, "GROUP"), _quoted(alert.cluster, "CLUSTER")
    return Command(f"evenkeel explain {group} --cluster {cluster}")


_CONNECTIONS = _of_group("consumerConnection")
_STATUS = _of_group("consumerStatus")
_ROUTE = _of_topic("mqadmin topicRoute -n NAMESRV -t {topic}")


def _connections_of_each_broker(alert: OpenAlert) -> Command:
    return Command(f"{_CONNECTIONS(alert).text} -b BROKER_ADDR")


_OF_CAUSE: dict[str, Callable[[OpenAlert], Command]] = {
    Cause.SAME_CLIENT_ID: _CONNECTIONS,
    Cause.STALE_CONNECTION: _CONNECTIONS,
    Cause.SUBSCRIPTION_MISMATCH: _STATUS,
    Cause.STRATEGY_MISMATCH: _explain,
    Cause.VIEW_DIVERGENCE: _connections_of_each_broker,
    Cause.ROUTE_LAG: _ROUTE,
    Cause.CLIENT_STALLED: _jstack,
    Cause.MEMBER_GONE: _of_client(" -s"),
    Cause.LOCK_STUCK: _of_client(""),
    Cause.ROOM_WITHOUT_CONSUMER: _CONNECTIONS,
    Cause.CONFIG_MISSES_QUEUE: _explain,
    Cause.NO_READ_PERM: _of_topic("mqadmin updateTopicPerm -n NAMESRV -b BROKER_ADDR -t {topic} -p 6"),
    Cause.READ_LT_WRITE: _ROUTE,
    Cause.UNEXPLAINED: _explain,
}
_OF_KIND: dict[str, Callable[[OpenAlert], Command]] = {
    Kind.SLOW_CONSUMER: _of_client(" -s"),
    Kind.STALLED: _jstack,
    Kind.PHANTOM: _ROUTE,
    Kind.INCONSISTENT_SUBSCRIPTION: _STATUS,
    Kind.UNREADABLE_QUEUES: _ROUTE,
    Kind.NO_MEMBERS: _of_group("consumerProgress"),
    Kind.REBALANCE_STORM: _explain,
}
