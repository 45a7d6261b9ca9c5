"""The image is built and runs without root, without any right, and with a read-only root file system.

``make test-container`` runs this: it takes minutes, and up to 8 GB of disk.
"""

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streaming.loopback import LoopbackKafka
from streaming.loopback.kafka import free_port
from streaming.wall_clock import now_ms
from tests.container.image import Container, Image, missing
from tests.e2e.hook import until
from tests.e2e.workload import PARTITIONS, recorded, send
from tests.release import said_version

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(1800)]
MOST_BYTES = 700e6  # unpacked, what the image is to have at most; docs/install.md has its size
PATIENCE_S = 600  # with a busy machine
ENDS_WITHIN_S = 40  # --stop-timeout in docs/install.md
Start = Callable[..., Container]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    if reason := missing():
        pytest.skip(reason)
    built = Image(tmp_path_factory.mktemp("image"))
    yield built
    built.remove()


@pytest.fixture
def start(image: Image, tmp_path: Path) -> Iterator[Start]:
    begun: list[Container] = []
    (tmp_path / "volume").mkdir()
    (tmp_path / "configuration").mkdir()

    def begin(*words: str) -> Container:
        begun.append(Container(image, tmp_path / "volume", tmp_path / "configuration", words))
        return begun[-1]

    yield begin
    for container in begun:
        container.close()


def test_it_is_small(image: Image) -> None:
    used = subprocess.run(["du", "-sb", image.root], capture_output=True, text=True, check=True)
    assert int(used.stdout.split()[0]) < MOST_BYTES
    assert list(image.root.glob("opt/evenkeel/jars/kafka_*")) == []  # the demo's


def test_the_first_commands_work_and_write_nothing_outside_the_volume(start: Start) -> None:
    version = start("--version")
    assert version.wait(PATIENCE_S) == 0
    assert re.fullmatch(said_version("[0-9a-f]{12}( with uncommitted changes)?"), version.log)
    assert start("config", "export", "files").wait(PATIENCE_S) == 0
    assert start("check-config", "files/evenkeel.toml").wait(PATIENCE_S) == 0
    refused = start("config", "export", "/etc/evenkeel")
    assert refused.wait(PATIENCE_S) == 2
    assert "Read-only file system" in refused.log


def test_the_job_runs_is_healthy_and_ends_at_sigterm(start: Start, kafka: LoopbackKafka, tmp_path: Path) -> None:
    kafka.create_topic("from-a-container", PARTITIONS)
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "configuration" / "evenkeel.toml").write_text(
        f'[source]\nbootstrap_servers = "{kafka.bootstrap_servers}"\ntopic = "from-a-container"\n'
        f'[metrics]\nlisten = "{address}"\n[job]\nshards = 4\nprojection_seconds = 1\n'
    )
    send(kafka, "from-a-container", recorded("container", now_ms(), names=("d_sameid",)))
    job = start("run", "--config", "/etc/evenkeel/evenkeel.toml")
    findings = tmp_path / "volume" / "data" / "tables" / "queue_findings" / "_delta_log"
    until(lambda: len(list(findings.glob("*.json"))) > 1 or not job.is_running(), PATIENCE_S, "findings are written")
    assert job.is_running(), job.log
    assert job.first.name() == "tini"
    assert {uid for process in [job.first, *job.first.children(recursive=True)] for uid in process.uids()} == {10001}
    assert job.is_healthy(f"http://{address}/healthz")
    assert not job.is_healthy(f"http://127.0.0.1:{free_port()}/healthz")
    job.first.send_signal(signal.SIGTERM)
    assert job.wait(ENDS_WITHIN_S) == 0, job.log
    for command in ("maintain", "rebuild"):  # Spark and Delta by other paths, of which no jar may be missing
        work = start(command, "--config", "/etc/evenkeel/evenkeel.toml")
        assert work.wait(PATIENCE_S) == 0, work.log
    assert {path.stat().st_uid for path in (tmp_path / "volume").rglob("*")} == {10001}
