"""The statuses that commands end with, and the page that tells of them."""

import getpass
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streaming import errors
from streaming.cli import exit_status, main, version
from streaming.cli.exit_status import status_of
from streaming.errors import MonitorError
from testing.process_session import HEARS_SIGHUP

ROOT = Path(__file__).parents[2]
NOWHERE = "127.0.0.1:1"


def test_page_tells_of_every_status_and_of_no_other() -> None:
    page = (ROOT / "docs" / "exit-status.md").read_text("utf-8")
    told = [number for row in re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE) for number in row.split(", ")]
    known = {value for name, value in vars(exit_status).items() if name.isupper() and type(value) is int}
    assert sorted(map(int, told)) == sorted(known)


def test_every_error_has_its_status() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MonitorError)]
    by_name = {kind.__name__: status_of(kind.__new__(kind)) for kind in kinds}
    others = {"MonitorError": 5, "AwayError": 3, "PublishError": 3, "InUseError": 4}
    assert by_name == {**dict.fromkeys(by_name, 2), **others}


def test_configuration_that_is_refused_ends_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[job]\nshards = 0\n")
    for words in (["config", "check", str(path)], ["run", "--config", str(path)], ["collect", "--config", str(path)]):
        assert main(words) == 2
        said = capsys.readouterr()
        assert "job.shards = 0: a whole number from 1 to 4096" in said.out + said.err


def test_kafka_that_is_away_is_no_bad_configuration(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENKEEL__SOURCE__BOOTSTRAP_SERVERS", NOWHERE)
    assert main(["forget", "g", "--cluster", "c"]) == 3
    assert f"at {NOWHERE}" in capsys.readouterr().err


def test_fault_of_our_own_is_no_finding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(version, "lines", lambda: [][0])
    assert main(["--version"]) == 70
    assert "IndexError" in capsys.readouterr().err


def test_user_without_a_name_can_forget(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 54321")

    monkeypatch.setattr(getpass, "getuser", nobody)
    (tmp_path / "x.toml").write_text(f'[source]\nkind = "files"\nfolder = "{tmp_path}"\n')
    assert main(["forget", "g", "--cluster", "c", "--config", str(tmp_path / "x.toml")]) == 0
    (told,) = tmp_path.glob("forget-*.jsonl")
    assert f"user {os.getuid()}@" in told.read_text()


@pytest.mark.slow("a process")
def test_run_tells_kafka_that_is_away_from_a_bad_configuration(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        f'[source]\nbootstrap_servers = "{NOWHERE}"\n[tables]\npath = "{tmp_path}/t"\n'
        f'[job]\ncheckpoint = "{tmp_path}/c"\n[notify]\nstate = "{tmp_path}/n"\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "streaming", "run", "--config", str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert f"evenkeel: Kafka at {NOWHERE} does not answer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow("a Spark of its own")
def test_tables_that_are_away_are_no_bad_configuration(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://no-such-host.invalid")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ALLOW_HTTP"):
        monkeypatch.setenv(name, "true")
    assert main(["web", "--tables", "s3://bucket/tables", "--listen", "127.0.0.1:0"]) == 3
    assert "s3://bucket/tables cannot be used: Generic S3 error: Name or service not known" in capsys.readouterr().err


@pytest.mark.deep("a job of its own")
@pytest.mark.slow("a Spark of its own")
@pytest.mark.spark
def test_signal_to_the_whole_process_group_ends_a_job_in_order(tmp_path: Path) -> None:
    """As systemd sends it, and a shell's kill of a job: to Java as well."""
    (tmp_path / "events").mkdir()
    path = tmp_path / "x.toml"
    path.write_text(
        f'[source]\nkind = "files"\nfolder = "{tmp_path}/events"\n[tables]\npath = "{tmp_path}/t"\n'
        f'[job]\ncheckpoint = "{tmp_path}/c"\nshards = 4\nhealth_seconds = 1\n[notify]\nstate = "{tmp_path}/n"\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "streaming", "run", "--config", str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert any("watching" in line for line in process.stderr)
    os.killpg(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert "Exception" not in said


@pytest.mark.slow("a Spark of its own")
@pytest.mark.parametrize(
    ("before", "numbers", "status"),
    [
        ([], [signal.SIGTERM], 0),
        ([], [signal.SIGINT], 0),
        (["setsid", "--ctty"], [signal.SIGHUP], exit_status.HUNG_UP),
        ([], [signal.SIGHUP, signal.SIGTERM], 0),
        (["nohup"], [signal.SIGHUP, signal.SIGTERM], 0),
    ],
)
def test_web_ends_as_the_page_says(
    tmp_path: Path, before: list[str], numbers: list[signal.Signals], status: int
) -> None:
    words = [sys.executable, "-m", "streaming", "web", "--tables", str(tmp_path / "t"), "--listen", "127.0.0.1:0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ours, terminal = pty.openpty()
    with subprocess.Popen(
        [*HEARS_SIGHUP, *before, *words], env=environment, cwd=tmp_path,
        stdin=terminal, stderr=subprocess.PIPE, text=True,
        start_new_session="--ctty" not in before,  # and so without a terminal
    ) as web:  # fmt: skip
        assert web.stderr is not None
        assert any("pages of" in line for line in web.stderr)
        for number in numbers:
            time.sleep(0.5)
            assert web.poll() is None
            web.send_signal(number)
        web.communicate(timeout=60)
    assert (web.returncode if web.returncode >= 0 else 128 - web.returncode) == status, "as a shell counts"
    os.close(ours)
    os.close(terminal)
