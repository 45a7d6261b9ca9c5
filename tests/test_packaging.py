"""What is installed is this project: `streaming` is also the import name of another package."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from streaming import __version__

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
    assert done.stdout.split() == ["evenkeel", __version__]


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


@pytest.mark.slow
def test_wheel_carries_all_code_and_data(tmp_path: Path) -> None:
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, tmp_path)
    for folder in ("streaming", "schemas", "conf", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, tmp_path]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob(f"evenkeel_rocketmq-{__version__}-*.whl")
    files = [path for folder in ("streaming", "schemas", "conf", "docs") for path in (tmp_path / folder).rglob("*")]
    expected = {str(path.relative_to(tmp_path)) for path in files if path.is_file()}
    carried = {re.sub("^streaming/(conf|docs)/", r"\1/", name) for name in ZipFile(wheel).namelist()}
    assert expected - carried == set()
    about = f"evenkeel_rocketmq-{__version__}.dist-info"
    with ZipFile(wheel) as archive:
        told = archive.read(f"{about}/METADATA").decode()
        assert archive.read(f"{about}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert "License-Expression: Apache-2.0\n" in told
    unpacked = tmp_path / "installed"
    ZipFile(wheel).extractall(unpacked)
    main = [sys.executable, unpacked / "streaming" / "__main__.py", "--version"]  # as spark-submit is given it
    done = subprocess.run(main, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == __version__


def test_the_changelog_has_a_heading_for_the_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert headings[1] == __version__


def test_the_license_stands_there_whole() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert [f"\n   {number}. " in text for number in range(1, 10)] == [True] * 9
    assert "END OF TERMS AND CONDITIONS" in text


def test_no_test_folder_is_a_package() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


@pytest.mark.parametrize("folder", ["conf", "docs"])
def test_data_is_found_through_the_package(folder: str) -> None:
    assert (ROOT / "streaming" / folder).resolve() == ROOT / folder


def test_every_pin_is_exact() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#") and "==" not in line.split(";")[0]] == []


def test_every_pin_has_hashes() -> None:
    """After a change of constraints.txt: scripts/pin_packages."""
    pins = {line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")}
    hashes: dict[str, list[str]] = {}
    lines = [line.removesuffix("\\").strip() for line in (ROOT / "hashes.txt").read_text().splitlines()]
    pin = ""
    for line in lines[1:]:
        if line.startswith("--hash="):
            hashes[pin].append(line)
        else:
            pin = line
            hashes[pin] = []
    assert lines[0].startswith("# ")
    assert hashes.keys() == pins
    found = [line for those in hashes.values() for line in those]
    assert all(hashes.values())
    assert [line for line in found if not re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line)] == []
