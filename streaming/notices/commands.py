"""The next commands to type, ready to be pasted. Words in capitals stand for what evenkeel does not know.

They are NAMESRV (of a cluster that [collector] clusters does not name), PID, and the reader's own TEXT.
The options are those of mqadmin in RocketMQ 4.9.7 and 5.3.3 (org.apache.rocketmq.tools.command).
"""

import re
import shlex
from collections.abc import Callable
from glob import escape
from typing import NamedTuple

from schemas.facts import Cause, Kind
from schemas.identity import host_of
from streaming.core.causes.table import CAUSES, NextStep
from streaming.notices.notice import OpenAlert, Site
from streaming.wording.names import plain

LONGEST_NAME = 255  # RocketMQ's own limit for groups; client ids are as short in practice
_PID = re.compile(r"[^@]+@(\d+)(?:#.*)?")  # ip@pid, since 4.9 ip@pid#nanoseconds


class Command(NamedTuple):
    """A command. ``host``: where to type it, if not on a host with mqadmin."""

    text: str
    host: str | None = None


Next = Callable[[OpenAlert, Site], Command]


def next_command(alert: OpenAlert, site: Site) -> Command:
    """The command for the first look or step: by the cause, or else by the kind."""
    if site.is_played:
        return _explain(alert, site)
    by_kind = _OF_KIND.get(alert.fact.kind, NextStep.EXPLAIN)
    return _COMMANDS[_OF_CAUSE.get(alert.fact.cause or "", by_kind)](alert, site)


def inspect_command(cluster: str, site: Site, group: str = "") -> Command:
    """The command ``inspect``. It needs neither Kafka nor the job; without a cluster it looks at all configured
    ones.
    """
    servers = "" if not cluster and site.name_servers else f" --namesrv {_name_servers(cluster, site)}"
    only = f" --group {_pattern(group, 'GROUP')}" if group else ""
    return Command(f"{site.program} inspect{servers}{only}{_config(site)}")


def silence_command(site: Site, cluster: str, group: str, kind: str = "") -> str:
    """The command for a silence; an empty ``cluster``, ``group`` or ``kind`` is any. The reader fills in the reason."""
    what = [f"--group {_pattern(group, 'GROUP')}"] if group else []
    what += [f"--cluster {_pattern(cluster, 'CLUSTER')}"] if cluster else []
    what += [f"--kind {kind}"] if kind else []
    how_long = "2h" if group else "30m"  # a silence of a whole cluster lasts no longer than a repair
    where = f"EVENKEEL__NOTIFY__STATE={shlex.quote(site.state)} " if site.state else ""
    who = '--by "$(id -un)" --why TEXT'
    return f"{where}{site.program} silence {' '.join(what)} --for {how_long} {who}{_config(site)}"


def _config(site: Site) -> str:
    return f" --config {shlex.quote(site.config)}" if site.config else ""


def _name_servers(cluster: str, site: Site) -> str:
    return _quoted(site.name_servers.get(cluster), "NAMESRV")


def _quoted(name: str | None, stand_in: str) -> str:
    """A name, quoted for the shell; ``stand_in`` if it would differ from what is shown, or be read as an option."""
    if not name or len(name) > LONGEST_NAME or plain(name) != name or name.startswith("-"):
        return stand_in
    return shlex.quote(name)


def _pattern(name: str, stand_in: str) -> str:
    """A name, quoted for an option that takes a pattern, so that it matches this name alone."""
    return _quoted(escape(name), stand_in)


def _mqadmin(command: str, alert: OpenAlert, site: Site) -> str:
    return f"mqadmin {command} -n {_name_servers(alert.cluster, site)}"


def _of_group(command: str) -> Next:
    return lambda alert, site: Command(f"{_mqadmin(command, alert, site)} -g {_quoted(alert.group, 'GROUP')}")


def _of_client(options: str) -> Next:
    def command(alert: OpenAlert, site: Site) -> Command:
        client = _quoted(_client_id(alert), "CLIENT_ID")
        group = _quoted(alert.group, "GROUP")
        return Command(f"{_mqadmin('consumerStatus', alert, site)} -g {group} -i {client}{options}")

    return command


def _jstack(alert: OpenAlert, site: Site) -> Command:
    """The command on the client's own host: a stuck client may not answer if a broker asks for its stack."""
    client_id = _client_id(alert) or ""
    pid = _PID.fullmatch(client_id)
    addresses = [a for client in alert.fact.clients if client.client_id == client_id for a in client.addresses]
    host = addresses[0].rpartition(":")[0] if addresses else host_of(client_id)
    return Command(f"jstack {pid.group(1) if pid else 'PID'}", plain(host) or None)


def _client_id(alert: OpenAlert) -> str | None:
    """The client that the cause names, else an owner, else an expected owner; this one first if there is no owner."""
    named = [client.client_id for client in alert.fact.clients]
    owners = [owner for queue in alert.fact.queues for owner in queue.owners or ()]
    expected = [owner for queue in alert.fact.queues for owner in queue.expected or ()]
    if alert.fact.cause in (Cause.LOCK_STUCK, Cause.MEMBER_GONE) and expected:
        return expected[0]
    return next(iter([*named, *owners, *expected]), None)


def _explain(alert: OpenAlert, site: Site) -> Command:
    group, cluster = _quoted(alert.group, "GROUP"), _quoted(alert.cluster, "CLUSTER")
    tables = f" --tables {shlex.quote(site.tables)}" if site.tables else ""
    return Command(f"{site.program} explain {group} --cluster {cluster}{tables}{_config(site)}")


def _message(alert: OpenAlert, site: Site) -> Command:
    """The message that blocks the queue with the most messages behind it."""
    blocked = None if alert.fact.observed is None else alert.fact.observed.head_blocked
    if blocked is None:
        return _explain(alert, site)
    queue, topic = blocked.queues[0], _quoted(alert.topic, "TOPIC")
    where = f"-b {_quoted(queue.broker_name, 'BROKER')} -i {queue.queue_id} -o {queue.offset}"
    return Command(f"{_mqadmin('queryMsgByOffset', alert, site)} -t {topic} {where}")


def _retry_topic(alert: OpenAlert, site: Site) -> Command:
    """How many messages have come back, on each broker."""
    known = None if alert.fact.observed is None else alert.fact.observed.consumed_again
    name = known.retry_topics[0] if known is not None and known.retry_topics else None
    return Command(f"{_mqadmin('topicStatus', alert, site)} -t {_quoted(name, 'RETRY_TOPIC')}")


_COMMANDS: dict[NextStep, Next] = {
    NextStep.CONNECTIONS: _of_group("consumerConnection"),
    NextStep.SETTINGS: _of_group("getConsumerConfig"),
    NextStep.STATUS: _of_group("consumerStatus"),
    NextStep.PROGRESS: _of_group("consumerProgress"),
    NextStep.CLIENT: _of_client(""),
    NextStep.CLIENT_THREADS: _of_client(" -s"),
    NextStep.THREADS: _jstack,
    NextStep.ROUTE: lambda alert, site: Command(
        f"{_mqadmin('topicRoute', alert, site)} -t {_quoted(alert.topic, 'TOPIC')}"
    ),
    NextStep.MESSAGE: _message,
    NextStep.RETRY_TOPIC: _retry_topic,
    NextStep.INSPECT: lambda alert, site: inspect_command(alert.cluster, site, alert.group),
    NextStep.EXPLAIN: _explain,
}
_OF_KIND: dict[str, NextStep] = {
    Kind.SLOW_CONSUMER: NextStep.CLIENT_THREADS,
    Kind.STALLED: NextStep.THREADS,
    Kind.PHANTOM: NextStep.ROUTE,
    Kind.INCONSISTENT_SUBSCRIPTION: NextStep.STATUS,
    Kind.SHARED_CLIENT_ID: NextStep.CONNECTIONS,
    Kind.MEMBER_LISTS_DIFFER: NextStep.INSPECT,
    Kind.MEMBERS_SPLIT: NextStep.INSPECT,
    Kind.UNPOLLED: NextStep.INSPECT,
    Kind.HEAD_BLOCKED: NextStep.MESSAGE,
    Kind.UNREADABLE_QUEUES: NextStep.ROUTE,
    Kind.OFFSETS_WENT_BACK: NextStep.PROGRESS,
    Kind.CONSUMED_AGAIN: NextStep.RETRY_TOPIC,
    Kind.REVIVE_STUCK: NextStep.EXPLAIN,
    Kind.NO_MEMBERS: NextStep.PROGRESS,
    Kind.REBALANCE_STORM: NextStep.EXPLAIN,
}
_OF_CAUSE: dict[str, NextStep] = {cause.value: row.next_step for cause, row in CAUSES.items()}
