"""Jars from a Maven repository: each by its own GET, several at a time."""

import errno
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from threading import Event
from urllib.error import HTTPError
from urllib.request import urlopen

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from streaming.errors import AwayError, SetupError
from streaming.jvm.pins import Jar

AT_ONCE = 8
TRIES = 3
LONGEST_PAUSE_S = 4
SILENT_FOR_S = 30  # then a connection is given up
TIME_LIMIT_S = 900  # for one jar, however slowly it comes
CHUNK = 1 << 16
MOST_BYTES = 1 << 30  # the largest of all jars has 600 MB: a repository that never ends is refused
OF_THE_DISK = (errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.ENOSPC, errno.EROFS)


def get_all(jars: Sequence[Jar], repository: str, folder: Path, report: Callable[[Path], None]) -> None:
    """Put the jars into the folder, whose jars are not asked for again. ``report`` gets each new one.

    A jar appears once its SHA-256 is right. Raises AwayError if the repository does not give one, SetupError if it
    gives another one, OSError if the folder cannot be written to.
    """
    missing = [jar for jar in jars if not (folder / jar.file).exists()]
    ended = Event()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for path in pool.map(partial(_get, repository, folder, ended), missing):
                report(path)
        except BaseException:
            ended.set()  # those under way end with their next bytes
            pool.shutdown(cancel_futures=True)
            raise


def _get(repository: str, folder: Path, ended: Event, jar: Jar) -> Path:
    address = f"{repository.rstrip('/')}/{jar.path}"
    target = folder / jar.file
    part = target.with_suffix(".part")

    def pause(seconds: float) -> None:
        ended.wait(seconds)

    again = Retrying(
        retry=retry_if_exception(lambda error: not ended.is_set() and _may_pass(error)),
        stop=stop_after_attempt(TRIES),
        wait=wait_exponential(max=LONGEST_PAUSE_S),
        sleep=pause,
        reraise=True,
    )
    try:
        found, kind = again(_download, address, part, ended)
    except (OSError, HTTPException) as error:
        if _is_of_the_disk(error):
            raise
        said = f"HTTP {error.code}" if isinstance(error, HTTPError) else str(error) or type(error).__name__
        raise AwayError(
            f"{address} cannot be fetched ({said}). Check the network, or name a mirror in an Ivy settings file with "
            "EVENKEEL_IVY_SETTINGS. What has come is kept: the same command continues"
        ) from error
    if found != jar.sha256:
        part.unlink()
        hint = ". It is a page: does the network ask for a log-in?" if kind == "text/html" else ""
        raise SetupError(
            f"{address} is not what evenkeel was tested with, and was not kept: it has the SHA-256 {found}, and "
            f"{jar.sha256} is right{hint}. Try again"
        )
    part.replace(target)
    return target


def _is_of_the_disk(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in OF_THE_DISK


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, HTTPError):
        return error.code >= 500
    return isinstance(error, OSError | HTTPException) and not _is_of_the_disk(error)


def _download(address: str, part: Path, ended: Event) -> tuple[str, str]:
    """The SHA-256 of what was written, and the type that the answer names."""
    deadline = time.monotonic() + TIME_LIMIT_S
    digest, size = sha256(), 0
    try:
        with urlopen(address, timeout=SILENT_FOR_S) as answer, part.open("wb") as file:
            while chunk := answer.read1(CHUNK):
                size += len(chunk)
                if ended.is_set():
                    raise InterruptedError("it is not needed any more")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{size:,} bytes in {TIME_LIMIT_S} s")
                if size > MOST_BYTES:
                    raise SetupError(f"{address} has more than {MOST_BYTES:,} bytes: no jar of evenkeel is as large")
                digest.update(chunk)
                file.write(chunk)
            if (whole := int(answer.headers.get("Content-Length") or size)) > size:
                raise IncompleteRead(b"", whole - size)  # http.client says nothing of it
            return digest.hexdigest(), answer.headers.get_content_type()
    except HTTPError as error:
        error.close()  # it keeps the connection
        raise
