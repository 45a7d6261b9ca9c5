"""The view of a change to a group: the groups to choose from, the group now, and a picture of it afterwards."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from schemas.identity import MessageQueue
from streaming.newest_facts import GroupName
from streaming.simulation.planning.change import room_of
from streaming.simulation.planning.current_group import CurrentGroup
from streaming.simulation.planning.forecast import Forecast, strategy_of
from streaming.web.views.known import Known
from streaming.web.views.queue_map import Band
from streaming.wording.lists import grouped

SIZE, TOP, GAP = 18, 30, 8
MOST_CLIENTS_DRAWN, MOST_QUEUES_DRAWN = 100, 512
MOST_GROUPS_LISTED = 200
MOST_OFFERED = 200


class GroupChoice(NamedTuple):
    """Groups that can be planned for, by name. ``left_out``: how many more match."""

    search: str
    groups: tuple[GroupName, ...]
    left_out: int


class GroupNow(NamedTuple):
    """The group before a change.

    ``topics``: topic and its queues on each broker, the most of any broker. ``strategy`` None: its members report none,
    or several. ``rooms``: prefixes of its brokers' names.
    """

    clients: int
    client_ids: tuple[str, ...]
    queues: int
    topics: tuple[tuple[str, int], ...]
    strategy: str | None
    rooms: tuple[str, ...]


def group_choice(known: Known, search: str) -> GroupChoice:
    """The groups that have members and whose name contains ``search``."""
    wanted = search.casefold()
    found = sorted(
        (one.group, one.cluster)
        for one in known.groups.values()
        if one.status.members and wanted in f"{one.cluster}/{one.group}".casefold()
    )
    shown = tuple((cluster, group) for group, cluster in found[:MOST_GROUPS_LISTED])
    return GroupChoice(search, shown, len(found) - len(shown))


def group_now(current: CurrentGroup) -> GroupNow:
    queues = current.shared()
    on_brokers = Counter((queue.topic, queue.broker_name) for queue in queues)
    topics: dict[str, int] = {}
    for (topic, _), number in sorted(on_brokers.items()):
        topics[topic] = max(topics.get(topic, 0), number)
    rooms = sorted({room_of(queue.broker_name) for queue in queues})
    ids = current.client_ids
    return GroupNow(
        len(ids),
        ids[:MOST_OFFERED],
        len(queues),
        tuple(topics.items()),
        strategy_of(current),
        tuple(rooms)[:MOST_OFFERED],
    )


class PlanCell(NamedTuple):
    """A cell. ``mark``: kept, moved (it had another owner), new (it had none) or gone (it has another afterwards)."""

    x: int
    y: int
    mark: str
    queue: MessageQueue
    client: str


class PlanPicture(NamedTuple):
    """The picture: rows are clients, columns are queues. Each is limited to what can be drawn."""

    cells: tuple[PlanCell, ...]
    clients: tuple[tuple[int, str], ...]
    brokers: tuple[Band, ...]
    width: int
    height: int
    left_out: int


def plan_picture(forecast: Forecast) -> PlanPicture:
    """The picture after the change, with the former owners of queues."""
    queues = sorted({*forecast.before, *forecast.after}, key=lambda queue: tuple(queue))
    clients = sorted({*forecast.before.values(), *forecast.after.values()})
    drawn, named = queues[:MOST_QUEUES_DRAWN], clients[:MOST_CLIENTS_DRAWN]
    x_of, bands, width = _places(drawn)
    y_of = {client: TOP + place * SIZE for place, client in enumerate(named)}
    cells = []
    for queue in drawn:
        before, after = forecast.before.get(queue), forecast.after.get(queue)
        if after in y_of:
            mark = "kept" if before == after else "new" if before is None else "moved"
            cells.append(PlanCell(x_of[queue], y_of[after], mark, queue, after))
        if before in y_of and before != after:
            cells.append(PlanCell(x_of[queue], y_of[before], "gone", queue, before))
    return PlanPicture(
        cells=tuple(cells),
        clients=tuple((y, client) for client, y in y_of.items()),
        brokers=bands,
        width=width,
        height=TOP + SIZE * len(named) + 4,
        left_out=len(queues) - len(drawn) + len(clients) - len(named),
    )


def _places(queues: Sequence[MessageQueue]) -> tuple[dict[MessageQueue, int], tuple[Band, ...], int]:
    x = 0
    x_of: dict[MessageQueue, int] = {}
    bands: list[Band] = []
    for (topic, broker), those in grouped(queues, lambda queue: (queue.topic, queue.broker_name)).items():
        bands.append(Band(x, len(those) * SIZE, f"{topic} {broker}"))
        x_of |= {queue: x + place * SIZE for place, queue in enumerate(those)}
        x += len(those) * SIZE + GAP
    return x_of, tuple(bands), max(x, 1)
