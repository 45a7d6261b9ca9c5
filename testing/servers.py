"""Processes that a test starts and stops."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

S = TypeVar("S", bound="Servers")


class Servers(ABC):
    """They run for the length of a ``with`` block. If not all of them start, those that did are stopped."""

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...

    def __enter__(self: S) -> S:
        try:
            self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()
