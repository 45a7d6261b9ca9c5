"""A lock that Java has beside the lease of a folder, because Java outlives a process that was killed.

It ends when its standard input does, a moment after the kernel has unlocked the lease. Until then it may commit a batch
that was being written. The next process would not see that commit, and write the batch a second time.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from streaming import lease_file
from streaming.errors import AwayError, InUseError, SetupError
from streaming.file_lock import MODE
from streaming.lease import NOT_BY_ITSELF
from streaming.private_files import opened
from streaming.spark.failure import root_of

NAME = f"{lease_file.NAME}_java"
ENDS_WITHIN_S = 30.0  # its shutdown takes a second or two; a machine that swaps takes longer
TRY_EVERY_S = 0.1
log = logging.getLogger(__name__)


@contextmanager
def java_lock(spark: SparkSession, folder: Path, stop: Event) -> Iterator[None]:
    """Lock the folder for our Java, once that of the process before us has ended. Raises InUseError if it does not,
    SetupError if there can be no such file, AwayError if there may be one later.

    It needs the lease of the folder, so that only one process waits. ``stop`` ends the waiting without the lock.
    """
    path = folder / NAME
    try:
        os.close(opened(path, os.O_RDWR | os.O_CREAT, MODE))
    except OSError as error:
        kind = SetupError if isinstance(error, NOT_BY_ITSELF) else AwayError
        raise kind(f"{path}: Java cannot lock it for this process alone: {error.strerror}") from error
    jvm: Any = spark._jvm
    file = jvm.java.io.RandomAccessFile(str(path.absolute()), "rw")
    try:
        deadline = time.monotonic() + ENDS_WITHIN_S
        while not _is_locked(file.getChannel(), path):
            if stop.wait(TRY_EVERY_S):
                break
            if time.monotonic() >= deadline:
                raise InUseError(
                    f"{folder} is in use by the Java of a process that has ended: 'fuser {path}' names it; end it",
                    owner="the Java of a process that has ended",
                )
        yield
    finally:
        with suppress(Py4JError, OSError):  # Java has ended, and its locks with it; why, the block itself raises
            file.close()


def _is_locked(channel: Any, path: Path) -> bool:
    try:
        return channel.tryLock() is not None
    except Py4JJavaError as error:
        log.warning("%s cannot be locked by Java: %s", path, root_of(error.java_exception))
        return True
