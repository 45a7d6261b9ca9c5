"""``evenkeel doctor`` as a whole: a cluster on loopback, and nothing else there yet."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.cli import main
from testing.fake_rocketmq import FakeCluster, FakeNode, served, two_clients
from testing.http_server import Server

ROOT = Path(__file__).parents[2]
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.setattr(FakeNode, "replicas", lambda node: [(0, node.address)])
    with served(two_clients()) as fake:
        yield fake


def written(folder: Path, servers: str, more: str = "") -> str:
    path = folder / "my.toml"
    (folder / "in").mkdir(exist_ok=True)
    path.write_text(
        f'[collector]\nclusters = {{ prod = "{servers}" }}\nstate = "{folder}/collector"\noutput = "file"\n'
        f'[source]\nkind = "files"\nfolder = "{folder}/in"\n[tables]\npath = "{folder}/t"\n'
        f'[job]\ncheckpoint = "{folder}/c"\n[notify]\nstate = "{folder}/n"\n{more}'
    )
    return str(path)


@pytest.mark.slow("processes are started")
def test_before_anything_else_is_installed(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["doctor", "--config", written(tmp_path, cluster.namesrv[0])]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "broker" in said.out
    assert "V5_3_3" in said.out
    assert "there are no tables yet" in " ".join(said.out.split())  # a long path breaks the line
    assert len(said.out.splitlines()) < 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "my.toml"], "nothing is written"


@pytest.mark.slow("a tenth of a second of work and more")
def test_something_is_wrong(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["doctor", "--config", written(tmp_path, f"{NOWHERE};{cluster.namesrv[0]}"), "--for", "collect", "--json"]
    assert main(words) == 1
    report = json.loads(capsys.readouterr().out)
    (wrong,) = [check for check in report["checks"] if check["verdict"] == "wrong"]
    assert (wrong["area"], wrong["what"], wrong["where"]) == ("rocketmq", "name server", f"prod {NOWHERE}")
    assert wrong["mend"]
    assert {check["area"] for check in report["checks"]} == {"machine", "kafka", "rocketmq", "upgrade", "processes"}


def test_configuration_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--config", written(tmp_path, NOWHERE, "[log]\nlevel = 'x'\n")]) == 2
    assert "log.level" in capsys.readouterr().err


@pytest.mark.slow("processes are started")
def test_package_that_cannot_be_imported_costs_only_what_needs_it() -> None:
    program = (
        "import sys; sys.modules['deltalake'] = None; from streaming.cli import main; "
        "sys.exit(main(['doctor', '--for', 'collect', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    areas = {check["area"]: check["verdict"] for check in json.loads(done.stdout)["checks"]}
    assert (areas["machine"], areas["rocketmq"]) == ("unknown", "unknown")
    assert "kafka" in areas


def with_sink(folder: Path, url: str) -> str:
    (folder / "alerts.toml").write_text(f'[[sinks]]\nname = "hook"\nkind = "webhook"\nurl = "{url}"\n')
    path = Path(written(folder, NOWHERE))
    path.write_text(path.read_text().replace("[notify]\n", f'[notify]\nalerts = "{folder}/alerts.toml"\n'))
    return str(path)


@pytest.mark.slow("processes are started")
def test_sinks_are_reached_without_a_page_and_paged_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with Server() as server:
        words = ["doctor", "--config", with_sink(tmp_path, server.url), "--for", "notify", "--json"]
        main(words)
        assert "no page was sent" in _of_sink(capsys)["found"]
        assert server.got == []
        main([*words, "--page"])
        assert _of_sink(capsys)["found"].startswith("took the test page")
        assert [one.json["status"] for one in server.got] == ["firing", "resolved"]
    assert main(words) == 1
    assert _of_sink(capsys)["verdict"] == "wrong"


def _of_sink(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    (found,) = [check for check in json.loads(capsys.readouterr().out)["checks"] if check["what"] == "sink"]
    return found
