"""The job's step without Spark: one process, one loop, the groups in a dict, as a user could write it."""

import gc
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from bench.child import Child
from schemas.events import AnyEvent
from schemas.records import Rejected, decode_record, group_key
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.simulation.load.generated_group import Record
from streaming.wall_clock import now_ms


class PlainLoop(Child):
    """A loop in a separate process, with state and facts. Reading the file is not timed, decoding its bytes is."""

    def __init__(self) -> None:
        super().__init__(_serve)
        self._asked = 0

    def begin(self, path: Path) -> None:
        """Start to fold a file; ``finish`` returns the time."""
        self._ours.send(path)
        self._asked += 1

    def finish(self) -> list[float]:
        """The seconds for each file that was begun since the last call."""
        try:
            taken = [self._ours.recv() for _ in range(self._asked)]
        except EOFError:
            raise RuntimeError("the plain loop died; its last words are on stderr") from None
        self._asked = 0
        return taken


def _serve(pipe: Connection) -> None:
    loop = _Loop()
    while True:
        try:
            path = pipe.recv()
        except EOFError:
            return
        records = list(read_lines(path))
        gc.freeze()  # existing objects need not be searched for garbage repeatedly
        began = time.perf_counter()
        loop.fold(records)
        pipe.send(time.perf_counter() - began)


def read_lines(path: Path) -> Iterator[Record]:
    """The records of a file of lines of key, tab and value: JSON has neither raw tabs nor raw line ends."""
    with path.open("rb") as lines:
        for line in lines:
            key, _, value = line.partition(b"\t")
            yield key, value[:-1]


class _Loop:
    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._settings = DEFAULT_SETTINGS
        self._arrival_ts = now_ms()
        self.facts = 0

    def fold(self, records: list[tuple[bytes, bytes]]) -> None:
        for key, value in records:
            for event in decode_record(key, value, len(value), self._arrival_ts):
                if isinstance(event, Rejected):
                    raise ValueError(f"the fleet made an event that cannot be used: {event}")
                self._take(event)

    def _take(self, event: AnyEvent) -> None:
        name = group_key(event.cluster, event.group)
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(new_state(event.cluster, event.group), self._settings)
        take(group, event)
        if group.facts:
            self.facts += len(group.facts)
            group.facts = []
