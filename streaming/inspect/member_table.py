"""The table of a group's members on a terminal."""

from collections.abc import Iterator

from schemas.identity import without_host
from streaming.inspect.snapshot import InspectedGroup, InspectedMember
from streaming.snapshots import columns
from streaming.snapshots.lines import Line
from streaming.wording.numbers import age, rate, short

MOST_ROWS = 20  # unless all are asked for
COLUMNS = (
    columns.name("client id"),
    columns.number("instances"),
    columns.text("address"),
    columns.number("queues"),
    columns.number("in/s"),
    columns.number("out/s"),
    columns.number("lag"),
    columns.text("answered"),
)


def member_table(group: InspectedGroup, width: int, everything: bool) -> Iterator[Line]:
    """First those that gave no answer, then those with too much to do."""
    members = sorted(group.members or (), key=lambda one: (one.answered, not one.hot))
    shown = members if everything else members[:MOST_ROWS]
    rows = [(_cells(group, one), "" if one.answered and not one.hot else "yellow") for one in shown]
    yield from columns.table(COLUMNS, rows, width)
    if len(shown) < len(members):
        yield Line(f"... {len(members) - len(shown)} more; --verbose shows all", "dim")


def _cells(group: InspectedGroup, member: InspectedMember) -> list[str]:
    return [
        member.client_id,
        f"{member.instances}?" if member.instances > 1 else "",
        _addresses(member),
        "-" if member.queues is None else str(member.queues),
        rate(member.in_per_s),
        rate(member.out_per_s),
        short(member.lag),
        _answer(group, member),
    ]


def _addresses(member: InspectedMember) -> str:
    """Most client ids begin with their host: of such an address the port is enough."""
    return " ".join(without_host(address, member.client_id) for address in member.addresses or ("-",))


def _answer(group: InspectedGroup, member: InspectedMember) -> str:
    if not member.answered:
        return f"no: {member.why_not}"
    up = f", up {age(group.ts - member.started_ts)}" if member.started_ts else ""
    return f"yes{up}{', HOT' if member.hot else ''}"
