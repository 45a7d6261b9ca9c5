"""Jars from a Maven repository: each by its own GET, several at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from streaming.errors import AwayError, SetupError
from streaming.jvm.pins import Jar

AT_ONCE = 8
TRIES = 3
LONGEST_PAUSE_S = 4
SILENT_FOR_S = 30  # then a connection is given up
CHUNK = 1 << 20
MOST_BYTES = 1 << 30  # the largest of all jars has 600 MB: a repository that never ends is refused


def get_all(jars: Sequence[Jar], repository: str, folder: Path, report: Callable[[Path], None]) -> None:
    """Put the jars into the folder, whose jars are not asked for again. ``report`` gets each new one.

    A jar appears once its SHA-256 is right. Raises AwayError if the repository does not give one, SetupError if it
    gives another one.
    """
    missing = [jar for jar in jars if not (folder / jar.file).exists()]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for path in pool.map(partial(_get, repository, folder), missing):
                report(path)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # those under way are waited for, no other one begins
            raise


def _get(repository: str, folder: Path, jar: Jar) -> Path:
    address = f"{repository.rstrip('/')}/{jar.path}"
    target = folder / jar.file
    part = target.with_suffix(".part")
    again = Retrying(
        retry=retry_if_exception(_may_pass),
        stop=stop_after_attempt(TRIES),
        wait=wait_exponential(max=LONGEST_PAUSE_S),
        reraise=True,
    )
    try:
        found = again(_download, address, part)
    except (OSError, HTTPException) as error:
        said = f"HTTP {error.code}" if isinstance(error, HTTPError) else str(error) or type(error).__name__
        raise AwayError(
            f"{address} cannot be fetched ({said}). Check the network, or name a mirror in an Ivy settings file with "
            "EVENKEEL_IVY_SETTINGS. What has come is kept: the same command continues"
        ) from error
    if found != jar.sha256:
        part.unlink()
        raise SetupError(
            f"{address} is not what evenkeel was tested with, and was not kept: it has the SHA-256 {found}, and "
            f"{jar.sha256} is right. Try again"
        )
    part.replace(target)
    return target


def _may_pass(error: BaseException) -> bool:
    return error.code >= 500 if isinstance(error, HTTPError) else isinstance(error, OSError | HTTPException)


def _download(address: str, part: Path) -> str:
    """The SHA-256 of what was written."""
    digest, size = sha256(), 0
    try:
        with urlopen(address, timeout=SILENT_FOR_S) as answer, part.open("wb") as file:
            while chunk := answer.read(CHUNK):
                size += len(chunk)
                if size > MOST_BYTES:
                    raise SetupError(f"{address} has more than {MOST_BYTES:,} bytes: no jar of evenkeel is as large")
                digest.update(chunk)
                file.write(chunk)
    except HTTPError as error:
        error.close()  # it keeps the connection
        raise
    return digest.hexdigest()
