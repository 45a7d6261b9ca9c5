"""Write the bill of materials (CycloneDX): what requirements.txt pins, the jars inside pyspark, and the fetched ones.

Each component has its purl, by which scanners find what is known of it. The file is valid and complete, or it is not
written.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from streaming import __version__
from streaming.jvm.jars import checksum
from streaming.jvm.pins import all_pinned

REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"
WITHOUT_GROUP = Path(__file__).with_name("spark_jars.txt")
ROOT = {
    "type": "application",
    "bom-ref": "evenkeel-rocketmq",
    "name": "evenkeel-rocketmq",
    "version": __version__,
    "licenses": [{"license": {"id": "Apache-2.0"}}],
}
Component = dict[str, Any]


def bill() -> Component:
    components = [*packages(), *fetched_jars()]
    needed = [one["bom-ref"] for one in components]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ROOT},
        "components": components,
        "dependencies": [{"ref": ROOT["bom-ref"], "dependsOn": needed}],  # directly or not
    }


def packages() -> Iterator[Component]:
    for name, pinned in re.findall(r"(?m)^([a-z0-9-]+)==([^\s;]+)", REQUIREMENTS.read_text("utf-8")):
        purl = f"pkg:pypi/{name}@{quote(pinned)}"
        inside = {"components": list(jars_inside_pyspark(pinned))} if name == "pyspark" else {}
        yield {"type": "library", "bom-ref": purl, "name": name, "version": pinned, "purl": purl, **inside}


def jars_inside_pyspark(pinned: str) -> Iterator[Component]:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None or version("pyspark") != pinned:
        sys.exit(f"requirements.txt pins pyspark {pinned}, which is not the installed one: make setup")
    lines = [line for line in WITHOUT_GROUP.read_text("utf-8").splitlines() if not line.startswith("#")]
    listed = {"-".join(line.split(":")[1:]): line for line in lines}
    for jar in sorted(Path(spec.origin).parent.glob("jars/*.jar")):
        coordinates = listed.get(jar.stem) or coordinates_in(jar)
        yield jar_component(f"pyspark/jars/{jar.name}", coordinates, checksum(jar))


def coordinates_in(jar: Path) -> str:
    """The coordinates by the file that Maven writes into a jar. A jar that contains others has several such files: that
    of the jar's own name counts.
    """
    with ZipFile(jar) as archive:
        for path in archive.namelist():
            if match := re.fullmatch(r"META-INF/maven/(.+)/(.+)/pom\.properties", path):
                group, artifact = match.groups()
                its_version = re.findall(r"(?m)^version=(\S+)", archive.read(path).decode())[0]
                if f"{jar.stem}-".startswith(f"{artifact}-{its_version}-"):
                    classifier = jar.stem.removeprefix(f"{artifact}-{its_version}").removeprefix("-")
                    return ":".join(filter(None, (group, artifact, its_version, classifier)))
    sys.exit(f"{jar.name} does not name its group: add its coordinates to scripts/{WITHOUT_GROUP.name}")


def fetched_jars() -> Iterator[Component]:
    """A jar of two sets is one component."""
    jars = {jar for jars in all_pinned().values() for jar in jars}
    for coordinates, sha256 in sorted(jars):
        yield jar_component(coordinates, coordinates, sha256)


def jar_component(ref: str, coordinates: str, sha256: str) -> Component:
    group, artifact, its_version, *classifier = coordinates.split(":")
    purl = f"pkg:maven/{group}/{artifact}@{quote(its_version)}" + "".join(f"?classifier={one}" for one in classifier)
    about = {"type": "library", "bom-ref": ref, "group": group, "name": artifact, "version": its_version, "purl": purl}
    return {**about, "hashes": [{"alg": "SHA-256", "content": sha256}]}


def main() -> int:
    text = json.dumps(bill(), indent=2, ensure_ascii=False) + "\n"
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        print(f"The bill of materials is not valid: {fault}", file=sys.stderr)
        return 1
    Path(sys.argv[1]).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
