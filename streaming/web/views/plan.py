"""What a change would do to a group: the figures of each strategy, and a picture of the group's own one."""

from collections.abc import Sequence
from typing import NamedTuple

from schemas.identity import MessageQueue
from streaming.simulation.planning.forecast import Forecast
from streaming.wording.lists import grouped

SIZE, TOP, GAP = 16, 30, 8
MOST_CLIENTS_DRAWN, MOST_QUEUES_DRAWN = 100, 512


class PlanCell(NamedTuple):
    """``mark``: kept, moved (it had another owner), new (it had none) or gone (it belongs to another afterwards)."""

    x: int
    y: int
    mark: str
    queue: MessageQueue
    client: str


class PlanBand(NamedTuple):
    x: int
    width: int
    name: str


class PlanPicture(NamedTuple):
    """Rows are clients, columns queues. Of both only so many as can be drawn."""

    cells: tuple[PlanCell, ...]
    clients: tuple[tuple[int, str], ...]
    brokers: tuple[PlanBand, ...]
    width: int
    height: int
    left_out: int


def plan_picture(forecast: Forecast) -> PlanPicture:
    """After the change, and where queues come from."""
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


def _places(queues: Sequence[MessageQueue]) -> tuple[dict[MessageQueue, int], tuple[PlanBand, ...], int]:
    x = 0
    x_of: dict[MessageQueue, int] = {}
    bands: list[PlanBand] = []
    for (topic, broker), those in grouped(queues, lambda queue: (queue.topic, queue.broker_name)).items():
        bands.append(PlanBand(x, len(those) * SIZE, f"{topic} {broker}"))
        x_of |= {queue: x + place * SIZE for place, queue in enumerate(those)}
        x += len(those) * SIZE + GAP
    return x_of, tuple(bands), max(x, 1)
