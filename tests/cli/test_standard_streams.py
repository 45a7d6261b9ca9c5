"""What becomes of a command whose output nobody reads, or that no disk takes: real pipes, files and processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.cli.exit_status import READER_GONE, REFUSED
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, served
from testing.written import commit
from tests.explain.facts import Teller

ROOT = Path(__file__).parents[2]
EVENKEEL = [sys.executable, "-m", "streaming"]
FULL = Path("/dev/full")
RECORDING = ROOT / "streaming" / "demo" / "recordings" / "j_more.jsonl.gz"
GROUP = (
    '{"group": "g", "members": [{"client_id": "x"}, {"client_id": "y"}], '
    '"queues": [{"topic": "T", "broker_name": "a", "queue_id": 0, "owners": ["x"]}]}'
)
COMMANDS = {
    "help": ["--help"],
    "help of a command": ["inspect", "--help"],
    "--version": ["--version"],
    "config check": ["config", "check"],
    "config check refuses": ["config", "check", "{folder}/faulty.toml"],
    "replay": ["replay", str(RECORDING), "--engine", "core"],
    "simulate": ["simulate", "--groups", "1", "--seconds", "5", "--to", "{folder}/simulated.jsonl"],
    "plan": ["plan", "--from", "{folder}/group.json", "--leave", "y"],
    "plan --json": ["plan", "--from", "{folder}/group.json", "--leave", "y", "--json"],
    "silence": ["silence", "--group", "g", "--for", "1h", "--by", "Ada", "--why", "deploy", "--ahead"],
    "explain": ["explain", "g", "--tables", "{folder}/tables"],
    "explain --json": ["explain", "g", "--tables", "{folder}/tables", "--json"],
    "inspect": ["inspect", "--namesrv", "{namesrv}", "--seconds", "1"],
    "inspect --json": ["inspect", "--namesrv", "{namesrv}", "--seconds", "1", "--json"],
    "inspect --watch": ["inspect", "--namesrv", "{namesrv}", "--watch"],
    "inspect --watch --json": ["inspect", "--namesrv", "{namesrv}", "--watch", "--json"],
    "collect --dry-run": ["collect", "--dry-run"],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A cluster that answers, in which all is well, and a folder with what commands read."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "group.json").write_text(GROUP)
    (folder / "faulty.toml").write_text("[job]\nshards = 0\n")
    teller = Teller("g")
    teller.queue(0, 0, "MATCH")
    commit(folder / "tables" / "facts", teller.facts)
    queues = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]
    fake = FakeCluster(
        groups={"g": FakeGroup([FakeClient("10.0.0.1@c1", queues)])}, offsets=dict.fromkeys(queues, (9, 9, 9))
    )
    with served(fake):
        yield {"folder": str(folder), "namesrv": fake.namesrv[0]}


def started(words: list[str], place: dict[str, str], **streams: object) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "EVENKEEL__LOG__LEVEL": "WARNING",
        "EVENKEEL__NOTIFY__STATE": f"{place['folder']}/notify",
        "EVENKEEL__COLLECTOR__CLUSTERS": f'{{"prod": "{place["namesrv"]}"}}',
    }
    command = [*EVENKEEL, *(word.format(**place) for word in words)]
    return subprocess.Popen(
        command, cwd=place["folder"], env=environment, stdin=subprocess.DEVNULL, text=True, **streams
    )  # type: ignore[call-overload, no-any-return]


def complaints(err: str) -> list[str]:
    """Less what ``silence`` says of every silence."""
    return [line for line in err.splitlines() if not line.startswith(("kept in ", "no alert that fires now matches"))]


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize("name", COMMANDS)
def test_reader_that_goes_away_is_no_finding(name: str, place: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with started(COMMANDS[name], place, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, complaints(err)) == (READER_GONE, [])


@pytest.mark.slow("processes are started")
@pytest.mark.skipif(not FULL.exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("name", COMMANDS)
def test_output_that_does_not_fit_on_the_disk_is_one_message(name: str, place: dict[str, str]) -> None:
    with FULL.open("w") as full, started(COMMANDS[name], place, stdout=full, stderr=subprocess.PIPE) as process:
        _, err = process.communicate(timeout=60)
    said = "evenkeel: standard output cannot be written: No space left on device"
    assert (process.returncode, complaints(err)) == (REFUSED, [said])


@pytest.mark.slow("a tenth of a second of work and more")
def test_output_that_was_closed_is_one_message_and_no_other_file_gets_it(place: dict[str, str]) -> None:
    command = " ".join([*EVENKEEL, "--version", ">&-"])
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        REFUSED,
        "evenkeel: standard output cannot be written: Bad file descriptor\n",
    )


@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
@pytest.mark.slow("processes are started")
def test_errors_that_nobody_can_read_change_nothing(errors: str, tmp_path: Path) -> None:
    """A message on a closed standard error must not end up among the results either."""
    refused = " ".join([*EVENKEEL, "replay", str(tmp_path / "none.jsonl"), "--engine", "core", errors])
    done = subprocess.run(["sh", "-c", refused], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (REFUSED, "")
    wrong_usage = " ".join([*EVENKEEL, "zork", errors])
    done = subprocess.run(["sh", "-c", wrong_usage], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (REFUSED, "")


@pytest.mark.slow("processes are started")
def test_reader_that_leaves_in_the_middle_of_watching_is_no_finding(place: dict[str, str]) -> None:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(COMMANDS["inspect --watch"], place, **streams) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert process.stderr.read() == ""
    assert process.returncode == READER_GONE


@pytest.mark.slow("processes are started")
def test_output_keeps_its_encoding_and_shows_what_a_terminal_cannot(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('[job]\n"分片" = 1\n', encoding="utf-8")
    for encoding, shown in (("ascii", rb"job.\u5206\u7247 = 1"), ("utf-8", "job.分片 = 1".encode())):
        done = subprocess.run(
            [*EVENKEEL, "config", "check", str(tmp_path / "x.toml")],
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 2
        assert shown in done.stdout
