"""Jars that are fetched once, and kept in the user's cache or in a named folder.

Each set of coordinates has its own folder, which appears complete or not at all. If a fetch is interrupted, the next
one finds the jars that had come in a scratch folder. They come by GET from the repository that Ivy asks by default, or
by Ivy with the settings file that EVENKEEL_IVY_SETTINGS names.

evenkeel runs only jars with which it was tested (``pins``). Their SHA-256 are compared when they have been fetched, and
before each use.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from streaming.errors import SetupError
from streaming.jvm import ivy, maven
from streaming.jvm.pins import PINS, Jar, pinned, set_name


def cache_dir() -> Path:
    """The folder of downloads: $EVENKEEL_CACHE, else a folder in the user's cache."""
    if chosen := os.environ.get("EVENKEEL_CACHE"):
        return Path(chosen)
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (cache if cache.is_absolute() else Path("~/.cache").expanduser()) / "evenkeel"
    except RuntimeError as error:
        raise SetupError("this user has no home folder: name a folder for jars with EVENKEEL_CACHE") from error


def fetch(coordinates: Sequence[str], pins: Path = PINS, to: Path | None = None) -> list[Path]:
    """The jars of the set of these `group:artifact:version`, in ``to`` or in the cache.

    Raises AwayError if they cannot be fetched now, SetupError if one has another checksum than it should.
    """
    place = to or cache_dir() / "jars"
    folder = place / set_name(coordinates)
    expected = pinned(coordinates, pins)
    try:
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _locked(folder.parent / f"{folder.name}.lock"):
                if not folder.is_dir():
                    _fetch_into(folder, expected)
        fault = _difference(folder, expected)
    except OSError as error:
        raise SetupError(
            f"{place}, where jars are kept, cannot be used: {error.strerror or error}. Name a folder that this user "
            f"may write to, or that holds the jars already, with {'EVENKEEL_CACHE' if to is None else '--to'}"
        ) from error
    if fault:
        raise SetupError(
            f"{folder}: {fault}: what was fetched has been damaged or changed since. Delete the folder, and it is "
            "fetched again"
        )
    return sorted(folder.glob("*.jar"))


def kept_in(place: Path, coordinates: Sequence[str], pins: Path = PINS) -> list[Path]:
    """The same jars from a folder that ``fetch`` has filled before. Nothing is fetched. Raises SetupError."""
    folder = place / set_name(coordinates)
    if fault := fault_in(place, coordinates, pins):
        raise SetupError(
            f"{folder}: {fault}. Where there is a network, fill a folder with: evenkeel jars fetch --to DIR. Copy it "
            f"to this machine whole, in place of {place}"
        )
    return sorted(folder.glob("*.jar"))


def fault_in(place: Path, coordinates: Sequence[str], pins: Path = PINS) -> str | None:
    """The difference between these jars in ``place`` and the expected ones, as text; None if there is none."""
    try:
        return _difference(place / set_name(coordinates), pinned(coordinates, pins))
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"


def checksum(jar: Path) -> str:
    with jar.open("rb") as file:
        digest = sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _difference(folder: Path, expected: Sequence[Jar]) -> str | None:
    """The difference between the jars in a folder and the expected ones, as text; None if there is none."""
    right = {jar.file: jar.sha256 for jar in expected}
    found = {path.name: path for path in folder.glob("*.jar")}
    if missing := sorted(right.keys() - found.keys()):
        return f"{missing[0]} is missing"
    if more := sorted(found.keys() - right.keys()):
        return f"{more[0]} is not one of its jars"
    for name, path in sorted(found.items()):
        if (known := checksum(path)) != right[name]:
            return f"{name} has the SHA-256 {known}, and {right[name]} is right"
    return None


def _fetch_into(folder: Path, expected: Sequence[Jar]) -> None:
    print(f"evenkeel: fetching {len(expected)} jars into {folder} (once)", file=sys.stderr, flush=True)
    scratch = folder.with_name(f".fetching-{folder.name}")
    come = scratch / "jars"
    _clear(scratch, expected)
    come.mkdir(exist_ok=True)
    if settings := os.environ.get("EVENKEEL_IVY_SETTINGS"):
        for jar in ivy.retrieve("".join(ivy.exact(jar.coordinates) for jar in expected), scratch, settings):
            jar.replace(come / jar.name)
        fault = _difference(come, expected)
    else:
        maven.get_all(expected, ivy.repository(), come, _report)
        fault = None  # it has compared each
    if fault is None:
        come.rename(folder)
    shutil.rmtree(scratch)
    if fault:
        raise SetupError(
            f"What came for {folder.name} is not what evenkeel was tested with, and was not kept: {fault}. Try again; "
            "compare the file of the mirror (EVENKEEL_IVY_SETTINGS) to the publisher's"
        )


def _report(jar: Path) -> None:
    print(f"evenkeel:   {jar.name}, {jar.stat().st_size:,} bytes", file=sys.stderr, flush=True)


def _clear(scratch: Path, expected: Sequence[Jar]) -> None:
    """Leave only jars with the right checksums in the scratch folder, which a killed process may have left. Neither Ivy
    nor ``maven`` fetches a jar that is there.
    """
    right = {jar.file: jar.sha256 for jar in expected}
    scratch.mkdir(exist_ok=True)
    for path in [path for path in scratch.rglob("*") if path.is_file()]:
        if path.name not in right or checksum(path) != right[path.name]:
            path.unlink()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a file; the system releases the lock even if this process is killed."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
