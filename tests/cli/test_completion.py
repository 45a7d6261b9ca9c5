"""What a shell offers at a press of Tab, asked of a real bash."""

import subprocess
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.cli.command_table import COMMANDS
from streaming.cli.completion import SHELLS, script

OFFERED = """
source "$1"; shift
COMP_WORDS=(evenkeel "$@"); COMP_CWORD=$#
_shtab_evenkeel
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "evenkeel.bash"
    file.write_text(script("bash"))
    return file


def offered(bash: Path, *words: str, at: Path | None = None) -> set[str]:
    """After ``evenkeel``, the last of ``words`` being typed."""
    done = subprocess.run(
        ["bash", "-c", OFFERED, "bash", str(bash), *words], capture_output=True, text=True, check=True, cwd=at
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_every_command_is_offered(bash: Path) -> None:
    assert offered(bash, "") >= set(COMMANDS)
    assert offered(bash, "ex") == {"explain"}


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("explain", "--"), {"--at", "--tables", "--json", "--config"}),
        (("replay", "--engine", ""), {"core", "spark"}),
        (("web", "--l"), {"--listen"}),
        (("completion", ""), set(SHELLS)),
        (("config", ""), {"init", "export"}),
        (("jars", "fetch", "--"), {"--to"}),
    ],
)
def test_options_and_their_values_are_offered(bash: Path, words: tuple[str, ...], some: set[str]) -> None:
    assert offered(bash, *words) >= some


def test_files_and_folders_are_offered_where_one_is_wanted(bash: Path, tmp_path: Path) -> None:
    (tmp_path / "my.toml").touch()
    (tmp_path / "mine").mkdir()
    assert offered(bash, "run", "--config", "m", at=tmp_path) == {"my.toml", "mine"}
    assert offered(bash, "web", "--tables", "m", at=tmp_path) == {"mine"}
    assert offered(bash, "config", "export", "m", at=tmp_path) == {"mine"}


@pytest.mark.parametrize("shell", SHELLS)
def test_there_is_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in printed] == []
