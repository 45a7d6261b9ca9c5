"""Write the bill of materials of the wheel (CycloneDX): its packages as they are installed here, and its jars.

cyclonedx-py describes the whole environment: here only what the wheel needs is kept, without extras and tools of
development. The file is valid, or it is not written.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from email import message_from_bytes
from importlib.metadata import requires
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from streaming import __version__
from streaming.jvm.jars import CHECKSUMS

PROJECT = Requirement("evenkeel-rocketmq")
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def bill() -> dict[str, Any]:
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", sys.prefix, "--pyproject", str(PYPROJECT)]
    tool += ["--output-reproducible", "--no-validate"]  # main() validates what becomes of it
    found = json.loads(subprocess.run(tool, capture_output=True, check=True).stdout)
    root = found["metadata"]["component"]
    root["version"] = __version__
    needs = dict(needed())
    packages = {canonicalize_name(one["name"]): one for one in found["components"]}
    refs = {name: packages[name]["bom-ref"] for name in needs if name != PROJECT.name} | {PROJECT.name: root["bom-ref"]}
    jar_components = list(jars())
    found["components"] = [packages[name] for name in sorted(needs) if name != PROJECT.name] + jar_components
    found["dependencies"] = [{"ref": refs[name], "dependsOn": sorted(refs[n] for n in needs[name])} for name in needs]
    found["dependencies"][0]["dependsOn"] += [jar["bom-ref"] for jar in jar_components]
    return found


def needed() -> Iterator[tuple[str, set[str]]]:
    """The project, and each package that it needs on this Python, directly or not, with the names that it needs."""
    todo, seen, of_wheel = [PROJECT], set(), wheel_requires()
    while todo:
        one = todo.pop(0)
        name = canonicalize_name(one.name)
        if name in seen:
            continue
        seen.add(name)
        theirs = [
            inner
            for inner in map(Requirement, of_wheel if name == PROJECT.name else requires(name) or ())
            if is_asked_for(inner, one.extras)
        ]
        todo += theirs
        yield name, {canonicalize_name(inner.name) for inner in theirs}


def wheel_requires() -> list[str]:
    """What the wheel beside the bill says that it needs. The environment may have an older evenkeel."""
    (wheel,) = Path(sys.argv[1]).parent.glob("*.whl")
    with ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])


def is_asked_for(inner: Requirement, extras: set[str]) -> bool:
    return inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def jars() -> Iterator[dict[str, Any]]:
    """The jars that evenkeel fetches, by their checksums. A jar of both sets is one component."""
    lines = [line.split() for line in CHECKSUMS.read_text("utf-8").splitlines() if not line.startswith("#")]
    for file, checksum in sorted({path.partition("/")[2]: known for known, path in lines}.items()):
        match = re.fullmatch(r"(.+)-(\d+(?:\.\d+)+.*)\.jar", file)
        assert match is not None, file
        hashes = [{"alg": "SHA-256", "content": checksum}]
        yield {"type": "library", "bom-ref": file, "name": match[1], "version": match[2], "hashes": hashes}


def main() -> int:
    text = json.dumps(bill(), indent=2, ensure_ascii=False) + "\n"
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        print(f"The bill of materials is not valid: {fault}", file=sys.stderr)
        return 1
    Path(sys.argv[1]).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
