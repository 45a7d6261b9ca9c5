"""Queues and clients before and after, side by side, for each strategy that applies."""

from pathlib import Path
from typing import Any

from schemas.identity import MessageQueue
from streaming.errors import OutputError, SourceError
from streaming.simulation.planning.forecast import Forecast
from streaming.simulation.planning.queue_moves import Owners

ENDINGS = (".png", ".svg")
COLOURS = ("#f7f9fc", "#7fb3d9", "#1f4e8c", "#e08a2e")
LABELS = ("owned", "changed hands", "new")
NAMED_AT_MOST = 30
CELLS_AT_MOST = 2_000_000  # in one field of the picture, of which there are up to twelve


def check(path: Path) -> None:
    """Check the name before the picture is computed. Raises SourceError for a bad name or a missing folder."""
    if path.suffix.lower() not in ENDINGS:
        raise SourceError(f"{path}: a picture is a .png or an .svg")
    if not path.parent.is_dir():
        raise SourceError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise SourceError(f"{path}: is a folder")


def draw(forecasts: list[Forecast], path: Path, title: str) -> None:
    """Draw PNG or SVG, by the name's ending. Raises SourceError without matplotlib, or if it cannot be written."""
    check(path)
    try:
        from matplotlib.colors import ListedColormap
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError:
        raise SourceError("a picture needs matplotlib: pip install matplotlib") from None
    shown = [one for one in forecasts if one.balance is not None]
    clients = sorted({owner for one in shown for owner in (*one.before.values(), *one.after.values())})
    queues = sorted({queue for one in shown for queue in (*one.before, *one.after)})
    if len(clients) * len(queues) > CELLS_AT_MOST:
        raise SourceError(f"{path}: {len(clients)} clients and {len(queues)} queues are too many for a picture")
    height = 0.8 + min(4.0, max(1.4, 0.22 * len(clients)))
    figure = Figure(figsize=(11, 1 + height * len(shown)), layout="constrained")
    figure.suptitle(title, fontsize=11)
    axes = figure.subplots(len(shown), 2, squeeze=False, sharex=True, sharey=True)
    for row, one in zip(axes, shown, strict=True):
        for axis, owners, when in zip(row, (one.before, one.after), ("before", "after"), strict=True):
            axis.imshow(
                _cells(queues, clients, owners, one.before), aspect="auto", vmin=0, vmax=3, cmap=ListedColormap(COLOURS)
            )
            axis.set_title(f"{one.strategy} {when}", fontsize=9)
            _name_clients(axis, clients)
            _name_brokers(axis, queues)
    marks = [Patch(color=colour, label=label) for colour, label in zip(COLOURS[1:], LABELS, strict=True)]
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8, frameon=False)
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _name_clients(axis: Any, clients: list[str]) -> None:
    if len(clients) <= NAMED_AT_MOST:
        axis.set_yticks(range(len(clients)), clients, fontsize=7)
    else:
        axis.set_ylabel(f"{len(clients)} clients, by id", fontsize=8)


def _name_brokers(axis: Any, queues: list[MessageQueue]) -> None:
    """Draw a line where another topic or broker begins, and its name in the middle."""
    places = [(queue.topic, queue.broker_name) for queue in queues]
    firsts = [n for n, place in enumerate(places) if not n or place != places[n - 1]]
    for first in firsts[1:]:
        axis.axvline(first - 0.5, color="0.6", linewidth=0.8)
    ends = [*firsts[1:], len(queues)]
    if len(firsts) <= NAMED_AT_MOST:
        middles = [(first + end - 1) / 2 for first, end in zip(firsts, ends, strict=True)]
        axis.set_xticks(middles, [f"{places[n][0]}\n{places[n][1]}" for n in firsts], fontsize=7)
        axis.tick_params(axis="x", length=0)


def _cells(queues: list[MessageQueue], clients: list[str], owners: Owners, before: Owners) -> list[list[int]]:
    """The cells: 1 if a client owns a queue, 2 if another did before, 3 if the queue is new or had no owner."""

    def cell(client: str, queue: MessageQueue) -> int:
        if owners.get(queue) != client:
            return 0
        return 3 if queue not in before else 1 if before[queue] == client else 2

    return [[cell(client, queue) for queue in queues] for client in clients]
