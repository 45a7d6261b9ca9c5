"""The tables of one group in an explanation: its members, whom the brokers list, and its queues by topic."""

from collections.abc import Iterator, Sequence

from schemas.facts import MemberFact
from streaming.core.allocation import strategy_of_class
from streaming.core.finding_kinds import RIGHT
from streaming.explain.reasons import reason_of
from streaming.explain.snapshot import BrokerList, ExplainedGroup, ExplainedQueue
from streaming.explain.times import Moment
from streaming.snapshots.columns import Row
from streaming.snapshots.group_text import QueueRow, finding_style, member_table, queue_tables
from streaming.snapshots.lines import INDENT, Line, paragraph
from streaming.wording.lists import grouped, joined
from streaming.wording.names import named

REST = "--json has all"


def tables_of(group: ExplainedGroup, when: Moment, width: int) -> Iterator[Line]:
    yield Line("")
    if group.members:
        owned = group.owned
        rows = [_member_row(member, owned[member.client_id], when) for member in group.members]
        yield from member_table(rows, width, REST)
    else:
        yield Line("No members.", "yellow")
    yield from _broker_lists(group.views, width)
    yield from queue_tables(_queue_rows(group.queues, when), width, REST)


def _member_row(member: MemberFact, owned: int, when: Moment) -> Row:
    strategy = member.strategy or ""
    return Row({
        "client id": member.client_id,
        "instances": str(member.instances) if member.instances > 1 else "",
        "address": " ".join(member.addresses),
        "queues": str(owned),
        "version": member.version or "",
        "strategy": strategy_of_class(strategy) or strategy,
        "subscribes to": ", ".join(member.subscriptions),
        "member since": when.clock(member.since_ts),
    })  # fmt: skip


def _broker_lists(lists: Sequence[BrokerList], width: int) -> Iterator[Line]:
    """Brokers with equal lists in one line; where lists differ, one line each."""
    equal = grouped(lists, lambda one: one.clients)
    for clients, those in equal.items():
        verb = "lists" if len(those) == 1 else "list"
        text = f"{', '.join(one.broker_name for one in those)} {verb} {named(clients)}"
        yield from paragraph(text, width, INDENT, "dim" if len(equal) == 1 else "yellow", 3)


def _queue_rows(queues: Sequence[ExplainedQueue], when: Moment) -> Iterator[QueueRow]:
    for alike in grouped(queues, lambda q: (q.topic, q.finding, q.cause, q.reason, q.owners, q.expected)).values():
        first = alike[0]
        cells = {
            "finding": first.finding,
            "since": when.clock(min(queue.since_ts for queue in alike)),
            "why": joined(first.cause, reason_of(first, when.clock)),
        }
        yield QueueRow(alike, cells, first.finding not in RIGHT, finding_style(first.finding))
