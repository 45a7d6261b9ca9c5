"""Find a Java that Spark and Kafka run on. Run as a module, it prints where that Java is."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from streaming.errors import MonitorError, SetupError

OLDEST, NEWEST = 17, 22  # from 23 on, Hadoop's login (Subject.getSubject) is refused by Java
ANSWERS_WITHIN_S = 30  # a machine that starts everything at once is slow
PLACES = (
    "/usr/lib/jvm/*",
    "/opt/homebrew/opt/openjdk@*",
    "/usr/local/opt/openjdk@*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)


def java_home() -> Path:
    """The home of the first fitting Java among $JAVA_HOME, the PATH and the usual folders."""
    seen: list[str] = []
    for java in _candidates():
        version = _major_version(java)
        if version is not None and OLDEST <= version <= NEWEST:
            return java.resolve().parent.parent
        seen.append(f"{java} is {f'version {version}' if version else 'broken'}")
    found = "; ".join(seen) or "none was found in $JAVA_HOME, on the PATH or in the usual folders"
    raise SetupError(
        f"Java {OLDEST} to {NEWEST} is needed, but {found}. Install Java 17 or 21 "
        "(in a checkout: make setup), or set JAVA_HOME to one."
    )


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java"):
        yield Path(on_path)
    for place in PLACES:
        yield from sorted(Path("/").glob(f"{place[1:]}/bin/java"))


def _major_version(java: Path) -> int | None:
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=ANSWERS_WITHIN_S, check=True
        ).stderr
    except subprocess.TimeoutExpired:
        raise MonitorError(f"{java} -version has not ended within {ANSWERS_WITHIN_S} s: is the machine busy?") from None
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match.group(1)) if match else None


def main() -> int:
    """Print the home of the Java to use, or the reason why there is none."""
    try:
        print(java_home())
    except MonitorError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
