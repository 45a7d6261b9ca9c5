"""Locks of the projections: one process at a time writes them, and one maintains them, if the file system has locks."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from streaming.errors import CheckpointError, InUseError, MonitorError
from streaming.file_lock import CannotLock, HeldElsewhere, held
from streaming.tables.storage import local_path


def writing_alone(tables: str) -> AbstractContextManager[None]:
    """The lock for writing. Raises CheckpointError."""
    message = "the projections in {tables} are being written by {other}: stop it first, or let it do the work"
    return _alone(tables, "projections", CheckpointError, message)


def maintaining_alone(tables: str) -> AbstractContextManager[None]:
    """The lock for maintenance: if two processes compact a table, deltalake keeps both results. Raises InUseError."""
    message = "the tables in {tables} are being maintained by {other}: let it do the work"
    return _alone(tables, "maintenance", InUseError, message)


@contextmanager
def _alone(tables: str, name: str, refusal: type[MonitorError], message: str) -> Iterator[None]:
    folder = local_path(tables)
    with ExitStack() as stack:
        if folder is not None:
            path = folder / "_checkpoints" / f"{name}.lock"
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(held(path))
            except CannotLock:
                pass
            except HeldElsewhere as other:
                raise refusal(message.format(tables=tables, other=other)) from None
        yield
