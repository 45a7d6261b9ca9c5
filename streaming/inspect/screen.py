"""Snapshots on standard output, redrawn in place while a terminal watches."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live

from streaming.inspect.cluster_text import lines_of
from streaming.inspect.snapshot import InspectedCluster
from streaming.snapshots.screen import as_text, json_line, plain_console, width_of


class Screen:
    """The screen. ``asked_for``: groups were named, so each of them is shown in full; ``verbose``: with every row."""

    def __init__(
        self, as_json: bool = False, asked_for: bool = False, verbose: bool = False, console: Console | None = None
    ) -> None:
        self._as_json, self._asked_for, self._verbose = as_json, asked_for, verbose
        self._console = console or plain_console()
        self._live: Live | None = None
        self._last: list[InspectedCluster] = []

    def show(self, clusters: list[InspectedCluster]) -> None:
        self._last = clusters
        if self._as_json:
            for group in (group for cluster in clusters for group in cluster.groups):
                print(json_line(group), flush=True)
        elif self._live is not None:
            self._live.update(self._page(clusters), refresh=True)
        else:
            self._console.print(self._page(clusters), soft_wrap=True)

    @contextmanager
    def redrawn(self) -> Iterator[None]:
        """Replace each snapshot on a terminal by the next, as far as it fits; the last one stays."""
        if self._as_json or not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, screen=True, auto_refresh=False, vertical_overflow="crop") as self._live:
            yield
        self._live = None
        self.show(self._last)

    def _page(self, clusters: list[InspectedCluster]) -> Group:
        width = width_of(self._console)
        return as_text(
            line for cluster in clusters for line in lines_of(cluster, width, self._asked_for, self._verbose)
        )
