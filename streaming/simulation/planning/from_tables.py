"""A group at a time, from the tables that the job writes. They have no rates."""

from schemas.facts import Kind
from streaming.explain.read_facts import read_group
from streaming.explain.snapshot import ExplainedGroup
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.simulation.planning.current_group import CurrentGroup, Member, Queue, choose_group


def read_tables(tables: str, group: str, cluster: str | None, until: int | None) -> CurrentGroup:
    """The group until ``until`` (epoch ms). Raises SourceError if it is missing, or cannot be planned for."""
    snapshot = snapshot_of(read_group(tables, group, cluster, until), until)
    return choose_group([current_group_of(snapshot)], group, tables)


def current_group_of(group: ExplainedGroup) -> CurrentGroup:
    """The group of a snapshot. A queue that is owned though its topic no longer has it is not shared out."""
    models = [member.message_model for member in group.members if member.message_model is not None]
    return CurrentGroup(
        cluster=group.cluster,
        group=group.group,
        members=tuple(Member(member.client_id, member.strategy) for member in group.members),
        queues=tuple(
            Queue(one.topic, one.broker_name, one.queue_id, one.owners or (), one.finding != Kind.PHANTOM)
            for one in group.queues
        ),
        orderly=any(member.orderly for member in group.members),
        message_model=next(iter(models), None),
    )
