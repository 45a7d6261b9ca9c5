"""The virtual clock: actions by time in milliseconds, and coroutines that wait for these times."""

import heapq
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Resume = Callable[[], None]


class VirtualClock:
    """A virtual clock. Actions run in the order of their times; those of one time as they were added."""

    __slots__ = ("_heap", "_noted", "now")

    def __init__(self, now: int) -> None:
        self.now = now
        self._heap: list[tuple[int, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._noted = 0

    def at(self, ts: int, action: Callable[..., Any], *arguments: Any) -> None:
        """Run the action at ``ts``. A time in the past means now, after the other actions of now."""
        self._noted += 1
        heapq.heappush(self._heap, (max(ts, self.now), self._noted, action, arguments))

    def after(self, delay_ms: int, action: Callable[..., Any], *arguments: Any) -> None:
        self.at(self.now + delay_ms, action, *arguments)

    def run_until(self, ts: int) -> None:
        """Run all actions that are due up to ``ts``; then ``ts`` is now."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= ts:
            self.now, _, action, arguments = pop(heap)
            action(*arguments)
        self.now = ts

    # --- coroutines

    def sleep(self, ms: int) -> "_Until":
        return _Until(partial(self.after, ms))

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> "Work[T]":
        """Start a coroutine now, and run it until it waits for something."""
        work = Work(coroutine)
        work.run()
        return work

    async def wait(self, works: Collection[Awaitable[None]], at_most_ms: int | None = None) -> None:
        """Wait until these works have ended, for ``at_most_ms`` at most."""
        left = [work for work in works if isinstance(work, Work) and not work.is_done]
        if left:
            await _Until(partial(self._resume_when_done, left, at_most_ms))

    def _resume_when_done(self, works: "list[Work[None]]", at_most_ms: int | None, resume: Resume) -> None:
        left = len(works)

        def count(number: int) -> None:
            nonlocal left
            if left > 0:
                left -= number
                if left <= 0:
                    resume()

        for work in works:
            work.when_done(partial(count, 1))
        if at_most_ms is not None:
            self.after(at_most_ms, count, left)

    async def all(self, coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Run the coroutines at the same time, and return their results in order."""
        works = [self.begin(coroutine) for coroutine in coroutines]
        return [await work for work in works]


class _Until:
    """An awaitable that suspends a coroutine. ``park`` is called with the function that resumes it."""

    __slots__ = ("_park",)

    def __init__(self, park: Callable[[Resume], None]) -> None:
        self._park = park

    def __await__(self) -> Generator[Callable[[Resume], None], None, None]:
        yield self._park


class Work(Generic[T]):
    """A coroutine that runs on a virtual clock. Others may wait for its result."""

    __slots__ = ("_coroutine", "_result", "_waiting", "is_done")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.is_done = False
        self._coroutine = coroutine
        self._result: T | None = None
        self._waiting: list[Resume] = []

    def run(self) -> None:
        """Run the coroutine until it waits again, or ends."""
        try:
            park = self._coroutine.send(None)
        except StopIteration as end:
            self.is_done, self._result = True, end.value
            for resume in self._waiting:
                resume()
        else:
            park(self.run)

    def when_done(self, resume: Resume) -> None:
        self._waiting.append(resume)

    def __await__(self) -> Generator[Callable[[Resume], None], None, T]:
        if not self.is_done:
            yield self.when_done
        return self._result  # type: ignore[return-value]
