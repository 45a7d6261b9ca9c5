"""``evenkeel silence``: who silences what until when, who reads that, and how it is ended."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from streaming.cli import main
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.state_files import POSITION, Position, locked_folder, save
from testing.http_server import Server
from testing.written import commit
from tests.notifier.facts import alert, health
from tests.unprivileged import obey_permissions, permissions_count

WHO = ("--by", "Ada", "--why", "deploy of orders")
Silence = Callable[..., tuple[int, str, str]]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENKEEL__NOTIFY__STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def notifier(state: Path) -> Iterator[Path]:
    """One that delivers from the folder."""
    with locked_folder(state):
        yield state


@pytest.fixture
def silence(state: Path, capsys: pytest.CaptureFixture[str]) -> Silence:
    def silence(*words: str) -> tuple[int, str, str]:
        code = main(["silence", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return silence


def test_silence_is_made_listed_and_ended(silence: Silence, notifier: Path) -> None:
    assert silence("--list")[:2] == (0, "")
    code, out, _ = silence("--group", "orders-*", "--cluster", "prod", "--for", "2h", *WHO)
    assert code == 0
    pattern = r"([0-9a-f]{6})  until .{16} UTC  cluster=prod group=orders-\*  by Ada: deploy of orders\n"
    match = re.fullmatch(pattern, out)
    assert match
    (kept,) = SilenceFiles(notifier).all()
    assert kept.until_ts - kept.from_ts == 2 * 3_600_000
    assert silence("--list")[:2] == (0, out)
    assert silence("--end", match[1])[:2] == (0, f"ended: {out}")
    assert silence("--list")[:2] == (0, "")
    code, _, said = silence("--end", match[1])
    assert code == 2
    assert f"no such silence lasts in {notifier} (notify.state without --config)" in said


def test_a_preview_sets_nothing_and_needs_only_a_pattern(silence: Silence, notifier: Path) -> None:
    assert silence("--preview", "--group", "orders-*") == (0, "no alert that fires now matches\n", "")
    assert SilenceFiles(notifier).all() == []
    code, _, said = silence("--preview")
    assert code == 2
    assert "needs one of --group, --cluster, --kind and --cause" in said


def test_it_says_where_it_stands_and_who_reads_it(silence: Silence, notifier: Path) -> None:
    for words in (("--group", "a", "--for", "2h", *WHO), ("--list",)):
        code, _, said = silence(*words)
        assert code == 0
        where, reader = said.splitlines()[-1].split("; ", 1)
        assert where == f"kept in {notifier} (notify.state without --config)"
        assert re.fullmatch(rf"read by process {os.getpid()} on \S+ \('evenkeel.*', since .* UTC\)", reader)


def test_silence_that_nobody_would_read_is_refused(silence: Silence, state: Path) -> None:
    words = ("--group", "a", "--for", "2h", *WHO)
    code, out, said = silence(*words)
    assert (code, out) == (2, "")
    assert f"no notifier delivers from {state} (notify.state without --config)" in said
    assert not SilenceFiles(state).all()
    with locked_folder(state):
        pass  # one that has ended reads nothing either
    assert silence(*words)[0] == 2
    code, out, said = silence(*words, "--ahead")
    assert code == 0
    assert out
    assert "it silences nothing until one does" in said
    assert "it silences nothing until one does" in silence("--list")[2]


def test_it_says_which_alerts_it_matches(silence: Silence, notifier: Path) -> None:
    open_alerts = OpenAlerts()
    open_alerts.take([health("prod"), *(alert(group, cluster="prod") for group in ("orders-a", "orders-b", "mail"))])
    save(notifier / POSITION, Position("t", 1, open_alerts))
    for words, expected in {
        ("--group", "orders-*"): "2 of the 3 alerts that fire now match, of orders-a, orders-b",
        ("--group", "order_*"): "no alert that fires now matches",
        ("--cluster", "prd"): "no cluster is named prd; known: prod",
    }.items():
        assert silence(*words, "--for", "2h", *WHO)[2].splitlines()[0] == expected


def test_folder_that_cannot_be_looked_into_is_no_empty_one(silence: Silence, notifier: Path) -> None:
    (notifier / "lock").unlink()
    (notifier / "lock").symlink_to("lock")  # also root cannot open it
    code, _, said = silence("--list")
    assert code == 2
    assert f"{notifier} (notify.state) cannot be looked into" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_writes_belongs_to_the_notifier(silence: Silence, notifier: Path) -> None:
    os.chown(notifier, 12345, 12345)
    assert silence("--group", "a", "--for", "2h", *WHO)[0] == 0
    for path in (notifier / "silences", *(notifier / "silences").iterdir()):
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12345)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_the_notifier_could_not_read_is_refused(
    silence: Silence, notifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(notifier, 12345, 12345)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, out, said = silence("--group", "a", "--for", "2h", *WHO)
    assert (code, out) == (2, "")
    assert "belongs to user 12345, as whom the notifier runs" in said
    assert not SilenceFiles(notifier).all()


@pytest.mark.parametrize(
    ("words", "lacks"),
    [
        (("--for", "2h", *WHO), "one of --group, --cluster, --kind and --cause (--group '*' is everything)"),
        (("--group", "a", *WHO), "--for"),
        (("--group", "a", "--for", "2h"), "--by, --why"),
    ],
)
def test_silence_that_is_not_complete_is_refused(words: tuple[str, ...], lacks: str, silence: Silence) -> None:
    assert silence(*words) == (2, "", f"evenkeel: a silence also needs {lacks}\n")


@pytest.mark.parametrize(
    "words", [("--for", "2"), ("--for", "0m"), ("--for", "32d"), ("--kind", "ORPHAND"), ("--cause", "nothing")]
)
def test_words_that_mean_nothing_are_refused(words: tuple[str, ...], silence: Silence) -> None:
    with pytest.raises(SystemExit) as ended:
        silence("--group", "a", *words, *WHO)
    assert ended.value.code == 2


@pytest.mark.parametrize("words", [("--kind", "monitor_*"), ("--cause", "ROUTE_LAG"), ("--group", "*")])
def test_any_one_matcher_will_do(words: tuple[str, ...], silence: Silence, notifier: Path) -> None:
    assert silence(*words, "--for", "1d", *WHO)[0] == 0


def test_file_that_is_no_silence_silences_nothing(
    silence: Silence, notifier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silence("--group", "a", "--for", "30m", *WHO)
    (notifier / "silences" / "x.json").write_text("{")
    files = SilenceFiles(notifier)
    assert [one.group for one in files.all()] == [one.group for one in files.all()] == ["a"]
    assert capsys.readouterr().err.count("x.json is no silence") == 1, "it is said once"


RULES = """
[pages]
wait_seconds = 0
[[sinks]]
name = "hook"
kind = "webhook"
url = "{url}"
"""


@pytest.mark.slow("processes are started")
def test_processes_from_other_folders(tmp_path: Path) -> None:
    """A notifier, and two who silence: one names its configuration, one does not."""
    commit(tmp_path / "tables" / "facts", [replace(health(), ts=int(time.time() * 1000))])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    config = tmp_path / "evenkeel.toml"
    config.write_text(
        f'[tables]\npath = "{tmp_path}/tables"\n[notify]\nalerts = "{tmp_path}/alerts.toml"\nstate = "{tmp_path}/n"\n'
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "streaming"]
    words = ["silence", "--group", "g", "--for", "2h", *WHO]
    with Server() as server:
        (tmp_path / "alerts.toml").write_text(RULES.format(url=f"{server.url}/in"))
        notifier = subprocess.Popen(
            [*command, "notify", "--config", str(config)], env=environment, cwd=elsewhere, stderr=subprocess.PIPE
        )
        try:
            assert notifier.stderr is not None
            assert b"pages go to" in notifier.stderr.readline()
            done = {}
            for given in ([], ["--config", str(config)]):
                done[len(given)] = subprocess.run(
                    [*command, *words, *given], env=environment, cwd=elsewhere, capture_output=True, text=True
                )
        finally:
            notifier.kill()
            notifier.communicate()
    assert done[0].returncode == 2
    assert f"no notifier delivers from {elsewhere}/data/notifier" in done[0].stderr
    assert done[2].returncode == 0, done[2].stderr
    assert f"kept in {tmp_path}/n (notify.state of {config}); read by process {notifier.pid} on" in done[2].stderr


@pytest.fixture
def unprivileged(tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """The command, by a process that obeys the permissions of files."""
    if not permissions_count(tmp_path):
        pytest.skip("permissions keep nobody out here")

    def run(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "streaming", "silence", *words],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=obey_permissions,
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_silence_that_may_not_be_written_is_refused(
    mode: int, unprivileged: Callable[..., tuple[int, str, str]], notifier: Path
) -> None:
    folder = notifier / "silences"
    folder.mkdir()
    folder.chmod(mode)
    code, out, err = unprivileged("--group", "a", "--for", "1h", *WHO)
    folder.chmod(0o700)
    assert (code, out) == (2, "")
    assert err == (
        f"evenkeel: {folder}: the silence cannot be written there: Permission denied; write it as the user that the "
        "notifier runs as\n"
    )


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize("mode", [0o000, 0o444])
@pytest.mark.parametrize("words", [("--list",), ("--end", "abcdef")])
def test_silences_that_may_not_be_read_are_not_said_to_be_none(
    words: tuple[str, ...], mode: int, unprivileged: Callable[..., tuple[int, str, str]], notifier: Path
) -> None:
    folder = notifier / "silences"
    folder.mkdir(mode=0o700)
    (folder / "abcdef.json").write_text("{}")
    folder.chmod(mode)
    code, out, err = unprivileged(*words)
    folder.chmod(0o700)
    assert (code, out) == (2, "")
    assert f"{folder}: its silences cannot be read: Permission denied" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_file_in_place_of_the_folder_is_refused(silence: Silence, notifier: Path) -> None:
    (notifier / "silences").touch()
    code, _, err = silence("--group", "a", "--for", "1h", *WHO)
    assert code == 2
    assert "the silence cannot be written there: File exists" in err
    code, _, err = silence("--list")
    assert code == 2
    assert "its silences cannot be read: Not a directory" in err
