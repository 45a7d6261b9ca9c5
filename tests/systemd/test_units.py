"""The units in deploy/systemd: what systemd's own checks say of them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
MOST_EXPOSURE = 2.0
OF_JAVA = {"MemoryDenyWriteExecute=no", "SystemCallFilter=setpriority"}

needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing: apt-get install systemd"
)


def lines(unit: Path) -> list[str]:
    return [line for line in unit.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def test_each_service_has_its_unit() -> None:
    assert [unit.stem for unit in UNITS] == [f"evenkeel-{name}" for name in ("collect", "notify", "run", "web")]


@needs_analyze
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_it_is_hardly_exposed(unit: Path) -> None:
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert exposure is not None, said
    assert float(exposure[1]) <= MOST_EXPOSURE, said


@needs_analyze
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_has_nothing_to_say_against_it(unit: Path, tmp_path: Path) -> None:
    """With a program that is there."""
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text("utf-8").replace("/opt/evenkeel/bin/evenkeel", sys.executable))
    words = ["systemd-analyze", "verify", "--man=no", str(copy)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_all_share_one_sandbox_but_for_java() -> None:
    """A key that is added to one is added to all."""
    own = re.compile(r"Description=|ExecStart=|TimeoutStartSec=")
    shared = {unit.stem: {line for line in lines(unit) if not own.match(line)} for unit in UNITS}
    run = shared.pop("evenkeel-run")
    assert run - OF_JAVA == shared["evenkeel-web"] - {"MemoryDenyWriteExecute=yes"}
    assert run >= OF_JAVA
    assert shared["evenkeel-collect"] == shared["evenkeel-notify"] == shared["evenkeel-web"]


def test_only_what_is_refused_again_prevents_a_restart() -> None:
    """Two may wait for each other (``--standby``): the one that lost its lease must start again after a 4."""
    for unit in UNITS:
        assert {"Restart=on-failure", "RestartPreventExitStatus=2", "Type=notify"} <= set(lines(unit))
