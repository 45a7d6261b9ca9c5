"""The tables of one group in a look: its members with their load, and its queues by topic."""

from collections.abc import Iterator, Sequence

from schemas.facts import Kind
from schemas.identity import without_host
from streaming.core.finding_kinds import RIGHT
from streaming.inspect.members import total, total_lag
from streaming.inspect.snapshot import InspectedGroup, InspectedMember, InspectedQueue
from streaming.snapshots.columns import Row
from streaming.snapshots.group_text import QueueRow, finding_style, member_table, queue_tables
from streaming.snapshots.lines import Line
from streaming.wording.lists import grouped, joined
from streaming.wording.numbers import age, rate, short


def tables_of(group: InspectedGroup, width: int, everything: bool) -> Iterator[Line]:
    """Members that gave no answer come first, then those with too much to do."""
    rest = "" if everything else "--verbose shows all"
    members = sorted(group.members or (), key=lambda one: (one.answered, not one.hot))
    if members:
        yield Line("")
        yield from member_table([_member_row(group, one) for one in members], width, rest)
    flows = {topic: message_flow(those) for topic, those in grouped(group.queues or (), lambda one: one.topic).items()}
    yield from queue_tables(_queue_rows(group.queues or ()), width, rest, flows)
    if members or group.queues:
        yield Line("")


def message_flow(queues: Sequence[InspectedQueue]) -> str:
    """``in 32.0/s, out 24.0/s, lag 64``; and of how many queues the lag is known, if not of all."""
    known = sum(queue.lag is not None for queue in queues)
    of_some = f" in {known} of {len(queues)}" if 0 < known < len(queues) else ""
    flow = _flow_cells(queues)
    return f"in {flow['in/s']}/s, out {flow['out/s']}/s, lag {flow['lag']}{of_some}"


def _flow_cells(queues: Sequence[InspectedQueue]) -> dict[str, str]:
    return {
        "in/s": rate(total(queue.in_per_s for queue in queues)),
        "out/s": rate(total(queue.out_per_s for queue in queues)),
        "lag": short(total_lag(queues)),
    }


def _member_row(group: InspectedGroup, member: InspectedMember) -> Row:
    """Most client ids begin with their host: of such an address the port is enough."""
    cells = {
        "client id": member.client_id,
        "instances": f"{member.instances}?" if member.instances > 1 else "",
        "address": " ".join(without_host(address, member.client_id) for address in member.addresses or ("-",)),
        "queues": "-" if member.queues is None else str(member.queues),
        "in/s": rate(member.in_per_s),
        "out/s": rate(member.out_per_s),
        "lag": short(member.lag),
        "answered": _answer(group, member),
    }
    return Row(cells, "" if member.answered and not member.hot else "yellow")


def _answer(group: InspectedGroup, member: InspectedMember) -> str:
    if not member.answered:
        return f"no: {member.why_not}"
    up = f", up {age(group.ts - member.started_ts)}" if member.started_ts else ""
    return f"yes{up}{', HOT' if member.hot else ''}"


def _queue_rows(queues: Sequence[InspectedQueue]) -> Iterator[QueueRow]:
    for alike in grouped(queues, _shown_of).values():
        first = alike[0]
        is_odd = not first.readable or not first.writable or first.hot
        is_odd = is_odd or first.still_s is not None or first.stands_s is not None
        style = "yellow" if is_odd and first.finding in RIGHT else finding_style(first.finding)
        yield QueueRow(
            alike, {**_flow_cells(alike), "finding": _finding(first)}, is_odd or first.finding not in RIGHT, style
        )


def _shown_of(queue: InspectedQueue) -> tuple[object, ...]:
    """What a row shows besides numbers and offsets."""
    waits = (queue.still_s is None, queue.stands_s is None, queue.lag is None)
    rights = (queue.readable, queue.writable)
    return queue.topic, queue.owners, queue.expected, queue.finding, queue.may_be, rights, queue.hot, waits


def _finding(queue: InspectedQueue) -> str:
    finding = queue.finding or ("not read" if queue.writable else "")
    if queue.may_be:
        finding = f"{queue.may_be}?"
    elif queue.still_s is not None and queue.finding == Kind.MATCH.value:
        finding = "STALLED?"
    elif queue.stands_s is not None and queue.finding == Kind.MATCH.value:
        finding = "SLOW_CONSUMER?"
    not_written = "not written" if queue.readable and not queue.writable else ""
    return joined(finding, not_written, "HOT" if queue.hot else "", by=", ")
