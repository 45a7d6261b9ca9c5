"""SIGHUP: what may change while a process runs, what may not, and what its log says."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from streaming.cli.reload import READ_ONCE_BY_PAGES, Reload
from streaming.config.alerts import Alerts
from streaming.config.load import load_alerts, load_config
from streaming.config.sections import Config
from streaming.errors import ConfigError
from testing.http_server import Server
from testing.process_session import HEARS_SIGHUP
from testing.waiting import until
from testing.written import commit
from tests.notifier.facts import alert, health

ROOT = Path(__file__).parents[2]
RULES = '[pages]\nwait_seconds = 0\n[[sinks]]\nname = "hook"\nkind = "webhook"\nurl = "{url}"\n'


def configured(folder: Path, more: str = "", level: str = "INFO") -> Path:
    path = folder / "x.toml"
    path.write_text(
        f'[tables]\npath = "{folder}/tables"\n[notify]\nalerts = "{folder}/alerts.toml"\nstate = "{folder}/state"\n'
        f'[log]\nlevel = "{level}"\n{more}'
    )
    return path


@contextmanager
def started(folder: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process without a terminal, as a service is."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "log").open("w") as log:
        command = [*HEARS_SIGHUP, sys.executable, "-m", "streaming", *words]
        process = subprocess.Popen(command, env=environment, cwd=folder, stderr=log, start_new_session=True)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (folder / "log").read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow("processes are started")
def test_a_notifier_takes_other_rules_and_refuses_all_else_at_once(tmp_path: Path) -> None:
    now = int(time.time())
    facts, rules, log = tmp_path / "tables" / "facts", tmp_path / "alerts.toml", tmp_path / "log"
    commit(facts, [replace(fact, ts=now * 1000) for fact in (health(), alert())])

    def told() -> str:
        """What the notifier says of one more SIGHUP."""
        known = said(log)
        process.send_signal(signal.SIGHUP)
        until(lambda: len(said(log)) > len(known))
        return said(log)[-1]

    with Server() as first, Server() as second:
        rules.write_text(RULES.format(url=first.url))
        with started(tmp_path, "notify", "--config", str(configured(tmp_path))) as process:
            until(lambda: first.taken)

            configured(tmp_path, "[job]\nshards = 0\n[source]\ntopik = 1\n")
            rules.write_text(RULES.format(url=second.url) + 'languag = "en"\n')
            line = told()
            assert "nothing was taken over, and this process goes on as before: " in line
            for fault in ("job.shards = 0: a whole number", "source.topik", "sinks[0].languag"):
                assert fault in line

            configured(tmp_path, '[job]\nshards = 7\n[web]\nlisten = "127.0.0.1:8401"\n')
            rules.write_text(RULES.format(url=second.url))
            assert "goes on as before: job.shards, web.listen changed" in told()

            commit(facts, [replace(alert(group="h", seq=2), ts=now * 1000)])
            until(lambda: len(first.taken) == 2)
            assert not second.taken, "nothing was changed"

            configured(tmp_path, level="DEBUG")
            assert told().endswith("SIGHUP: taken over: log.level, sinks")
            until(lambda: log.read_text().count("pages go to: hook") == 2)
            commit(facts, [replace(alert(group="i", seq=3), ts=now * 1000)])
            until(lambda: second.taken)
            configured(tmp_path, level="ERROR")
            assert told().endswith("SIGHUP: taken over: log.level")
        assert [got.json["groups"] for got in first.taken] == [["g"], ["h"]]
        assert [got.json["groups"] for got in second.taken] == [["i"]], "what was sent is not sent again"


def said(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if "SIGHUP: " in line]


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
    one.read_once = READ_ONCE_BY_PAGES
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
