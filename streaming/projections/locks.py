"""One process at a time writes the projections, and one maintains them, where their file system has locks."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from streaming.errors import CheckpointError, InUseError
from streaming.file_lock import CannotLock, HeldElsewhere, held
from streaming.tables.storage import local_path


@contextmanager
def writing_alone(tables: str) -> Iterator[None]:
    """An evenkeel up to 0.1 takes the same lock. Raises CheckpointError."""
    try:
        with _lock(tables, "projections"):
            yield
    except HeldElsewhere as other:
        raise CheckpointError(
            f"the projections in {tables} are being written by {other}: stop it first, or let it do the work"
        ) from None


@contextmanager
def maintaining_alone(tables: str) -> Iterator[None]:
    """Of two that compact a table at once deltalake keeps what both have written. Raises InUseError."""
    try:
        with _lock(tables, "maintenance"):
            yield
    except HeldElsewhere as other:
        raise InUseError(f"the tables in {tables} are being maintained by {other}: let it do the work") from None


@contextmanager
def _lock(tables: str, name: str) -> Iterator[None]:
    folder = local_path(tables)
    with ExitStack() as stack:
        if folder is not None:
            path = folder / "_checkpoints" / f"{name}.lock"
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(CannotLock):
                stack.enter_context(held(path))
        yield
