"""The image is built and runs without root, without any right, and with a read-only root file system.

``make package`` runs this, so that no release is without it: it takes minutes, and up to 8 GB of disk.
"""

import json
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streaming.loopback import LoopbackKafka
from streaming.loopback.ports import free_port
from streaming.wall_clock import now_ms
from testing.waiting import until
from testing.workload import PARTITIONS, recorded, send
from tests.container.image import ROOT, Container, Image, missing
from tests.release import said_version

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow("a Spark of its own"), pytest.mark.timeout(1800)]
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


def test_nobody_becomes_another_user_in_it(image: Image) -> None:
    files = [path for path in image.root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(files) > 1000
    assert [path for path in files if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)] == []


def test_it_has_the_licences_of_what_it_hands_on(image: Image) -> None:
    of_debian = {path.parent.name for path in image.root.glob("usr/share/doc/*/copyright")}
    assert {"bash", "coreutils", "gcc-14-base", "libc6", "python3.13-minimal", "tini"} <= of_debian
    assert "GNU General Public License" in (image.root / "opt/java/legal/java.base/LICENSE").read_text()
    (packages,) = image.root.glob("opt/evenkeel/lib/python3.*/site-packages")
    assert "Apache License" in (packages / "pyspark" / "LICENSE").read_text()
    assert "Apache Spark" in (packages / "pyspark" / "NOTICE").read_text()
    (ours,) = packages.glob("evenkeel_rocketmq-*.dist-info/licenses")
    for name in ("LICENSE", "NOTICE"):
        assert (ours / name).read_bytes() == (ROOT / name).read_bytes()


def test_a_layer_has_evenkeel_alone(image: Image) -> None:
    """So a new version of evenkeel, with the same libraries, is a small pull."""
    libraries, ours = image.layers
    assert libraries > 30 * ours


@pytest.mark.skipif(shutil.which("syft") is None, reason="syft is not installed")
def test_its_bill_of_materials_has_debian_java_python_and_jars(image: Image) -> None:
    bill = json.loads((ROOT / "dist" / "image.cdx.json").read_text())
    purls = {one.get("purl", "").partition("@")[0] for one in bill["components"]}
    assert {"pkg:deb/debian/libc6", "pkg:pypi/pyspark", "pkg:maven/org.apache.kafka/kafka-clients"} <= purls
    assert any(purl.endswith("/openjdk") for purl in purls)
    assert "pkg:deb/debian/apt" not in purls


def test_it_sends_to_chat(start: Start, tmp_path: Path) -> None:
    configuration = tmp_path / "configuration"
    (configuration / "evenkeel.toml").write_text('[notify]\nalerts = "/etc/evenkeel/alerts.toml"\n')
    (configuration / "address").write_text("dingtalk://token\n")
    (configuration / "alerts.toml").write_text(
        '[[sinks]]\nname = "chat"\nkind = "dingtalk"\nsecret = { file = "/etc/evenkeel/address" }\n'
        '[[routes]]\nsinks = ["chat"]\n'
    )
    check = start("config", "check", "/etc/evenkeel/evenkeel.toml")
    assert check.wait(PATIENCE_S) == 0, check.log


def test_the_first_commands_work_and_write_nothing_outside_the_volume(start: Start) -> None:
    version = start("--version")
    assert version.wait(PATIENCE_S) == 0
    assert re.fullmatch(said_version("[0-9a-f]{12}( with uncommitted changes)?"), version.log)
    assert start("config", "export", "files").wait(PATIENCE_S) == 0
    assert start("config", "check", "files/evenkeel.toml").wait(PATIENCE_S) == 0
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
