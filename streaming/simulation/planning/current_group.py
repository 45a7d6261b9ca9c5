"""A group as a plan needs it: a line of ``evenkeel inspect --json``, or as it was at a time, by the job's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from schemas.facts import Kind
from schemas.identity import MessageQueue, is_retry_topic
from streaming.errors import SourceError
from streaming.explain.snapshot import ExplainedGroup


class Member(Struct, frozen=True):
    client_id: str
    strategy: str | None = None


class Queue(Struct, frozen=True):
    """A queue. ``in_per_s``: messages written to it a second; None: not known."""

    topic: str
    broker_name: str
    queue_id: Annotated[int, Meta(ge=0, lt=2**31)]
    owners: tuple[str, ...] = ()
    readable: bool = True
    in_per_s: Annotated[float, Meta(ge=0)] | None = None

    @property
    def name(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class CurrentGroup(Struct, frozen=True, kw_only=True):
    """A group as a plan needs it. Retry topics are left out: a client's share of them costs nothing."""

    cluster: str = ""
    group: str
    members: tuple[Member, ...] = ()
    queues: tuple[Queue, ...] = ()
    orderly: bool = False
    message_model: str | None = None

    @property
    def client_ids(self) -> tuple[str, ...]:
        return tuple(member.client_id for member in self.members)

    def shared(self) -> tuple[Queue, ...]:
        """The queues that are shared out."""
        return tuple(queue for queue in self.queues if queue.readable and not is_retry_topic(queue.topic))

    @property
    def knows_rates(self) -> bool:
        return any(queue.in_per_s is not None for queue in self.shared())

    def at_rate(self, rate: float) -> CurrentGroup:
        """The group with this number of messages a second in all, the same for each queue."""
        each = rate / len(self.shared())
        return replace(self, queues=tuple(replace(queue, in_per_s=each) for queue in self.shared()))

    def owners(self) -> dict[MessageQueue, str]:
        """The owner of each queue that has exactly one."""
        return {queue.name: queue.owners[0] for queue in self.shared() if len(queue.owners) == 1}


def read_current_group(text: bytes, group: str | None, where: str) -> CurrentGroup:
    """One group out of one or several lines. Raises SourceError if it is missing, or cannot be planned for."""
    try:
        found = [current_group_of(msgspec.json.decode(line)) for line in text.splitlines() if line.strip()]
    except (msgspec.DecodeError, RecursionError):
        try:
            found = [current_group_of(msgspec.json.decode(text))]
        except (msgspec.DecodeError, RecursionError) as error:
            raise SourceError(f"{where}: not what 'evenkeel inspect --json' prints: {error}") from None
    return choose_group(found, group, where)


def current_group_of(look: Any) -> CurrentGroup:
    """A group as ``inspect`` shows it. An unknown value (null) counts as not given. Raises msgspec.ValidationError."""
    return msgspec.convert(_without_nulls(look), CurrentGroup)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list | tuple) else value


def read_tables(tables: str, group: str, cluster: str | None, until: int | None) -> CurrentGroup:
    """The group until ``until`` (epoch ms). Raises SourceError if it is missing, or cannot be planned for."""
    from streaming.explain.read_facts import read_group  # which imports deltalake: half a second
    from streaming.explain.snapshot_from_facts import snapshot_of

    return choose_group([known_group(snapshot_of(read_group(tables, group, cluster, until), until))], group, tables)


def known_group(group: ExplainedGroup) -> CurrentGroup:
    """The group of a snapshot, without rates. A queue that is owned though its topic no longer has it is not shared."""
    return CurrentGroup(
        cluster=group.cluster,
        group=group.group,
        members=tuple(Member(member.client_id, member.strategy) for member in group.members),
        queues=tuple(
            Queue(one.topic, one.broker_name, one.queue_id, one.owners or (), one.finding != Kind.PHANTOM)
            for one in group.queues
        ),
        orderly=any(member.orderly for member in group.members),
        message_model=next((one.message_model for one in group.members if one.message_model is not None), None),
    )


def choose_group(found: Sequence[CurrentGroup], group: str | None, where: str) -> CurrentGroup:
    """The group of this name; without a name, the only one."""
    matching = [one for one in found if group in (None, one.group)]
    names = ", ".join(sorted(one.group for one in found)) or "none"
    if not matching:
        raise SourceError(f"{where}: no group {group or ''} with members is known there; there are: {names}")
    if len(matching) > 1:
        raise SourceError(f"{where}: holds {len(matching)} groups: name one with --group: {names}")
    (one,) = matching
    if one.message_model == "BROADCASTING":
        raise SourceError(f"{where}: {one.group} is broadcasting: every client owns every queue, whatever changes")
    if not one.members or not one.shared():
        raise SourceError(f"{where}: {one.group} has no members or no queues: there is nothing to plan with")
    return one


def rates_by_topic(queues: Sequence[Queue]) -> Mapping[str, float]:
    """The messages a second of each topic."""
    found: dict[str, float] = {}
    for queue in queues:
        found[queue.topic] = found.get(queue.topic, 0.0) + (queue.in_per_s or 0.0)
    return found
