"""What is installed is this project: `streaming` is also the import name of another package."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import date
from importlib.metadata import distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from streaming import __version__
from tests.release import SUPPORTED

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", ["streaming", "schemas"])
def test_packages_resolve_to_this_project(package: str) -> None:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin == str(ROOT / package / "__init__.py")


def test_console_script_runs_our_main() -> None:
    scripts = distribution("evenkeel-rocketmq").entry_points.select(group="console_scripts", name="evenkeel")
    assert [script.value for script in scripts] == ["streaming.cli:main"]
    done = subprocess.run([sys.executable, "-m", "streaming", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == ["evenkeel", __version__]


@pytest.mark.slow("a tenth of a second of work and more")
def test_nobody_is_sent_to_a_package_of_another_project() -> None:
    """PyPI's evenkeel is not this one. What is installed beside ours is named itself."""
    folders = ("streaming", "conf", "docs", "scripts", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = {path: path.read_bytes() for path in [*files, *ROOT.glob("*.md"), ROOT / "pyproject.toml"]}
    stranger = re.compile(rb"install '?evenkeel(?!_rocketmq|-rocketmq)\b|\bevenkeel\[\w")
    assert [str(path) for path, text in texts.items() if stranger.search(text)] == []


def test_every_folder_of_code_is_a_package() -> None:
    folders = {path.parent for top in ("streaming", "schemas") for path in (ROOT / top).rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.slow("a tenth of a second of work and more")
def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    """What comes only because another package needs it may be gone with that one's next version."""
    ours = {"streaming", "schemas"}
    trees = [ast.parse(path.read_text("utf-8")) for top in ours for path in (ROOT / top).rglob("*.py")]
    imported = {name.partition(".")[0] for tree in trees for name in _imports(tree)} - ours - sys.stdlib_module_names
    assert {"pyspark", "deltalake", "apprise"} <= imported
    owners = packages_distributions()
    used = {canonicalize_name(owner) for name in imported for owner in owners.get(name, [name])}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed, *extras = [
        {canonicalize_name(Requirement(line).name) for line in lines}
        for lines in (project["dependencies"], *project["optional-dependencies"].values())
    ]
    assert used - needed.union(*extras) == set()
    assert needed - used == set()


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def newest_release() -> Version:
    """By the changelog, which begins with what is not released."""
    headings = re.findall(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert headings[0] == "Unreleased"
    return Version(headings[1])


def test_the_version_is_the_newest_release_or_what_comes_next() -> None:
    """So no two commits that users install have one version (docs/architecture.md)."""
    version = Version(__version__)
    assert version == newest_release() or (version.is_devrelease and version > newest_release())


@pytest.mark.parametrize("page", ["install.md", "install.zh-CN.md"])
def test_the_docs_name_the_files_of_the_newest_release(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert set(re.findall(r"evenkeel_rocketmq-(\d+\.\d+\.\d+)", text)) == {str(newest_release())}


def test_each_release_has_its_date_the_newest_first() -> None:
    """``scripts/package`` takes the date from there."""
    headings = re.findall(r"(?m)^## (?!Unreleased)(.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    releases = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in headings]
    assert None not in releases
    versions = [tuple(map(int, one.groups()[:3])) for one in releases if one]
    dates = [date.fromisoformat(one[4]) for one in releases if one]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_the_classifiers_name_the_supported_pythons_and_let_it_be_published() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = "Programming Language :: Python :: "
    named = [one.removeprefix(python) for one in project["classifiers"] if one.startswith(python)]
    assert named == ["3 :: Only", *SUPPORTED]
    assert "Operating System :: POSIX :: Linux" in project["classifiers"]
    assert [one for one in project["classifiers"] if one.startswith(("Private", "License"))] == []  # licence: SPDX


def test_one_line_says_that_the_address_is_to_be_filled_in() -> None:
    """Nobody knows yet where the repository will be."""
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "deploy").rglob("*.md"),
        ROOT / "pyproject.toml",
    ]
    said = [
        str(page.relative_to(ROOT))
        for page in pages
        for line in page.read_text("utf-8").splitlines()
        if re.search(r"\bADDRESS\b", line)
    ]
    assert said == ["README.md"]


def test_the_license_stands_there_whole() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert [f"\n   {number}. " in text for number in range(1, 10)] == [True] * 9
    assert "END OF TERMS AND CONDITIONS" in text


def test_no_test_folder_is_a_package() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


@pytest.mark.parametrize(("link", "folder"), [("conf", "conf"), ("docs", "docs"), ("units", "deploy/systemd")])
def test_data_is_found_through_the_package(link: str, folder: str) -> None:
    assert (ROOT / "streaming" / link).resolve() == ROOT / folder


def pins(name: str) -> dict[str, list[str]]:
    """The hashes of each pin of a file that ``make pins`` writes. A pin names the Pythons or systems that it is for."""
    found: dict[str, list[str]] = {}
    pin = ""
    for line in (ROOT / name).read_text().splitlines():
        words = line.removesuffix("\\").strip()
        if words.startswith("--hash="):
            found[pin].append(words)
        elif not words.startswith("#"):
            pin = words
            found[pin] = []
    return found


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-build.txt", "requirements-dev.txt"])
def test_every_pin_is_exact_and_has_hashes(name: str) -> None:
    """After a change of pyproject.toml: make pins."""
    found = pins(name)
    assert [pin for pin in found if not re.match(r"[a-z0-9-]+==[^ ]+($| ; )", pin)] == []
    assert [pin for pin, hashes in found.items() if not hashes] == []
    assert [
        one for hashes in found.values() for one in hashes if not re.fullmatch("--hash=sha256:[0-9a-f]{64}", one)
    ] == []


def test_tests_run_with_the_pins_of_users() -> None:
    of_tests = pins("requirements-dev.txt")
    for name in ("requirements.txt", "requirements-build.txt"):
        assert pins(name).items() <= of_tests.items()
    assert not any(pin.startswith("pytest==") for pin in pins("requirements.txt"))
