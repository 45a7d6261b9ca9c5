"""Commands that only read ask for no folder that can be written to."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.cli import main

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "streaming" / "demo" / "recordings" / "j_more.jsonl.gz"


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    """Commands set up the logs of their whole process."""
    loggers = [logging.getLogger(), logging.getLogger("streaming.collector")]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Its folders lie below files, so nobody can make them, not even root."""
    (tmp_path / "file").touch()
    path = tmp_path / "evenkeel.toml"
    path.write_text(
        f'[tables]\npath = "{tmp_path}/file/tables"\n[job]\ncheckpoint = "{tmp_path}/file/checkpoint"\n'
        f'[notify]\nstate = "{tmp_path}/file/notify"\n'
    )
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
        ["silence", "--list"],
        ["replay", str(RECORDING), "--engine", "core"],
    ],
    ids=lambda words: words[0],
)
def test_command_that_only_reads_runs(words: list[str], config: str) -> None:
    assert main([*words, "--config", config]) == 0


@pytest.mark.parametrize("words", [["run"], ["notify"], ["silence", "--end", "x"], ["config", "check"]], ids=str)
def test_command_that_writes_is_refused(words: list[str], config: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = [config] if words == ["config", "check"] else ["--config", config]
    assert main([*words, *given]) == 2
    printed = capsys.readouterr()
    assert "is not a folder" in printed.out + printed.err


@pytest.mark.parametrize("command", ["inspect", "explain", "collect"])
def test_command_that_asks_somebody_else_says_what_it_lacks_of_them(
    command: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"inspect": ["--namesrv", "127.0.0.1:1"], "explain": ["g"], "collect": ["--dry-run"]}[command]
    main([command, *words, "--config", config])
    assert "that exists or can be created" not in capsys.readouterr().err
