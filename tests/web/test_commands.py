"""The commands on the pages, typed as they stand there."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from streaming.config.alerts import Alerts
from streaming.config.sections import Config, Notify, Tables
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.settings import started_as, web_settings
from tests.web.asking import ask

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r'<code class="command">(.*?)</code><button type="button" class="copy"')


@pytest.mark.slow("facts of a day are read, or a browser is started")
def test_what_to_do_next_works_as_pasted(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "my tables").symlink_to(tables)
    config = Config(tables=Tables(path=str(tmp_path / "my tables")), notify=Notify(state=str(tmp_path / "notifier")))
    settings = web_settings(config, Alerts())
    program = started_as(str(ROOT / "streaming" / "__main__.py"))
    settings = settings._replace(site=settings.site._replace(program=program, is_played=True))
    watch = Watch(settings.tables)
    watch.read()
    (alert, *_) = (one for one in watch.known.alerts.values() if one.fact.state == "firing")
    page = ask(web_app(settings, watch), f"/alert?id={alert.fact.fingerprint}").text
    command = html.unescape(COMMAND.findall(page)[0])
    assert command.startswith(f"{quote(sys.executable)} -m streaming explain {alert.group} --cluster {alert.cluster}")
    done = subprocess.run(
        ["bash", "-c", command], cwd="/", env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert alert.group in done.stdout


def test_evenkeel_is_named_as_it_can_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bin dir" / "evenkeel"
    program.parent.mkdir()
    program.touch(mode=0o755)
    assert started_as(str(program)) == quote(str(program))
    monkeypatch.setenv("PATH", str(program.parent))
    assert started_as(str(program)) == "evenkeel"
    assert started_as("/usr/bin/pytest") == "evenkeel"
