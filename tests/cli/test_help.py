"""The help of each command, and files that are standard input or standard output."""

import gzip
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.cli import main, parser_with
from streaming.cli.command_table import COMMANDS

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "streaming" / "demo" / "recordings" / "d_sameid.jsonl.gz"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_in_one_line_and_no_markup(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = capsys.readouterr().out
    assert said.endswith(f"example:\n  {COMMANDS[command].example}\n")
    assert "`" not in said
    assert "**" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_what_commands_take(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    with (tmp_path / "in").open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        pieces = [shlex.split(piece.split(" > ")[0]) for piece in COMMANDS[command].example.split(" | ")]
        ours = [words[1:] for words in pieces if words[0] == "evenkeel"]
        assert command in [words[0] for words in ours]
        for words in ours:
            parser_with([words[0]]).parse_args(words)


def evenkeel(*words: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "streaming", *words], input=given, capture_output=True, cwd="/", env=environment
    )


@pytest.mark.deep("six processes, and a fleet is simulated")
@pytest.mark.slow("processes are started")
def test_standard_input_and_output_are_files() -> None:
    done = evenkeel("simulate", "--groups", "3", "--seconds", "60", "--to", "-")
    lines = done.stdout.splitlines()
    assert f"{len(lines)} events of 3 groups" in done.stderr.decode()
    replayed = evenkeel("replay", "-", "--engine", "core", given=gzip.compress(done.stdout))
    assert f"{len(lines)} events of 3 groups" in replayed.stdout.decode().replace("rounds and ", "")
    recorded = evenkeel("replay", "-", "--engine", "core", "--json", given=RECORDING.read_bytes())
    assert b"SAME_CLIENT_ID" in recorded.stdout
    refused = evenkeel("config", "check", "-", given=b"[job]\nshards = 0\n")
    assert b"standard input:2: job.shards = 0" in refused.stdout
    twice = evenkeel("plan", "--from", "-", "--config", "-", "--join", "1", given=b"{}")
    assert b"standard input is one file" in twice.stderr
    assert [one.returncode for one in (done, replayed, recorded, refused, twice)] == [0, 0, 0, 2, 2]


@pytest.mark.slow("processes are started")
def test_a_reader_of_standard_output_may_go() -> None:
    command = (
        f"{shlex.quote(sys.executable)} -m streaming simulate --groups 20 --to - | head -1; echo ${{PIPESTATUS[0]}}"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, cwd="/")
    assert done.stdout.splitlines()[-1] == "141"
    assert done.stderr == ""
