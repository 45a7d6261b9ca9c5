"""Queues and clients before and after, side by side, for each strategy that applies."""

from pathlib import Path

from schemas.identity import MessageQueue
from streaming.errors import SourceError
from streaming.simulation.whatif.forecast import Forecast
from streaming.simulation.whatif.shares import Owners

ENDINGS = (".png", ".svg")


def draw(forecasts: list[Forecast], path: Path) -> None:
    """PNG or SVG, by the name's end. Raises SourceError without matplotlib, or for another ending."""
    if path.suffix.lower() not in ENDINGS:
        raise SourceError(f"{path}: a picture is a .png or an .svg")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SourceError("a picture needs matplotlib: pip install 'evenkeel[plot]'") from None
    shown = [one for one in forecasts if one.balance is not None]
    clients = sorted({owner for one in shown for owner in (*one.before.values(), *one.after.values())})
    queues = sorted({queue for one in shown for queue in (*one.before, *one.after)})
    figure = Figure(figsize=(8, 1 + 2.2 * len(shown)), layout="constrained")
    axes = figure.subplots(len(shown), 2, squeeze=False, sharex=True, sharey=True)
    for row, one in zip(axes, shown, strict=True):
        for axis, owners, title in zip(row, (one.before, one.after), ("before", "after"), strict=True):
            axis.imshow(_cells(queues, clients, owners, one.before), aspect="auto", vmin=0, vmax=2, cmap="Blues")
            axis.set_title(f"{one.strategy} {title}", fontsize=9)
            axis.set_ylabel("client", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("queue; dark: it has changed hands", fontsize=8)
    figure.savefig(path)


def _cells(queues: list[MessageQueue], clients: list[str], owners: Owners, before: Owners) -> list[list[int]]:
    """1 where a client owns a queue, 2 where it did not before."""
    return [
        [0 if owners.get(queue) != client else 1 if before.get(queue) == client else 2 for queue in queues]
        for client in clients
    ]
