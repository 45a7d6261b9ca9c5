"""What ``make package`` builds is complete, and works where there is no checkout."""

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.utils import canonicalize_name

from streaming import __version__
from streaming.cli import COMMANDS, EXAMPLES
from streaming.jvm.jars import CHECKSUMS
from tests.release import ROOT, built, environment, pip, sdist_in, try_installed, wheel_in, with_packages_of_this_one

PACKED = ("streaming", "schemas", "conf", "docs", "deploy/systemd")
MOST_BYTES, MOST_BYTES_OF_A_FILE = 2_500_000, 400_000
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make package`` builds."""
    return built(tmp_path_factory.mktemp("release"))


def test_wheel_carries_all_code_and_data(dist: Path, tmp_path: Path) -> None:
    copy = dist.parent
    files = [path for folder in PACKED for path in (copy / folder).rglob("*")]
    packed = [path for path in files if path.is_file() and "__pycache__" not in path.parts and not of_a_run(path.name)]
    expected = {str(path.relative_to(copy)) for path in packed}
    with ZipFile(wheel_in(dist)) as archive:
        carried = {re.sub("^streaming/(conf|docs)/", r"\1/", name) for name in archive.namelist()}
        carried = {re.sub("^streaming/units/", "deploy/systemd/", name) for name in carried}
        assert expected - carried == set()
        about = f"evenkeel_rocketmq-{__version__}.dist-info"
        told = archive.read(f"{about}/METADATA").decode()
        assert archive.read(f"{about}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        archive.extractall(tmp_path)
    assert "License-Expression: Apache-2.0\n" in told
    main = [sys.executable, tmp_path / "streaming" / "__main__.py", "--version"]  # as spark-submit is given it
    done = subprocess.run(main, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == __version__


def of_a_run(name: str) -> bool:
    """Whether it has the lines of an endurance run."""
    return name.endswith(".tar.xz")


def test_wheel_and_sdist_are_small_and_have_only_pages_of_endurance(dist: Path) -> None:
    with ZipFile(wheel_in(dist)) as wheel, tarfile.open(sdist_in(dist)) as sdist:
        sizes = {f"wheel: {one.filename}": one.file_size for one in wheel.infolist()}
        sizes |= {f"sdist: {one.name}": one.size for one in sdist.getmembers() if not one.isdir()}
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES_OF_A_FILE} == {}
    endurance = [name for name in sizes if "docs/endurance/" in name]
    assert {name.partition(":")[0] for name in endurance} == {"wheel", "sdist"}
    assert [name for name in endurance if not name.endswith(".md")] == []
    assert [name for name in sizes if of_a_run(name)] == []
    assert max(wheel_in(dist).stat().st_size, sdist_in(dist).stat().st_size) <= MOST_BYTES


def test_each_file_of_a_release_has_its_checksum(dist: Path) -> None:
    names = {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    of_this_version = {f"evenkeel_rocketmq-{__version__}{end}" for end in ("-py3-none-any.whl", ".tar.gz", ".cdx.json")}
    assert names == {"constraints.txt", *of_this_version}
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=dist, capture_output=True, text=True, check=True)
    assert {line.removesuffix(": OK") for line in checked.stdout.splitlines()} == names


def test_the_bill_of_materials_has_what_is_installed_and_fetched_and_nothing_else(dist: Path) -> None:
    bill = json.loads((dist / f"evenkeel_rocketmq-{__version__}.cdx.json").read_text())
    root = bill["metadata"]["component"]
    assert (bill["bomFormat"], root["name"], root["version"]) == ("CycloneDX", "evenkeel-rocketmq", __version__)
    components = {one["bom-ref"]: one for one in bill["components"]}
    jars = {ref for ref in components if ref.endswith(".jar")}
    lines = [line for line in CHECKSUMS.read_text().splitlines() if not line.startswith("#")]
    known = {(line.split()[0], line.rpartition("/")[2]) for line in lines}
    assert {(components[ref]["hashes"][0]["content"], ref) for ref in jars} == known
    names = {canonicalize_name(components[ref]["name"]) for ref in components.keys() - jars}
    assert {"pyspark", "py4j", "numpy", "pydantic-core", "obstore"} <= names
    assert names & {"pytest", "ruff", "duckdb", "apprise", "matplotlib", "pip", "setuptools"} == set()
    reached, todo = set(), {root["bom-ref"]}
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    while todo:
        reached |= todo
        todo = {ref for one in todo for ref in needs.get(one, ())} - reached
    assert reached == {root["bom-ref"], *components}


def test_the_man_page_has_every_command_with_its_example(dist: Path) -> None:
    with ZipFile(wheel_in(dist)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/share/man/man1/evenkeel.1")]
        page = archive.read(name).decode()
    shown = page.replace("\\-", "-").replace("\\\\", "\\")
    assert [name for name in COMMANDS if f"\n.SS \\fBevenkeel {name}\\fR\n" not in shown] == []
    assert [example for example in EXAMPLES.values() if example not in shown] == []
    assert str(ROOT) not in page
    assert str(dist.parent) not in page
    assert re.findall(r"(?m)^'.*", page) == []  # roff takes such a line for a request


def test_the_wheel_works_outside_a_checkout(dist: Path, tmp_path: Path) -> None:
    """With the packages of this environment; tests/e2e installs all of them anew, on each Python of the machine."""
    python = environment(tmp_path / "venv", sys.executable)
    with_packages_of_this_one(python)
    pip(python, "install", "--no-deps", wheel_in(dist))
    try_installed(python, tmp_path)
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "evenkeel.1").is_file()
