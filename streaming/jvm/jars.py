"""Fetch jars once, with the Ivy that pyspark ships, and keep them in the user's cache or in a named folder.

Each set of coordinates has its own folder, which appears complete or not at all. Ivy works in a scratch folder: an
incomplete ~/.m2 or ~/.ivy2 cannot disturb it, nor can two runs at once. If a fetch is interrupted, the next one finds
the jars that had come in the scratch folder.

evenkeel runs only jars with which it was tested: ``jars.sha256`` has the SHA-256 of every jar. They are compared when
jars have been fetched, and before each use.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from streaming.errors import AwayError, SetupError
from streaming.jvm.java import java_home

TIME_LIMIT_S = 900
LOOK_EVERY_S = 0.5
CHECKSUMS = Path(__file__).with_name("jars.sha256")
FILE_NAMES = "[artifact]-[revision](-[classifier]).[ext]"  # native code has one artifact a platform, by classifier


def cache_dir() -> Path:
    """The folder of downloads: $EVENKEEL_CACHE, else a folder in the user's cache."""
    if chosen := os.environ.get("EVENKEEL_CACHE"):
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "evenkeel"
    except RuntimeError as error:
        raise SetupError("this user has no home folder: name a folder for jars with EVENKEEL_CACHE") from error


def fetch(
    coordinates: Sequence[str], exclude: Sequence[str] = (), checksums: Path = CHECKSUMS, to: Path | None = None
) -> list[Path]:
    """The jars of these `group:artifact:version` and all they need, less those of the excluded groups.

    They are kept in ``to``, or in the cache. Raises AwayError if they cannot be fetched now, SetupError if the jars
    have other checksums than these.
    """
    place = to or cache_dir() / "jars"
    folder = place / set_name(coordinates)
    expected = _expected(checksums, coordinates)
    try:
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _locked(folder.parent / f"{folder.name}.lock"):
                if not folder.is_dir():
                    download(coordinates, exclude, folder, expected)
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


def kept_in(place: Path, coordinates: Sequence[str], checksums: Path = CHECKSUMS) -> list[Path]:
    """The same jars from a folder that ``fetch`` has filled before. Nothing is fetched. Raises SetupError."""
    folder = place / set_name(coordinates)
    if fault := fault_in(place, coordinates, checksums):
        raise SetupError(
            f"{folder}: {fault}. Where there is a network, fill a folder with: evenkeel jars fetch --to DIR. Copy it "
            f"to this machine whole, in place of {place}"
        )
    return sorted(folder.glob("*.jar"))


def fault_in(place: Path, coordinates: Sequence[str], checksums: Path = CHECKSUMS) -> str | None:
    """The difference between these jars in ``place`` and the expected ones, as text; None if there is none."""
    try:
        return _difference(place / set_name(coordinates), _expected(checksums, coordinates))
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"


def set_name(coordinates: Sequence[str]) -> str:
    """The name of the folder of these jars."""
    return "--".join("-".join(c.split(":")[1:]) for c in coordinates)


def checksum(jar: Path) -> str:
    return sha256(jar.read_bytes()).hexdigest()


def _expected(checksums: Path, coordinates: Sequence[str]) -> dict[str, str]:
    """SHA-256 by file name. The file is as ``sha256sum`` writes it. Raises SetupError if it lacks this set of jars."""
    pairs = (line.split() for line in checksums.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    name = set_name(coordinates)
    expected = {path.partition("/")[2]: known for known, path in pairs if path.partition("/")[0] == name}
    if not expected:
        raise SetupError(
            f"no checksums of {', '.join(coordinates)} are known: evenkeel runs only with the versions of pyspark and "
            "delta-spark that its package names; install it again"
        )
    return expected


def _difference(folder: Path, expected: Mapping[str, str]) -> str | None:
    """The difference between the jars in a folder and the expected ones, as text; None if there is none."""
    found = {jar.name: jar for jar in folder.glob("*.jar")}
    if missing := sorted(expected.keys() - found.keys()):
        return f"{missing[0]} is missing"
    if more := sorted(found.keys() - expected.keys()):
        return f"{more[0]} is not one of its jars"
    for name, jar in sorted(found.items()):
        if (known := checksum(jar)) != expected[name]:
            return f"{name} has the SHA-256 {known}, and {expected[name]} is right"
    return None


def download(
    coordinates: Sequence[str], exclude: Sequence[str], folder: Path, expected: Mapping[str, str] | None
) -> None:
    """Fetch the jars into a new folder. ``expected`` None: accept any, to learn the checksums."""
    print(f"evenkeel: fetching jars into {folder} (a minute or so, once)", file=sys.stderr, flush=True)
    scratch = folder.with_name(f".fetching-{folder.name}")
    command = [str(java_home() / "bin" / "java"), "-cp", f"{_pyspark_jars()}/*", "org.apache.ivy.Main"]
    command += ["-ivy", str(scratch / "ivy.xml"), "-confs", "default", "-m2compatible"]
    command += ["-cache", str(scratch / "cache"), "-retrieve", f"{scratch}/jars/{FILE_NAMES}"]
    if settings := os.environ.get("EVENKEEL_IVY_SETTINGS"):
        command += ["-settings", settings]
    _clear(scratch, expected or {})
    (scratch / "ivy.xml").write_text(_ivy_module(coordinates, exclude))
    _run(command, coordinates, scratch)
    fault = None if expected is None else _difference(scratch / "jars", expected)
    if fault is None:
        (scratch / "jars").rename(folder)
    shutil.rmtree(scratch)
    if fault:
        raise SetupError(
            f"What came for {', '.join(coordinates)} is not what evenkeel was tested with, and was not kept: "
            f"{fault}. Try again; if a mirror is used (EVENKEEL_IVY_SETTINGS), compare its file to the publisher's"
        )


def _clear(scratch: Path, expected: Mapping[str, str]) -> None:
    """Leave only jars with the expected checksums in the scratch folder, which a killed process may have left. Ivy does
    not fetch a jar that is in its cache.
    """
    scratch.mkdir(exist_ok=True)
    shutil.rmtree(scratch / "jars", ignore_errors=True)
    for path in [path for path in scratch.rglob("*") if path.is_file()]:
        if path.name not in expected or checksum(path) != expected[path.name]:
            path.unlink()


def _run(command: Sequence[str], coordinates: Sequence[str], scratch: Path) -> None:
    """Run Ivy, with its output in ``scratch``, and print the jars as they come: it first writes into a file .part."""
    said, deadline = scratch / "said", time.monotonic() + TIME_LIMIT_S
    reported: set[Path] = set()

    def tell_new() -> None:
        for jar in sorted(set((scratch / "cache").rglob("*.jar")) - reported):
            reported.add(jar)
            print(f"evenkeel:   {jar.name}, {jar.stat().st_size:,} bytes", file=sys.stderr, flush=True)

    with said.open("wb") as words, subprocess.Popen(command, stdout=words, stderr=subprocess.STDOUT) as process:
        try:
            while process.poll() is None:
                if time.monotonic() > deadline:
                    raise AwayError(f"Fetching {', '.join(coordinates)} took over {TIME_LIMIT_S} s: is the network up?")
                tell_new()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK_EVERY_S)
        finally:
            process.kill()
    tell_new()
    if process.returncode:
        last_words = "\n".join([line for line in said.read_text("utf-8", "replace").splitlines() if line.strip()][-10:])
        raise AwayError(
            f"Ivy could not fetch {', '.join(coordinates)}. Check the network, or name a mirror in an Ivy settings "
            f"file with EVENKEEL_IVY_SETTINGS. It said:\n{last_words}"
        )


def _ivy_module(coordinates: Sequence[str], exclude: Sequence[str]) -> str:
    wanted = "".join(
        '<dependency org="{}" name="{}" rev="{}" conf="default->default"/>'.format(*c.split(":")) for c in coordinates
    )
    unwanted = "".join(f'<exclude org="{group}"/>' for group in exclude)
    return (
        '<ivy-module version="2.0"><info organisation="evenkeel" module="jars"/>'
        f"<dependencies>{wanted}{unwanted}</dependencies></ivy-module>"
    )


def _pyspark_jars() -> Path:
    spec = find_spec("pyspark")  # finds it without importing it
    if spec is None or spec.origin is None:
        raise SetupError("pyspark is not installed in this environment, which evenkeel needs: install it with pip")
    return Path(spec.origin).parent / "jars"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a file; the system releases the lock even if this process is killed."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
