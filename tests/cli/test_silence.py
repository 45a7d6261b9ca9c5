"""``evenkeel silence``: who silences what until when, and how it is ended."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.notifier.silence_files import SilenceFiles

WHO = ("--by", "Ada", "--why", "deploy of orders")
Silence = Callable[..., tuple[int, str, str]]


@pytest.fixture
def silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Silence:
    monkeypatch.setenv("EVENKEEL__NOTIFY__STATE", str(tmp_path / "state"))

    def silence(*words: str) -> tuple[int, str, str]:
        code = main(["silence", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return silence


def test_silence_is_made_listed_and_ended(silence: Silence, tmp_path: Path) -> None:
    assert silence("--list") == (0, "", "")
    code, out, _ = silence("--group", "orders-*", "--cluster", "prod", "--for", "2h", *WHO)
    assert code == 0
    pattern = r"([0-9a-f]{6})  until .{16} UTC  cluster=prod group=orders-\*  by Ada: deploy of orders\n"
    match = re.fullmatch(pattern, out)
    assert match
    (kept,) = SilenceFiles(tmp_path / "state").all()
    assert kept.until_ts - kept.from_ts == 2 * 3_600_000
    assert silence("--list") == (0, out, "")
    assert silence("--end", match[1]) == (0, f"ended: {out}", "")
    assert silence("--list") == (0, "", "")
    assert silence("--end", match[1])[0] == 2


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
def test_any_one_matcher_will_do(words: tuple[str, ...], silence: Silence) -> None:
    assert silence(*words, "--for", "1d", *WHO)[0] == 0


def test_file_that_is_no_silence_silences_nothing(
    silence: Silence, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silence("--group", "a", "--for", "30m", *WHO)
    (tmp_path / "state" / "silences" / "x.json").write_text("{")
    files = SilenceFiles(tmp_path / "state")
    assert [one.group for one in files.all()] == [one.group for one in files.all()] == ["a"]
    assert capsys.readouterr().err.count("x.json is no silence") == 1, "it is said once"
