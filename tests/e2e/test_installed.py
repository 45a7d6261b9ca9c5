"""The wheel in a fresh environment of each supported Python of this machine, with all that it needs, and no network."""

import shutil
import subprocess
from pathlib import Path

import pytest

from streaming.jvm.jars import cache_dir
from streaming.jvm.java import java_home
from tests.release import OUTSIDE, built, environment, installed, pip, pythons, try_installed, wheel_in

pytestmark = [
    pytest.mark.spark,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(1800),
]
CAN_CUT_THE_NETWORK = subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("release"))


@pytest.mark.parametrize("python_of_the_machine", pythons())
def test_the_wheel_with_all_that_it_needs_works_alone(python_of_the_machine: str, dist: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv", python_of_the_machine)
    pip(python, "install", "--require-hashes", "-r", dist / "requirements.txt")
    pip(python, "install", "--no-deps", wheel_in(dist))
    pip(python, "check")
    try_installed(python, tmp_path)

    shutil.copytree(cache_dir() / "jars", tmp_path / "jars")
    assert installed(python, "jars", "fetch", "--to", "jars", cwd=tmp_path).returncode == 0
    (tmp_path / "my.toml").write_text('[spark]\njars_folder = "jars"\n')
    docs = Path(installed(python, "--help", cwd=tmp_path).stdout.rpartition("docs/: ")[2].strip())
    recording = docs.parent / "demo" / "recordings" / "d_sameid.jsonl.gz"
    replay = ["env", f"JAVA_HOME={java_home()}", "EVENKEEL_CACHE=/dev/null", python.parent / "evenkeel", "replay"]
    alone = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] if CAN_CUT_THE_NETWORK else []
    command = [*alone, *replay, recording, "--config", "my.toml", "--tables", "tables"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=OUTSIDE)
    assert done.returncode == 0, done.stderr
    assert "SAME_CLIENT_ID" in done.stdout
    assert (tmp_path / "tables" / "queue_assignments").is_dir()
    shutil.rmtree(python.parents[1])  # over 1 GB, which pytest would keep
