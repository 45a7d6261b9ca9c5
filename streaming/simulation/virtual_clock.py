"""The virtual clock: what is to be done when, in milliseconds."""

import heapq
from collections.abc import Callable
from typing import Any


class VirtualClock:
    """Actions in the order of their times; those of one instant in the order in which they were noted."""

    __slots__ = ("_heap", "_noted", "now")

    def __init__(self, now: int) -> None:
        self.now = now
        self._heap: list[tuple[int, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._noted = 0

    def at(self, ts: int, action: Callable[..., Any], *arguments: Any) -> None:
        """Do it at ``ts``; what lies in the past is done at once, after what is noted for now."""
        self._noted += 1
        heapq.heappush(self._heap, (max(ts, self.now), self._noted, action, arguments))

    def after(self, delay_ms: int, action: Callable[..., Any], *arguments: Any) -> None:
        self.at(self.now + delay_ms, action, *arguments)

    def run_until(self, ts: int) -> None:
        """Do all that is due up to ``ts``, which is then now."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= ts:
            self.now, _, action, arguments = pop(heap)
            action(*arguments)
        self.now = ts
