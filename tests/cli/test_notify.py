"""``evenkeel notify`` as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from streaming.cli import main
from streaming.config.load import load_alerts, load_config
from streaming.notices.notice import Site
from streaming.notifier.from_config import notifier_settings
from streaming.notifier.state_files import locked_folder
from streaming.tables.storage import mark_replayed
from testing.http_server import Answer, Server
from testing.written import commit
from tests.notifier.facts import alert, health

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


@pytest.mark.slow("processes are started")
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
    with locked_folder(tmp_path / "state"):
        assert main(["notify", "--config", str(path)]) == 4
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


def test_test_page_goes_through_every_destination_and_says_what_came_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "hunter2")
    with Server() as takes, Server(always=Answer(403, b"no such token")) as refuses:
        path = configured(tmp_path, f"{takes.url}/in")
        more = [
            f'[[sinks]]\nname = "am"\nkind = "alertmanager"\nurl = "{takes.url}"\n',
            f'[[sinks]]\nname = "broken"\nkind = "webhook"\nurl = "{refuses.url}/x"\n',
            '[[sinks]]\nname = "gone"\nkind = "webhook"\nurl = "http://127.0.0.1:1"\n[[sinks]]\nname = "log"\n',
            '[[routes]]\nseverities = ["critical"]\nsinks = ["hook", "am", "broken", "gone"]\n[[routes]]\nsinks = []\n',
        ]
        with (tmp_path / "alerts.toml").open("a") as rules:
            rules.writelines(more)
        with locked_folder(tmp_path / "state"):  # beside a notifier that delivers
            assert main(["notify", "--test", "--config", str(path)]) == 1
        said = capsys.readouterr()
        assert said.out.splitlines() == [
            'hook: taken: 127.0.0.1 answered 200 {"status":"success"}',
            'am: taken: 127.0.0.1 answered 200 {"status":"success"}',
            "broken: NOT TAKEN: 127.0.0.1 answered 403: no such token",
            "gone: NOT TAKEN: 127.0.0.1 cannot be reached",
            "log: taken: written to the log; but no route names it: no page ever goes there",
        ]
        assert len(refuses.got) == 1, "tried once"
    hooked = [got.json for got in takes.taken if got.path == "/in"]
    assert [one["status"] for one in hooked] == ["firing", "resolved"]
    assert hooked[0]["key"] == hooked[1]["key"]
    assert hooked[0]["trouble"]["kind"] == "test"
    assert hooked[0]["title"] == "[WARNING] evenkeel: this is a test page, nothing is wrong"
    alerted = [got.json[0] for got in takes.taken if got.path == "/api/v2/alerts"]
    assert alerted[1]["endsAt"] < alerted[0]["endsAt"], "nothing is left to fire"
    assert not (tmp_path / "state" / "position.json").exists()


def test_test_page_that_all_took_ends_with_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "hunter2")
    with Server() as server:
        assert main(["notify", "--test", "--config", str(configured(tmp_path, server.url))]) == 0


def test_tables_of_a_replay_page_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "x")
    path = configured(tmp_path, "http://127.0.0.1:1")
    (tmp_path / "tables").mkdir()
    mark_replayed(tmp_path / "tables", "evenkeel replay")
    assert main(["notify", "--config", str(path)]) == 2
    assert f"the tables in {tmp_path}/tables were made by 'evenkeel replay'" in capsys.readouterr().err


def test_page_names_the_configuration_and_its_name_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "x")
    path = configured(tmp_path, "http://127.0.0.1:1")
    path.write_text(path.read_text() + '[collector]\nclusters = { prod = "n1:9876;n2:9876" }\n')
    rules = '[pages]\nwait_seconds = 0\ntime_zone = "Asia/Shanghai"\ndocs = "https://x/docs/"\n'
    (tmp_path / "alerts.toml").write_text(rules)
    monkeypatch.chdir(tmp_path)
    config = load_config(Path("evenkeel.toml"))
    plan = notifier_settings(config, load_alerts(config), file=Path("evenkeel.toml"))
    assert plan.site == Site(str(path), {"prod": "n1:9876;n2:9876"}, ZoneInfo("Asia/Shanghai"), "https://x/docs")
    (tmp_path / "alerts.toml").write_text("")
    site = notifier_settings(config, load_alerts(config)).site
    folders = {"tables": str(tmp_path / "tables"), "state": str(tmp_path / "state")}
    assert site == Site("", {"prod": "n1:9876;n2:9876"}, None, "docs", **folders)
