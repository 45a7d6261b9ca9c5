"""What ``make package`` builds is complete, and works where there is no checkout."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyspark
import pytest
from packaging.version import Version

from streaming import __version__
from streaming.cli.command_table import COMMANDS
from streaming.jvm.jars import checksum
from streaming.jvm.pins import all_pinned
from tests.release import (
    ROOT,
    built,
    environment,
    git,
    make_repository,
    package,
    pip,
    said_version,
    sdist_in,
    try_installed,
    wheel_in,
    with_packages_of_this_one,
)

PACKED = ("streaming", "schemas", "conf", "docs", "deploy/systemd")
MOST_BYTES, MOST_BYTES_OF_A_FILE = 2_500_000, 400_000
pytestmark = [pytest.mark.slow("processes are started"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make package`` builds."""
    return built(tmp_path_factory.mktemp("release"))


def built_version(dist: Path) -> str:
    """What pip compares: a version of development is another one with each commit."""
    if not Version(__version__).is_devrelease:
        return __version__
    return f"{__version__}+g{git(dist.parent, 'rev-parse', '--short=12', 'HEAD')}"


@pytest.mark.deep("a wheel and a sdist are built and installed")
def test_wheel_carries_all_code_and_data(dist: Path, tmp_path: Path) -> None:
    copy = dist.parent
    files = [path for folder in PACKED for path in (copy / folder).rglob("*")]
    packed = [path for path in files if path.is_file() and "__pycache__" not in path.parts and not of_a_run(path.name)]
    expected = {str(path.relative_to(copy)) for path in packed}
    with ZipFile(wheel_in(dist)) as archive:
        carried = {re.sub("^streaming/(conf|docs)/", r"\1/", name) for name in archive.namelist()}
        carried = {re.sub("^streaming/units/", "deploy/systemd/", name) for name in carried}
        assert expected - carried == set()
        about = f"evenkeel_rocketmq-{built_version(dist)}.dist-info"
        told = archive.read(f"{about}/METADATA").decode()
        for name in ("LICENSE", "NOTICE"):
            assert archive.read(f"{about}/licenses/{name}") == (ROOT / name).read_bytes()
        archive.extractall(tmp_path)
    assert "License-Expression: Apache-2.0\n" in told
    main = [sys.executable, tmp_path / "streaming" / "__main__.py", "--version"]  # as spark-submit is given it
    done = subprocess.run(main, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.fullmatch(said_version(git(copy, "rev-parse", "--short=12", "HEAD")), done.stdout)
    assert git(copy, "status", "--porcelain") == ""
    assert not (copy / "streaming" / "commit.txt").exists()


def of_a_run(name: str) -> bool:
    """Whether it has the lines of an endurance run."""
    return name.endswith(".tar.xz")


@pytest.mark.deep("a wheel and a sdist are built and installed")
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


@pytest.mark.deep("a wheel and a sdist are built and installed")
def test_each_file_of_a_release_has_its_checksum(dist: Path) -> None:
    names = {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    ends = ("-py3-none-any.whl", ".tar.gz", ".cdx.json")
    of_this_version = {f"evenkeel_rocketmq-{built_version(dist)}{end}" for end in ends}
    assert names == {"requirements.txt", *of_this_version}
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=dist, capture_output=True, text=True, check=True)
    assert {line.removesuffix(": OK") for line in checked.stdout.splitlines()} == names


@pytest.mark.deep("a wheel and a sdist are built and installed")
def test_the_bill_of_materials_has_what_is_installed_and_fetched_and_nothing_else(dist: Path) -> None:
    bill = bill_in(dist)
    root = bill["metadata"]["component"]
    assert (bill["bomFormat"], root["name"], root["version"]) == ("CycloneDX", "evenkeel-rocketmq", __version__)
    packages = {one["purl"] for one in bill["components"] if "hashes" not in one}
    pins = re.findall(r"(?m)^([a-z]\S*)==(\S+)", (ROOT / "requirements.txt").read_text())
    assert packages == {f"pkg:pypi/{name}@{pin}" for name, pin in pins}
    assert not any(purl.startswith(("pkg:pypi/pytest@", "pkg:pypi/setuptools@")) for purl in packages)
    assert f"pkg:pypi/pyspark@{version('pyspark')}" in packages
    jars = {(one["purl"], checksum_in(one)) for one in bill["components"] if "hashes" in one}
    pinned = {jar for jars in all_pinned().values() for jar in jars}
    assert {(re.sub("^pkg:maven/(.+)/(.+)@", r"\1:\2:", purl), known) for purl, known in jars} == pinned
    (needs,) = bill["dependencies"]
    assert (needs["ref"], needs["dependsOn"]) == (root["bom-ref"], [one["bom-ref"] for one in bill["components"]])


@pytest.mark.deep("a wheel and a sdist are built and installed")
def test_the_bill_of_materials_has_the_jars_inside_pyspark(dist: Path) -> None:
    bill = bill_in(dist)
    (inside,) = [one["components"] for one in bill["components"] if "components" in one]
    files = {
        f"{path.parents[1].name}/jars/{path.name}": path for path in Path(pyspark.__file__).parent.glob("jars/*.jar")
    }
    assert {one["bom-ref"] for one in inside} == files.keys()
    assert [one["bom-ref"] for one in inside if not one["purl"].startswith(f"pkg:maven/{one['group']}/")] == []
    (netty,) = [
        one for one in inside if one["bom-ref"].endswith("-linux-x86_64.jar") and one["name"].endswith("-epoll")
    ]
    assert netty["purl"].endswith(f"/netty-transport-native-epoll@{netty['version']}?classifier=linux-x86_64")
    (shaded,) = [one for one in inside if one["name"] == "hadoop-client-runtime"]  # names 70 others, and not itself
    assert shaded["purl"] == f"pkg:maven/org.apache.hadoop/hadoop-client-runtime@{shaded['version']}"
    assert checksum_in(shaded) == checksum(files[shaded["bom-ref"]])


def bill_in(dist: Path) -> dict[str, Any]:
    (file,) = dist.glob("*.cdx.json")
    bill: dict[str, Any] = json.loads(file.read_text())
    return bill


def checksum_in(component: dict[str, Any]) -> str:
    (one,) = component["hashes"]
    return str(one["content"])


@pytest.mark.deep("a wheel and a sdist are built and installed")
def test_the_man_page_has_every_command_with_its_example(dist: Path) -> None:
    with ZipFile(wheel_in(dist)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/share/man/man1/evenkeel.1")]
        page = archive.read(name).decode()
    shown = page.replace("\\-", "-").replace("\\\\", "\\")
    assert [name for name in COMMANDS if f"\n.SS \\fBevenkeel {name}\\fR\n" not in shown] == []
    assert [one.example for one in COMMANDS.values() if one.example not in shown] == []
    assert str(ROOT) not in page
    assert str(dist.parent) not in page
    assert re.findall(r"(?m)^'.*", page) == []  # roff takes such a line for a request


@pytest.mark.deep("a wheel and a sdist are built and installed")
def test_the_wheel_works_outside_a_checkout(dist: Path, tmp_path: Path) -> None:
    """With the packages of this environment; tests/e2e installs all of them anew, on each Python of the machine."""
    python = environment(tmp_path / "venv", sys.executable)
    with_packages_of_this_one(python)
    pip(python, "install", "--no-deps", wheel_in(dist))
    try_installed(python, tmp_path)
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "evenkeel.1").is_file()


@pytest.mark.deep("a wheel and a sdist are built and installed")
def test_a_build_of_uncommitted_changes_has_a_version_of_its_own_and_no_release_is_built_of_them(
    dist: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dist.parent, copy, symlinks=True)
    version = copy / "streaming" / "__init__.py"
    version.write_text('__version__ = "9.9.0.dev0"\n')
    package(copy).check_returncode()
    name = wheel_in(copy / "dist").name
    assert re.fullmatch(r"evenkeel_rocketmq-9\.9\.0\.dev0\+g[0-9a-f]{12}\.d\d{14}-py3-none-any\.whl", name)
    version.write_text('__version__ = "9.9.0"\n')
    assert "with uncommitted changes: commit them first" in package(copy).stderr
    make_repository(copy)
    assert "CHANGELOG.md has no heading '## 9.9.0 (YYYY-MM-DD)'" in package(copy).stderr
    shutil.rmtree(copy / ".git")
    assert "commit unknown: neither a checkout" in package(copy).stderr
    assert wheel_in(copy / "dist").name == name  # what is refused deletes nothing
