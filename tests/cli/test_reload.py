"""``evenkeel reload`` and SIGHUP: what may change while a process runs, what may not, and what it answers."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from streaming.cli import main, reload
from streaming.cli.reload import Reload, reloaded_by_signal
from streaming.config.alerts import Alerts
from streaming.config.load import load_alerts, load_config
from streaming.config.sections import Config
from streaming.errors import AwayError, ConfigError
from tests.notifier.facts import alert, health
from tests.sinks.server import Server
from tests.tables.written import commit

ROOT = Path(__file__).parents[2]
RULES = '[pages]\nwait_seconds = 0\n[[sinks]]\nname = "hook"\nkind = "webhook"\nurl = "{url}"\n'


def configured(folder: Path, more: str = "", level: str = "INFO") -> Path:
    path = folder / "x.toml"
    path.write_text(
        f'[tables]\npath = "{folder}/tables"\n[notify]\nalerts = "{folder}/alerts.toml"\nstate = "{folder}/state"\n'
        f'[log]\nlevel = "{level}"\n{more}'
    )
    return path


def until(happens: Callable[[], object], within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def started(folder: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process without a terminal, as a service is."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", "streaming", *words]
        process = subprocess.Popen(command, env=environment, cwd=folder, stderr=log, start_new_session=True)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (folder / "log").read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_notifier_takes_other_rules_and_refuses_all_else_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = int(time.time())
    facts, rules, log = tmp_path / "tables" / "facts", tmp_path / "alerts.toml", tmp_path / "log"
    commit(facts, [replace(fact, ts=now * 1000) for fact in (health(), alert())])
    with Server() as first, Server() as second:
        rules.write_text(RULES.format(url=first.url))
        with started(tmp_path, "notify", "--config", str(configured(tmp_path))) as process:
            until(lambda: first.taken)
            pid = str(process.pid)

            configured(tmp_path, "[job]\nshards = 0\n[source]\ntopik = 1\n")
            rules.write_text(RULES.format(url=second.url) + 'languag = "en"\n')
            assert main(["reload", pid]) == 2
            told = capsys.readouterr().err
            for fault in ("job.shards = 0: a whole number", "source.topik", "sinks[0].languag"):
                assert fault in told

            configured(tmp_path, '[job]\nshards = 7\n[web]\nlisten = "127.0.0.1:8401"\n')
            rules.write_text(RULES.format(url=second.url))
            assert main(["reload", pid]) == 2
            told = capsys.readouterr().err
            assert f"evenkeel: process {pid} goes on as before: job.shards, web.listen changed" in told

            commit(facts, [replace(alert(group="h", seq=2), ts=now * 1000)])
            until(lambda: len(first.taken) == 2)
            assert not second.taken, "nothing was changed"

            configured(tmp_path, level="DEBUG")
            assert main(["reload", pid]) == 0
            until(lambda: log.read_text().count("pages go to: hook") == 2)
            commit(facts, [replace(alert(group="i", seq=3), ts=now * 1000)])
            until(lambda: second.taken)
            configured(tmp_path, level="ERROR")
            assert main(["reload", pid]) == 0
            lines = log.read_text()
        assert [got.json["groups"] for got in first.taken] == [["g"], ["h"]]
        assert [got.json["groups"] for got in second.taken] == [["i"]], "what was sent is not sent again"
    assert "SIGHUP: the configuration was read again" in lines
    assert log.read_text() == lines, "no INFO after the last reload"


def test_a_faulty_file_and_other_keys_change_nothing(tmp_path: Path) -> None:
    taken: list[Alerts] = []
    rules = tmp_path / "alerts.toml"
    rules.write_text("")
    path = configured(tmp_path)

    def read() -> tuple[Config, Alerts]:
        config = load_config(path, {}, ())
        return config, load_alerts(config, {})

    one = Reload(read)
    one.take = lambda config, alerts: taken.append(alerts)
    one.read_once = reload.READ_ONCE_BY_PAGES
    rules.write_text('[pages]\ntime_zone = "Asia/Shanghai"\n')
    with pytest.raises(ConfigError, match=r"^pages\.time_zone changed, which takes effect at a restart only"):
        one.reload()
    configured(tmp_path, "[source.kafka]\nclient.id = 'x'\n[[groups]]\ngroup = 'a'\n")
    with pytest.raises(ConfigError, match=r"^source\.kafka, groups, pages\.time_zone changed"):
        one.reload()
    assert taken == []
    configured(tmp_path)
    rules.write_text("[monitor]\nblind_seconds = 60\n")
    one.reload()
    one.reload()  # the same: a secret in a file may be new
    assert [alerts.monitor.blind_seconds for alerts in taken] == [60, 60]


def test_only_the_process_itself_can_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "ANSWER_WITHIN_S", 0.3)
    address = reload.address_of(1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as answers:
        answers.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        answers.bind(address)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.sendto(b"", address)
            other.sendto(b"refused", address)
        with pytest.raises(AwayError, match="process 1 has not answered"):
            reload.answer_of(1, answers)


def test_processes_that_are_not_there_take_none_or_are_asked_already(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reload, "_has_terminal", lambda: False)  # as of a service
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert main(["reload", str(ended.pid)]) == 2
    assert f"process {ended.pid} gets no signal from here: No such process" in capsys.readouterr().err
    with subprocess.Popen(["sleep", "60"]) as other:
        assert main(["reload", str(other.pid)]) == 2
        assert f"process {other.pid} takes no reload: " in capsys.readouterr().err
        assert other.poll() is None, "the signal would have ended it"
        other.kill()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asks, reloaded_by_signal(list):
        asks.bind(reload.address_of(os.getpid()))
        assert main(["reload", str(os.getpid())]) == 4
