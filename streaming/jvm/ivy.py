"""Ivy, which pyspark ships: it fetches jars by a settings file, and finds what a set of jars needs.

Ivy works in a scratch folder: an incomplete ~/.m2 or ~/.ivy2 cannot disturb it, nor can two runs at once.
"""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

from streaming.errors import AwayError, SetupError
from streaming.jvm.java import java_home

TIME_LIMIT_S = 900
LOOK_EVERY_S = 0.5
DEFAULTS = "org/apache/ivy/core/settings/repository.properties"  # in Ivy's jar
AS_A_REPOSITORY = "[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"


def repository() -> str:
    """The address of the repository that Ivy asks by default. evenkeel asks the same one."""
    (jar,) = _pyspark_jars().glob("ivy-*.jar")
    with ZipFile(jar) as archive:
        properties = archive.read(DEFAULTS).decode()
    found = re.search(r"(?m)^ivy\.ibiblio\.default\.artifact\.root *= *(\S+)", properties)
    if found is None:
        raise SetupError(f"{jar} names no repository: install pyspark again")
    return found[1]


def exact(coordinates: str) -> str:
    """A dependency for Ivy: this jar alone."""
    group, artifact, version, *classifier = coordinates.split(":")
    which = f' m:classifier="{classifier[0]}"' if classifier else ""
    return (
        f'<dependency org="{group}" name="{artifact}" rev="{version}" transitive="false">'
        f'<artifact name="{artifact}" type="jar" ext="jar"{which}/></dependency>'
    )


def retrieve(dependencies: str, scratch: Path, settings: str = "") -> list[Path]:
    """The jars of these dependencies, each below ``scratch`` as in a repository. Jars that are in Ivy's cache there are
    not fetched. Raises AwayError.
    """
    (scratch / "ivy.xml").write_text(
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        f'<info organisation="evenkeel" module="jars"/><dependencies>{dependencies}</dependencies></ivy-module>'
    )
    command = [str(java_home() / "bin" / "java"), "-cp", f"{_pyspark_jars()}/*", "org.apache.ivy.Main"]
    command += ["-ivy", str(scratch / "ivy.xml"), "-confs", "default", "-m2compatible"]
    command += ["-cache", str(scratch / "cache"), "-retrieve", f"{scratch}/retrieved/{AS_A_REPOSITORY}"]
    if settings:
        command += ["-settings", settings]
    _run(command, scratch)
    return sorted((scratch / "retrieved").rglob("*.jar"))


def _run(command: Sequence[str], scratch: Path) -> None:
    """Run Ivy, with its output in ``scratch``, and print the jars as they come: it first writes into a file .part."""
    said, deadline = scratch / "said", time.monotonic() + TIME_LIMIT_S
    reported: set[Path] = set()

    def report_new() -> None:
        for jar in sorted(set((scratch / "cache").rglob("*.jar")) - reported):
            reported.add(jar)
            print(f"evenkeel:   {jar.name}, {jar.stat().st_size:,} bytes", file=sys.stderr, flush=True)

    with said.open("wb") as words, subprocess.Popen(command, stdout=words, stderr=subprocess.STDOUT) as process:
        try:
            while process.poll() is None:
                if time.monotonic() > deadline:
                    raise AwayError(f"Ivy has not fetched the jars within {TIME_LIMIT_S} s: is the network up?")
                report_new()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK_EVERY_S)
        finally:
            process.kill()
    report_new()
    if process.returncode:
        last_words = "\n".join([line for line in said.read_text("utf-8", "replace").splitlines() if line.strip()][-10:])
        raise AwayError(
            "Ivy could not fetch the jars. Check the network, and the settings file that EVENKEEL_IVY_SETTINGS names. "
            f"It said:\n{last_words}"
        )


def _pyspark_jars() -> Path:
    spec = find_spec("pyspark")  # finds it without importing it
    if spec is None or spec.origin is None:
        raise SetupError("pyspark is not installed in this environment, which evenkeel needs: install it with pip")
    return Path(spec.origin).parent / "jars"
