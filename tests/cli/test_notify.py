"""``evenkeel notify`` as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from streaming.cli import main
from streaming.notifier.keeping import folder_of_ones_own
from tests.notifier.making import alert, health
from tests.sinks.server import Server
from tests.tables.written import commit

RULES = """
[pages]
wait_seconds = 0
[[sinks]]
name = "hook"
kind = "webhook"
url = "{url}"
secret = {{ env = "HOOK_SECRET" }}
"""


def configured(folder: Path, url: str) -> Path:
    (folder / "alerts.toml").write_text(RULES.format(url=url))
    path = folder / "evenkeel.toml"
    path.write_text(
        f'[tables]\npath = "{folder}/tables"\n[job]\ncheckpoint = "{folder}/checkpoint"\n'
        f'[notify]\nalerts = "{folder}/alerts.toml"\nstate = "{folder}/state"\n'
    )
    return path


@pytest.mark.slow
def test_process_delivers_until_a_signal_and_shows_no_secret(tmp_path: Path) -> None:
    now = int(time.time())
    moved = [replace(fact, ts=now * 1000) for fact in (health(), alert())]
    commit(tmp_path / "tables" / "facts", moved)
    with Server() as server:
        path = configured(tmp_path, f"{server.url}/in")
        process = subprocess.Popen(
            [sys.executable, "-m", "streaming", "notify", "--config", str(path)],
            env=os.environ | {"HOOK_SECRET": "hunter2", "EVENKEEL__LOG__LEVEL": "DEBUG"},
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not server.taken and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert server.taken[0].json["groups"] == ["g"]
    assert "X-Evenkeel-Signature" in server.taken[0].headers
    assert "hunter2" not in said


def test_second_notifier_and_faulty_rules_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = configured(tmp_path, "http://127.0.0.1:1")
    monkeypatch.delenv("HOOK_SECRET", raising=False)
    for command in ("notify", "run"):
        assert main([command, "--config", str(path)]) == 2
        assert "the name of a variable that is set and not empty" in capsys.readouterr().err
    monkeypatch.setenv("HOOK_SECRET", "x")
    with folder_of_ones_own(tmp_path / "state"):
        assert main(["notify", "--config", str(path)]) == 2
    assert "another notifier delivers" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["notify", "run"])
def test_faults_of_both_files_are_told_at_once(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = configured(tmp_path, "ftp://127.0.0.1")
    path.write_text(path.read_text().replace("[job]", "[job]\nshards = 0"))
    monkeypatch.delenv("HOOK_SECRET", raising=False)
    assert main([command, "--config", str(path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" = ")[0].rpartition(": ")[2] for line in said] == [
        "job.shards", "sinks[0].url", "sinks[0].secret.env",
    ]  # fmt: skip
