"""A group as it was known at a time, from the tables that the job writes. They know no rates."""

from schemas.facts import Kind
from streaming.explain.read_facts import read_group
from streaming.explain.snapshot import ExplainedGroup
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.simulation.planning.current_group import Member, Present, Queue, chosen


def read_tables(tables: str, group: str, cluster: str | None, until: int | None) -> Present:
    """``until``: epoch milliseconds. Raises SourceError where there is no such group, or it cannot be planned for."""
    return chosen([present_of(snapshot_of(read_group(tables, group, cluster, until), until))], group, tables)


def present_of(picture: ExplainedGroup) -> Present:
    """A queue that is held though its topic does not have it is not shared out."""
    models = [member.message_model for member in picture.members if member.message_model is not None]
    return Present(
        cluster=picture.cluster,
        group=picture.group,
        members=tuple(Member(member.client_id, member.strategy) for member in picture.members),
        queues=tuple(
            Queue(one.topic, one.broker_name, one.queue_id, one.owners or (), one.finding != Kind.PHANTOM)
            for one in picture.queues
        ),
        orderly=any(member.orderly for member in picture.members),
        message_model=next(iter(models), None),
    )
