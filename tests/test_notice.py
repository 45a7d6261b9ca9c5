"""NOTICE names what the image ships, and what each licence is, as far as the packages and jars say it themselves."""

import re
from fnmatch import fnmatch
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "NOTICE").read_text(encoding="utf-8")
PACKAGES = dict(
    re.findall(r"(?m)^   ([a-z0-9-]+) {2,}(\S.*)$", TEXT.partition("Python packages")[2].partition("\n4. ")[0])
)
OTHER_JARS = {jar for line in re.findall(r"(?m)^ {6}(\S.*?),?$", TEXT) for jar in line.split(", ")}
SHIPPED = Requirement("evenkeel-rocketmq[chat]")


def needed_by(wanted: Requirement) -> set[str]:
    """The names of the packages that are installed with it, directly or not."""
    todo, seen = [wanted], set[str]()
    while todo:
        one = todo.pop()
        inner = map(Requirement, distribution(one.name).requires or ())
        asked = [need for need in inner if need.marker is None or any(map(need.marker.evaluate, extras_of(one)))]
        todo += [need for need in asked if canonicalize_name(need.name) not in seen]
        seen |= {canonicalize_name(need.name) for need in asked}
    return seen


def extras_of(requirement: Requirement) -> list[dict[str, str]]:
    return [{"extra": extra} for extra in ("", *requirement.extras)]


def jars_of_the_image() -> list[Path]:
    """Those of pyspark that the Containerfile leaves."""
    text = (ROOT / "deploy" / "container" / "Containerfile").read_text(encoding="utf-8")
    lines = text.partition("pyspark/jars && rm -r")[2].partition("&& case")[0].splitlines()
    removed = " ".join(line for line in lines if not line.startswith("#")).replace("\\", "").split()
    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    return [jar for jar in jars if not any(fnmatch(jar.name, pattern) for pattern in removed)]


def name_of(jar: Path) -> str:
    return re.split(r"-\d", jar.name)[0]


def license_of(jar: Path) -> str:
    """As its manifest says it; empty: it does not."""
    with ZipFile(jar) as archive:
        manifest = archive.read("META-INF/MANIFEST.MF").decode(errors="replace").replace("\r\n ", "")
    return "".join(re.findall(r"Bundle-License: (.*?)\s*$", manifest, re.MULTILINE))


def test_each_package_of_the_image_is_named_and_no_other() -> None:
    assert PACKAGES.keys() == needed_by(SHIPPED)


def test_the_licence_of_a_package_is_the_one_that_it_names() -> None:
    named = {name: distribution(name).metadata.get("License-Expression") for name in PACKAGES}
    assert [name for name, licence in named.items() if licence not in (None, PACKAGES[name])] == []


@pytest.mark.slow("processes are started")
def test_each_jar_that_says_that_it_has_another_licence_than_apaches_is_named() -> None:
    jars = jars_of_the_image()
    assert len(jars) > 100
    others = {name_of(jar) for jar in jars if "apache" not in (license_of(jar) or "Apache").lower()}
    assert others - OTHER_JARS == {"flatbuffers-java", "xbean-asm9-shaded"}  # they are, but for the ASM in the second


def test_each_jar_that_is_named_is_there() -> None:
    assert OTHER_JARS - {name_of(jar) for jar in jars_of_the_image()} == set()
