"""A separate process behind a pipe: its memory and time do not count as those of the measured process."""

import multiprocessing
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

C = TypeVar("C", bound="Child")


class Child:
    """A process that runs ``serve`` with its end of the pipe and the arguments, during a ``with`` block."""

    def __init__(self, serve: Callable[..., None], *arguments: object) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._ours, self._theirs = spawning.Pipe()
        self._process = spawning.Process(target=serve, args=(self._theirs, *arguments), daemon=False)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def __enter__(self: C) -> C:
        self._process.start()
        self._theirs.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ours.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
